import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { checkOptions, type OptionNames } from "@stratigraph/core/internal";
import type { Executor } from "../connection/client.ts";
import { hiddenFrom } from "./rights.ts";
import { newestMigration, setupSql, statementsIn, type Statement } from "./statements.ts";

/** Options of setup(). */
export interface SetupOptions {
  /** False: fail if the schema doesn't exist. By default it is created then. */
  readonly createSchema?: boolean | undefined;
  /** Change nothing, and fail if something would have to change. Default false. */
  readonly verifyOnly?: boolean | undefined;
}

/** SQLSTATEs of a schema that doesn't exist, and of one without tables. */
const absent: ReadonlySet<unknown> = new Set(["3F000", "42P01"]);

/** SQLSTATE of a user without the right to create. */
const mayNot = "42501";

const names: OptionNames<SetupOptions> = { createSchema: true, verifyOnly: true };

/** Checks an option that is true, false or left out. @throws InvalidOptionError */
export function checkFlag(field: string, value: unknown): void {
  if (value === undefined || typeof value === "boolean") return;
  throw new InvalidOptionError(
    field,
    typeof value === "string" ? value : typeof value,
    "Pass true or false.",
  );
}

/**
 * Creates or updates a schema. It may be repeated, and called by many processes at once.
 * @throws StratigraphError "NOT_SET_UP" if something is missing under `verifyOnly`, or if a newer version applied a breaking migration;
 * "ACCESS_DENIED" without the right to create, or if row-level security hides the tables; "MISCONFIGURED" if the schema holds tables of others; InvalidOptionError
 */
export async function setUp(executor: Executor, schema: string, options: SetupOptions): Promise<void> {
  checkOptions("setup", options, names, { schema: "It is chosen where the saver is made." });
  const { createSchema = true, verifyOnly = false } = options;
  checkFlag("createSchema", createSchema);
  checkFlag("verifyOnly", verifyOnly);
  let rows = await installed(executor, statementsIn(schema).installed);
  checkVisible(schema, rows);
  // Looking first lets a user without the right to create call setup() on a schema that is complete.
  if (!verifyOnly && !has(rows, newestMigration)) {
    await applied(executor, setupSql(schema, { createSchema }));
    rows = await installed(executor, statementsIn(schema).installed);
  }
  checkInstalled(schema, rows);
}

/** @throws StratigraphError "ACCESS_DENIED" if row-level security hides the rows of tables */
function checkVisible(schema: string, rows: readonly Record<string, unknown>[]): void {
  const hidden = hiddenFrom(schema, rows);
  if (hidden !== undefined)
    throw new StratigraphError("ACCESS_DENIED", `${hidden[0]} As the tables' owner: ${hidden[1]}`, {
      schema,
    });
}

/** Whether this version can work with a schema that has these migrations. @throws StratigraphError "NOT_SET_UP", "ACCESS_DENIED" */
export function checkInstalled(schema: string, rows: readonly Record<string, unknown>[]): void {
  checkVisible(schema, rows);
  const data = { schema, newest: newestMigration };
  const fence = rows.find(({ id, breaking }) => Number(id) > newestMigration && breaking === true);
  if (fence !== undefined) {
    throw new StratigraphError(
      "NOT_SET_UP",
      `Schema ${schema} has migration ${String(fence["id"])} of a newer version, which this one can't work with. Upgrade @stratigraph/postgres.`,
      data,
    );
  }
  if (!has(rows, newestMigration)) {
    throw new StratigraphError(
      "NOT_SET_UP",
      `Schema ${schema} lacks migration ${newestMigration}. Call setup() with a user who may create tables, or run what setupSql() prints.`,
      data,
    );
  }
}

/** Applies the migrations that are missing. @throws StratigraphError */
async function applied(executor: Executor, text: string): Promise<void> {
  try {
    await executor.run({ text, method: "setup", heavy: true });
  } catch (error) {
    if (!StratigraphError.is(error, "ACCESS_DENIED") || error.data["sqlState"] !== mayNot) throw error;
    throw new StratigraphError(
      "ACCESS_DENIED",
      `${error.message} Or let somebody who may create schemas and tables apply the SQL that PostgresSaver.setupSql() prints.`,
      error.data,
      error.cause,
    );
  }
}

/** The schema's migrations; none if it was never set up. @throws StratigraphError */
export async function installed(
  executor: Executor,
  statement: Statement,
): Promise<readonly Record<string, unknown>[]> {
  try {
    return (await executor.run(statement)).rows;
  } catch (error) {
    if (StratigraphError.is(error) && absent.has(error.data["sqlState"])) return [];
    throw error;
  }
}

function has(rows: readonly Record<string, unknown>[], migration: number): boolean {
  return rows.some(({ id }) => Number(id) === migration);
}
