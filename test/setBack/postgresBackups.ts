import { query } from "../servers/postgres.ts";

const tables = [
  ...["threads", "heads", "checkpoints", "blobs", "writes", "thread_tags", "long_ids"],
  ...["item_namespaces", "items", "item_vectors", "workspaces", "workspace_log"],
];

/** The versions of items that were issued. */
const sequence = "pg_get_serial_sequence('stratigraph.items', 'version')";

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
      const issued = `select pg_sequence_last_value(${sequence}::regclass) as version`;
      await query(url, `create table ${backup}.issued as ${issued}`);
      return backup;
    },
    setBack: async (backup) => {
      const steps = tables.map(
        (table) =>
          `delete from stratigraph.${table}; insert into stratigraph.${table} overriding system value table ${String(backup)}.${table}`,
      );
      const all = tables.map((table) => `stratigraph.${table}`).join(", ");
      const issue = `select setval(${sequence}, coalesce(version, 1), version is not null) from ${String(backup)}.issued`;
      await query(url, `begin; lock table ${all}; ${steps.join("; ")}; ${issue}; commit`);
    },
  };
}
