import { StratigraphError } from "@stratigraph/core";
import type { Executor, PgQuery, PgResult } from "../connection/client.ts";
import { sql } from "../embedded.ts";
import { quotedSchema } from "./schemaName.ts";
import { created, newestMigration, statementsIn } from "./statements.ts";

/** What a user may do in a schema, and what of the schema isn't there. */
export interface Rights {
  readonly schema: string;
  readonly user: string;
  readonly database: string;
  readonly createsSchemas: boolean;
  readonly isThere: boolean;
  /** Somebody set it up. */
  readonly isFilled: boolean;
  readonly createsTables: boolean;
  /** Whom tables belong to, if they don't belong to the user. */
  readonly foreignOwner: string | undefined;
  /** What the user may not do with what is there. */
  readonly missing: readonly string[];
  /** Tables and functions of this version that aren't there. */
  readonly lost: readonly string[];
}

/** SQLSTATE of a user without a right. */
const mayNot = "42501";

/** SQLSTATEs of a table and of a function that isn't there. */
const undefinedStates: ReadonlySet<unknown> = new Set(["42P01", "42883"]);

/** How many of the missing things are named at most. */
const mostNamed = 4;

/** @throws StratigraphError */
export async function readRights(executor: Executor, schema: string): Promise<Rights> {
  const values = [schema, created.tables, created.functions];
  const { rows } = await executor.run({ ...statementsIn(schema).rights, values });
  const row = rows[0]!;
  const listed = (text: unknown): string[] => (text === "" ? [] : String(text).split(", "));
  const owner = row["foreign_owner"];
  return {
    schema,
    user: String(row["user"]),
    database: String(row["database"]),
    createsSchemas: row["creates_schemas"] === true,
    isThere: row["is_there"] === true,
    isFilled: row["is_filled"] === true,
    createsTables: row["creates_tables"] === true,
    foreignOwner: typeof owner === "string" ? owner : undefined,
    missing: listed(row["missing"]),
    lost: listed(row["lost"]),
  };
}

/** Up to four of the things, and how many more there are. */
export function someOf(things: readonly string[]): string {
  const more = things.length > mostNamed ? `, and ${things.length - mostNamed} more` : "";
  return `${things.slice(0, mostNamed).join(", ")}${more}`;
}

/** A statement for people, with names filled in. */
function advised(
  name: "adviseSchema" | "advisePolicy" | "adviseNoRowSecurity",
  names: Readonly<Record<string, string>>,
): string {
  return sql[name].replaceAll(/:(\w+)/g, (_, part: string) => names[part]!);
}

/** The statements that give a user the rights of a process on a schema that is set up. */
export function grantsOf({ schema, user }: Pick<Rights, "schema" | "user">): string {
  const [name, role] = [quotedSchema(schema), quotedSchema(user)];
  return (
    `grant usage on schema ${name} to ${role}; ` +
    `grant select, insert, update, delete on all tables in schema ${name} to ${role}; ` +
    `grant execute on all functions in schema ${name} to ${role};`
  );
}

/** What setting up needs and the user may not do, and the statement that allows it; undefined if that is nothing. */
export function setupDenial(rights: Rights): readonly [found: string, statement: string] | undefined {
  const { schema, user, database, foreignOwner } = rights;
  const [name, role] = [quotedSchema(schema), quotedSchema(user)];
  if (!rights.isThere) {
    if (rights.createsSchemas) return undefined;
    return [
      `User ${user} may not make schema ${schema} in database ${database}.`,
      `${advised("adviseSchema", { schema: name, role })} (or: grant create on database ${quotedSchema(database)} to ${role};)`,
    ];
  }
  if (!rights.createsTables)
    return [
      `User ${user} may not create tables in schema ${schema}.`,
      `grant usage, create on schema ${name} to ${role};`,
    ];
  if (foreignOwner === undefined) return undefined;
  return [
    `Tables of schema ${schema} belong to user ${foreignOwner}, and only their owner may change them.`,
    `grant ${quotedSchema(foreignOwner)} to ${role}; (or let user ${foreignOwner} set up)`,
  ];
}

/** Tables of a schema that was set up and that aren't there; undefined if all are. */
export function lossOf({ schema, lost }: Rights): string | undefined {
  if (lost.length === 0) return undefined;
  return `Schema ${schema} was set up, and parts of it were removed since: ${someOf(lost)}.`;
}

/** What to do if tables were removed. */
export const restoreAdvice =
  "Restore them from a backup: setup() applies each migration once, and doesn't make them again.";

/** The rows of a schema that row-level security hides from the user; undefined if it hides none. @param rows those of "installed" */
export function hiddenFrom(
  schema: string,
  rows: PgResult["rows"],
): readonly [found: string, statement: string] | undefined {
  const hidden = rows[0]?.["hidden"];
  if (typeof hidden !== "string") return undefined;
  const tables = hidden.split(", ");
  const [table, role] = [`${quotedSchema(schema)}.${tables[0]!}`, quotedSchema(String(rows[0]!["user"]))];
  return [
    `Row-level security hides all rows of ${someOf(tables)} in schema ${schema} from user ${String(rows[0]!["user"])}: threads look empty or damaged, and writes are refused.`,
    `${advised("advisePolicy", { table, role })} for each of these tables ` +
      `(or: ${advised("adviseNoRowSecurity", { table })} or: alter role ${role} bypassrls;)`,
  ];
}

/**
 * An executor whose errors name the right, the table or the function that is missing, and the statement that helps: PostgreSQL's own
 * message names the first one that it met, and not why. It looks when a call has failed, so that other calls cost nothing.
 */
export function explaining(executor: Executor, schema: string): Executor {
  const explained = async (query: PgQuery, error: unknown): Promise<unknown> => {
    if (!StratigraphError.is(error)) return error;
    const found = await whyDenied(executor, schema, query, error).catch(() => undefined);
    if (found === undefined) return error;
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
    return new StratigraphError(error.code, `${found}${cause}`, error.data, error.cause);
  };
  const through =
    (run: (query: PgQuery) => Promise<PgResult>) =>
    async (query: PgQuery): Promise<PgResult> => {
      try {
        return await run(query);
      } catch (error) {
        throw await explained(query, error);
      }
    };
  return {
    get pool() {
      return executor.pool;
    },
    isAlone: executor.isAlone,
    ...(executor.listen === undefined ? {} : { listen: executor.listen.bind(executor) }),
    run: through((query) => executor.run(query)),
    enter: () => executor.enter(),
    send: through((query) => executor.send(query)),
    end: () => executor.end(),
  };
}

async function whyDenied(
  executor: Executor,
  schema: string,
  { method }: PgQuery,
  { data }: StratigraphError,
): Promise<string | undefined> {
  const state = data["sqlState"];
  if (state !== mayNot && !undefinedStates.has(state)) return undefined;
  // A schema that was never set up is the usual reason why it can't be asked for its migrations.
  if (state !== mayNot && method === "installed") return undefined;
  const rights = await readRights(executor, schema);
  if (state !== mayNot) {
    const rows = (await executor.run(statementsIn(schema).diagnosedSchema)).rows;
    const loss = rows.some(({ id }) => Number(id) === newestMigration) ? lossOf(rights) : undefined;
    return loss === undefined ? undefined : `${loss} ${restoreAdvice}`;
  }
  const setUp = method === "setup" || (rights.isThere && !rights.isFilled) ? setupDenial(rights) : undefined;
  if (setUp !== undefined) return `${setUp[0]} As one who may: ${setUp[1]}`;
  if (rights.missing.length > 0)
    return `User ${rights.user} lacks rights in schema ${schema}: ${someOf(rights.missing)}. As the schema's owner: ${grantsOf(rights)}`;
  const hidden = hiddenFrom(schema, (await executor.run(statementsIn(schema).diagnosedSchema)).rows);
  return hidden === undefined ? undefined : `${hidden[0]} As the tables' owner: ${hidden[1]}`;
}
