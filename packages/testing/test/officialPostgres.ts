import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { startPostgres } from "../../../test/servers/postgres.ts";
import type { OpenedSaver } from "../src/graphs/setup.ts";

/** The official PostgresSaver on a PostgreSQL of its own; its instances share one pool. */
export const openOfficialPostgres = async (): Promise<OpenedSaver> => {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  const saver = new PostgresSaver(pool);
  await saver.setup();
  return {
    saver,
    second: async () => new PostgresSaver(pool),
    close: async () => {
      await pool.end();
      await server.stop();
    },
  };
};
