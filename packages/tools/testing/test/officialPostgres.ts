import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import pg from "pg";
import { startPostgres } from "../../../../test/servers/postgres.ts";
import type { OpenedSaver } from "../src/graphs/setup.ts";

/** The official PostgresSaver on a PostgreSQL of its own; its instances share one pool. */
export const openOfficialPostgres = async (serde?: SerializerProtocol): Promise<OpenedSaver> => {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  const saver = new PostgresSaver(pool, serde);
  await saver.setup();
  return {
    saver,
    second: async () => new PostgresSaver(pool, serde),
    close: async () => {
      await pool.end();
      await server.stop();
    },
  };
};
