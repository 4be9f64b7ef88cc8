import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { freshDatabase } from "../../../../../test/servers/shared.ts";

export interface Opened {
  saver: TierSaver;
  close(): Promise<void>;
}

/** The savers that branches are tested on. */
export const savers: [name: string, open: () => Promise<Opened>][] = [
  ["MemorySaver", async () => ({ saver: new MemorySaver(), close: async () => undefined })],
  [
    "PostgresSaver",
    async () => {
      const database = await freshDatabase();
      const pool = new pg.Pool({ connectionString: database.url, max: 4 });
      const saver = new PostgresSaver({ pool });
      await saver.setup();
      const close = async () => {
        await pool.end();
        await database.drop();
      };
      return { saver, close };
    },
  ],
];
