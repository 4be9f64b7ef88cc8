import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { startPostgres } from "../../../test/servers/postgres.ts";
import type { OpenedSaver } from "../src/graphs/setup.ts";

/** The official PostgresSaver on a PostgreSQL of its own; each instance has its own pool. */
export const openOfficialPostgres = async (): Promise<OpenedSaver> => {
  const server = await startPostgres();
  const opened: PostgresSaver[] = [];
  const open = async (): Promise<PostgresSaver> => {
    const saver = PostgresSaver.fromConnString(server.url);
    opened.push(saver);
    await saver.setup();
    return saver;
  };
  return {
    saver: await open(),
    second: open,
    close: async () => {
      for (const saver of opened) await saver.end();
      await server.stop();
    },
  };
};
