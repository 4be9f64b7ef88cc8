import { rm } from "node:fs/promises";
import { PostgresSaver } from "@stratigraph/postgres";
import { testDifferential } from "@stratigraph/testing";
import pg from "pg";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { sparse, sparser } from "../../../../test/rounds.ts";

testDifferential(
  "PostgresSaver on PostgreSQL",
  async () => {
    const database = await freshDatabase();
    const pool = new pg.Pool({ connectionString: database.url, max: 4 });
    const second = async () => new PostgresSaver({ pool });
    const saver = await second();
    await saver.setup();
    const close = async () => {
      await pool.end();
      await database.drop();
    };
    return { saver, second, close };
  },
  sparse,
);

testDifferential(
  "PostgresSaver on a PGlite folder",
  async () => {
    const folder = await embeddedFolder();
    const saver = PostgresSaver.embedded(folder);
    await saver.setup();
    const close = async () => {
      await saver.end();
      await rm(folder, { recursive: true });
    };
    return { saver, second: async () => new PostgresSaver(saver.tier), close };
  },
  sparser,
);
