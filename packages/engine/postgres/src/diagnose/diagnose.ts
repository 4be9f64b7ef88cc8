import { checkUp, clockFinding } from "@stratigraph/core/internal";
import type { Check, DiagnoseRequest, Diagnosis, CheckResult } from "@stratigraph/core/tier";
import type { Executor, PgResult } from "../connection/client.ts";
import {
  grantsOf,
  hiddenFrom,
  lossOf,
  readRights,
  restoreAdvice,
  setupDenial,
  someOf,
  type Rights,
} from "../schema/rights.ts";
import { installed } from "../schema/setUp.ts";
import { quotedSchema } from "../schema/schemaName.ts";
import { newestMigration, statementsIn } from "../schema/statements.ts";
import { poolFinding, poolerFinding } from "./poolFindings.ts";
import { placeOf, placeTest, placeText } from "./poolPlace.ts";
import { readServerFacts, type ServerFacts } from "./serverFacts.ts";

/** Looks at the server, the schema, the rights of this user, and the pool. Changes nothing, and never rejects. */
export async function diagnose(
  executor: Executor,
  tier: string,
  schema: string,
  request: DiagnoseRequest,
): Promise<readonly Diagnosis[]> {
  const { pool } = executor;
  const place = placeOf(pool);
  const sql = statementsIn(schema);
  const embedded = pool === undefined;
  return await checkUp(
    {
      tier,
      place: embedded ? "The embedded database" : placeText(place),
      test: embedded ? "call saver.health()" : placeTest(place),
      connect: () => readServerFacts(executor, sql.serverFacts),
      checks: (facts): Check[] => [
        {
          name: "connection",
          look: async () => ({
            status: "ok",
            found: `${embedded ? "An embedded database" : placeText(place)}, version ${facts.version}, answers in ${facts.ms} ms.`,
          }),
        },
        {
          name: "schema",
          look: async () => {
            const rights = await readRights(executor, schema);
            const rows = rights.isFilled ? await installed(executor, sql.diagnosedSchema) : [];
            return schemaFinding(rights, rows, request.role);
          },
        },
        {
          name: "rights",
          look: async () => {
            const rights = await readRights(executor, schema);
            // In a schema that wasn't set up, no rights can be missing.
            if (!rights.isFilled) return undefined;
            return rightsFinding(
              rights,
              rights.missing.length === 0 ? await installed(executor, sql.diagnosedSchema) : [],
            );
          },
        },
        { name: "writable", look: async () => writableFinding(facts, request) },
        ...(embedded
          ? [{ name: "durability", look: async () => unsynced }]
          : [
              { name: "durability", look: async () => durabilityFinding(facts) },
              { name: "connections", look: async () => poolFinding(place.connections, facts) },
              { name: "pooler", look: () => poolerFinding(pool, place, sql.backend.text) },
              {
                name: "clock",
                look: async () => clockFinding(facts.askedMs, facts.nowMs, facts.askedMs + facts.ms),
              },
            ]),
        {
          name: "size",
          look: async () => {
            const { rows } = await executor.run({ ...sql.sizes, values: [schema] });
            return sizeFinding(schema, rows[0]!, embedded);
          },
        },
      ],
    },
    request,
  );
}

const setup = "stratigraph setup";

function schemaFinding(
  rights: Rights,
  rows: PgResult["rows"],
  role: DiagnoseRequest["role"],
): CheckResult | undefined {
  const { schema } = rights;
  const ids = rows.filter(({ id }) => id !== null).map(({ id }) => Number(id));
  const newest = Math.max(0, ...ids);
  const breaking = rows.find(({ id, breaking: fence }) => Number(id) > newestMigration && fence === true);
  const denial = setupDenial(rights);
  const advice =
    role === "replica"
      ? `${setup}, on the primary`
      : `${denial === undefined ? "" : `${denial[1]} and then: `}${setup}`;
  if (ids.length === 0) {
    // What hides its migrations is among its rights.
    if (hiddenFrom(schema, rows) !== undefined) return undefined;
    return { status: "problem", found: `Schema ${schema} was not set up: its tables aren't there.`, advice };
  }
  if (breaking !== undefined)
    return {
      status: "problem",
      found: `Schema ${schema} is newer (migration ${newest}) than this version can work with (migration ${newestMigration}).`,
      advice: "npm install stratigraph@latest",
    };
  if (!ids.includes(newestMigration))
    return {
      status: "problem",
      found: `Schema ${schema} is older (migration ${newest}) than this version needs (migration ${newestMigration}).`,
      advice: `${advice} (running processes of the older version go on working)`,
    };
  const loss = lossOf(rights);
  if (loss !== undefined) return { status: "problem", found: loss, advice: restoreAdvice };
  if (newest > newestMigration)
    return {
      status: "warning",
      found: `Schema ${schema} was set up by a newer version (migration ${newest}; this one has ${newestMigration}). This version still works with it.`,
      advice: "npm install stratigraph@latest",
    };
  return { status: "ok", found: `Schema ${schema} is set up (migration ${newest}).` };
}

function rightsFinding(rights: Rights, rows: PgResult["rows"]): CheckResult {
  const { schema, user, missing } = rights;
  if (missing.length > 0)
    return {
      status: "problem",
      found: `User ${user} lacks rights in schema ${schema}: ${someOf(missing)}.`,
      advice: `As the schema's owner: ${grantsOf(rights)}`,
    };
  const hidden = hiddenFrom(schema, rows);
  if (hidden !== undefined)
    return { status: "problem", found: hidden[0], advice: `As the tables' owner: ${hidden[1]}` };
  return { status: "ok", found: `User ${user} has the rights that are needed in schema ${schema}.` };
}

function writableFinding({ standby, readOnly }: ServerFacts, { role }: DiagnoseRequest): CheckResult {
  if (role === "replica")
    return standby
      ? { status: "ok", found: "The server is a standby, as a replica has to be." }
      : {
          status: "warning",
          found:
            "The server is not a standby: reads that fall back to it may find other data than the primary has.",
          advice: "Name a streaming replica of the warm tier as replica.",
        };
  if (standby || readOnly)
    return {
      status: "problem",
      found: standby
        ? "The server is a standby: it takes no writes."
        : "Sessions are read-only: they take no writes.",
      advice: standby
        ? "Connect to the primary; with several hosts, add target_session_attrs=read-write to the URL."
        : "alter role … reset default_transaction_read_only; and the same for the database",
    };
  return { status: "ok", found: "The server takes writes." };
}

/** PGlite runs PostgreSQL with fsync off, and its file system has none. */
const unsynced: CheckResult = {
  status: "warning",
  found:
    "A folder of PGlite is never synced to the disk: a power cut, or a crash of the machine, may lose acknowledged checkpoints or damage the folder. " +
    "A process that is killed loses none.",
  advice:
    "A PostgreSQL server for what must survive that; else copies of the folder, made while no process has it open",
};

function durabilityFinding({
  fsync,
  fullPageWrites,
  synchronousCommit,
  database,
}: ServerFacts): CheckResult | undefined {
  if (!fsync || !fullPageWrites) {
    const off = [...(fsync ? [] : ["fsync"]), ...(fullPageWrites ? [] : ["full_page_writes"])];
    return {
      status: "problem",
      found: `${off.join(" and ")} ${off.length === 1 ? "is" : "are"} off: a crash of the machine may damage the whole database.`,
      advice: `${off.map((name) => `alter system set ${name} = on;`).join(" ")} select pg_reload_conf();`,
    };
  }
  if (synchronousCommit === "off")
    return {
      status: "warning",
      found:
        "synchronous_commit is off: a crash loses the newest checkpoints, up to a second of them, though they were acknowledged.",
      advice: `alter database ${quotedSchema(database)} set synchronous_commit = on; (and check whether the role or the URL sets it, too)`,
    };
  return {
    status: "ok",
    found: `Acknowledged checkpoints are on disk (synchronous_commit ${synchronousCommit}).`,
  };
}

function sizeFinding(schema: string, row: Readonly<Record<string, unknown>>, embedded: boolean): CheckResult {
  const mb = (bytes: unknown): string => `${Math.ceil(Number(bytes) / 1e6)} MB`;
  const location = String(row["location"] ?? "");
  const where = location === "" ? "the server's data directory" : location;
  const found = `Schema ${schema} takes ${mb(row["schema_bytes"])} of the database's ${mb(row["database_bytes"])}`;
  if (embedded) return { status: "ok", found: `${found}.` };
  return {
    status: "ok",
    found: `${found}, in tablespace ${String(row["tablespace"])} (${where}). PostgreSQL doesn't tell how much is free: df -h there.`,
  };
}
