import { rm } from "node:fs/promises";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { PostgresSaver, PostgresTier } from "@stratigraph/postgres";
import { testGraphs, testPromises, testSaver } from "@stratigraph/testing";
import pg from "pg";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { resolveDatabaseOptions } from "../src/options.ts";
import { openPgLite, PgLiteExecutor } from "../src/connection/pgliteExecutor.ts";
import { sparse, sparser } from "../../../../test/rounds.ts";

const onPostgres = async (serde?: SerializerProtocol) => {
  const database = await freshDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  const open = async () => new PostgresSaver({ pool, serde });
  const saver = await open();
  await saver.setup();
  return {
    saver,
    second: open,
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
};

testGraphs(
  "PostgresSaver on PostgreSQL",
  Object.assign(() => onPostgres(), { withSerde: onPostgres }),
  sparse,
);
testPromises("PostgresSaver on PostgreSQL", () => onPostgres(), sparse);
testSaver("PostgresSaver on PostgreSQL", () => onPostgres());

// A database costs seconds to open: all suites share one, each in a schema of its own.
const folder = await embeddedFolder();
const executor = new PgLiteExecutor(() => openPgLite(folder), resolveDatabaseOptions({}));
let schemas = 0;
afterAll(async () => {
  await executor.end();
  await rm(folder, { recursive: true });
});

const onPgLite = async (serde?: SerializerProtocol) => {
  schemas += 1;
  const tier = new PostgresTier(executor, `s${schemas}`, "pglite");
  const open = async () => new PostgresSaver(tier, serde);
  const saver = await open();
  await saver.setup();
  return { saver, second: open, close: async () => undefined };
};

testGraphs(
  "PostgresSaver on PGlite",
  Object.assign(() => onPgLite(), { withSerde: onPgLite }),
  sparser,
);
testPromises("PostgresSaver on PGlite", () => onPgLite(), sparser);
testSaver("PostgresSaver on PGlite", () => onPgLite(), sparser);
