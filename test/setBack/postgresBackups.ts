import { query } from "../servers/postgres.ts";

const tables = ["threads", "heads", "checkpoints", "blobs", "writes", "thread_tags", "long_ids"];

/** Backups of a storage's rows, which are put back in place, as pg_restore does, while the pools of living processes stay open. */
export function postgresBackups(url: string): {
  mark(): Promise<unknown>;
  setBack(mark: unknown): Promise<void>;
} {
  let backups = 0;
  return {
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
  };
}
