import { createCheckpointer } from "stratigraph";
import { query } from "../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../test/servers/shared.ts";
import { testSetBack } from "../../../test/setBack/testSetBack.ts";

// A backup of the rows is put back in place, as pg_restore does, while the pools of living processes stay open.

const tables = ["threads", "heads", "checkpoints", "blobs", "writes", "thread_tags", "long_ids"];

testSetBack("postgres", async () => {
  const { url, drop } = await freshDatabase();
  const savers: { end(): Promise<void> }[] = [];
  let backups = 0;
  return {
    open: async (options) => {
      const saver = await createCheckpointer({ postgres: url, ...options });
      savers.push(saver);
      return saver;
    },
    mark: async () => {
      backups += 1;
      const backup = `backup_${backups}`;
      await query(url, `create schema ${backup}`);
      for (const table of tables)
        await query(url, `create table ${backup}.${table} as table stratigraph.${table}`);
      return backup;
    },
    setBack: async (backup) => {
      const steps = tables.map(
        (table) =>
          `delete from stratigraph.${table}; insert into stratigraph.${table} overriding system value table ${String(backup)}.${table}`,
      );
      const all = tables.map((table) => `stratigraph.${table}`).join(", ");
      await query(url, `begin; lock table ${all}; ${steps.join("; ")}; commit`);
    },
    close: async () => {
      await Promise.all(savers.map((saver) => saver.end()));
      await drop();
    },
  };
});
