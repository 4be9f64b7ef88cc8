import { sql } from "./embedded.ts";
import { quotedSchema } from "./schemaName.ts";

/** A file of SQL with the schema's name put in. */
function inSchema(text: string, schema: string): string {
  return text.replaceAll(":schema", () => quotedSchema(schema));
}

/** Numbered files are migrations, in order. */
const migrations: readonly (readonly [id: number, text: string])[] = Object.entries(sql)
  .filter(([name]) => /^\d{6}$/.test(name))
  .map(([name, text]) => [Number(name), text] as const)
  .sort(([a], [b]) => a - b);

/** Newest migration that this version brings. */
export const newestMigration = migrations.at(-1)![0];

/** The statements of one schema. */
export function statementsIn(schema: string) {
  const text = (name: keyof typeof sql): string => inSchema(sql[name], schema);
  return {
    read: text("call_read"),
    list: text("call_list"),
    ancestry: text("call_ancestry"),
    append: text("call_append"),
    remove: text("call_remove"),
    evict: text("call_evict"),
    deleteThread: text("call_delete_thread"),
    deleteUnchanged: text("call_delete_unchanged"),
    copyThread: text("call_copy_thread"),
    outline: text("call_outline"),
    fork: text("call_fork"),
    threads: text("call_threads"),
    blobs: text("call_blobs"),
    longIds: text("call_long_ids"),
    lease: text("call_lease"),
    tombstones: text("tombstones"),
    strays: text("strays"),
    replaceBytes: text("replace_bytes"),
    installed: text("installed"),
    ping: text("ping"),
  } as const;
}

/** The statement that sets a schema up, and does nothing where that is done: for setup() and for people with psql. */
export function setupSql(schema: string, options: { createSchema?: boolean } = {}): string {
  const parts: string[] = [
    sql.setup_begin,
    ...(options.createSchema === false ? [] : [sql.setup_schema]),
    sql.setup_migrations,
  ];
  for (const [id, text] of migrations) {
    parts.push(sql.setup_migration.replaceAll(":id", String(id)).replace(":text", () => text));
  }
  return inSchema([...parts, sql.setup_end].join("\n"), schema);
}
