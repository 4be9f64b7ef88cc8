import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { postgres, PostgresSaver, PostgresTier } from "@stratigraph/postgres";
import { testTier } from "@stratigraph/testing";
import pg from "pg";
import { freshDatabase } from "../../../test/servers/shared.ts";
import { resolveDatabaseOptions } from "../src/options.ts";
import { openPgLite, PgLiteExecutor } from "../src/pgliteExecutor.ts";
import { fastFolder } from "../../../test/servers/fastFolder.ts";

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
  { skipNothing: true, requires: ["forkThread", "archiveSource", "deleteUnchanged", "tags"] },
);

testTier(
  "postgres, embedded",
  async () => {
    const executor = new PgLiteExecutor(() => openPgLite(undefined), resolveDatabaseOptions({}));
    const reopen = async () => new PostgresTier(executor, "stratigraph", "pglite");
    const tier = await reopen();
    await tier.setup();
    return { tier, reopen, close: () => executor.end() };
  },
  { skipNothing: true, requires: ["forkThread", "archiveSource", "deleteUnchanged", "tags"] },
);

/** A database costs seconds to open, so all tests share one, each in a schema of its own. */
function embedded(name: string, folder?: string) {
  let schemas = 0;
  const executor = new PgLiteExecutor(() => openPgLite(folder), resolveDatabaseOptions({}));
  return {
    checkpointerName: name,
    createCheckpointer: async () => {
      schemas += 1;
      const saver = new PostgresSaver(new PostgresTier(executor, `s${schemas}`, "pglite"));
      await saver.setup();
      return saver;
    },
    afterAll: async () => {
      await executor.end();
      if (folder !== undefined) rmSync(folder, { recursive: true });
    },
  };
}

specTest(embedded("@stratigraph/postgres embedded in memory"));
deltaChannelHistoryTests(embedded("@stratigraph/postgres embedded in memory"));

const folder = () => mkdtempSync(join(fastFolder(), "stratigraph-embedded-"));
specTest(embedded("@stratigraph/postgres embedded in a folder", folder()));
deltaChannelHistoryTests(embedded("@stratigraph/postgres embedded in a folder", folder()));
