import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { rmSync } from "node:fs";
import { postgres, PostgresSaver, PostgresTier } from "@stratigraph/postgres";
import { testTier } from "@stratigraph/testing";
import pg from "pg";
import { emptySchema } from "../../../../test/servers/emptySchema.ts";
import { allRounds, sparser } from "../../../../test/rounds.ts";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { resolveDatabaseOptions } from "../src/options.ts";
import { openPgLite, PgLiteExecutor } from "../src/connection/pgliteExecutor.ts";

testTier(
  "postgres",
  async () => {
    const database = await freshDatabase();
    const pool = new pg.Pool({ connectionString: database.url, max: 4 });
    const tier = postgres({ pool });
    await tier.setup();
    return {
      tier,
      reopen: async () => postgres({ pool }),
      close: async () => {
        await pool.end();
        await database.drop();
      },
    };
  },
  {
    skipNothing: true,
    requires: ["forkThread", "archiveSource", "inspect", "deleteUnchanged", "tags", "status", "locks"],
  },
);

// A database of its own costs seconds to open, so all suites share one, each suite in a schema of its own.
const limits = resolveDatabaseOptions({});
const inMemory = new PgLiteExecutor(() => openPgLite(undefined), limits);
afterAll(() => inMemory.end());

let schemas = 0;
function freshSchema(): string {
  schemas += 1;
  return `s${schemas}`;
}

testTier(
  "postgres, embedded",
  async () => {
    const schema = freshSchema();
    const reopen = async () => new PostgresTier(inMemory, schema, "pglite");
    const tier = await reopen();
    await tier.setup();
    return { tier, reopen, close: async () => undefined };
  },
  {
    skipNothing: true,
    requires: ["forkThread", "archiveSource", "inspect", "deleteUnchanged", "tags", "status", "locks"],
    ...sparser,
  },
);

function official(name: string, executor: PgLiteExecutor): void {
  const schema = freshSchema();
  const initializer = {
    checkpointerName: name,
    createCheckpointer: async () => {
      const saver = new PostgresSaver(new PostgresTier(executor, schema, "pglite"));
      await saver.setup();
      await executor.run({ method: "setup", text: emptySchema(schema) });
      return saver;
    },
  };
  specTest(initializer);
  deltaChannelHistoryTests(initializer);
}

// validation.test.ts runs the same on a server.
if (allRounds) {
  official("@stratigraph/postgres embedded in memory", inMemory);
  const folder = await embeddedFolder();
  const inFolder = new PgLiteExecutor(() => openPgLite(folder), limits);
  afterAll(async () => {
    await inFolder.end();
    rmSync(folder, { recursive: true });
  });
  official("@stratigraph/postgres embedded in a folder", inFolder);
}
