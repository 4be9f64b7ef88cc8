import type { PgQuery } from "./client.ts";
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

/** A statement without its values. */
export type Statement = Pick<PgQuery, "text" | "method" | "heavy" | "repeated">;

/** The statements of one schema. */
export function statementsIn(schema: string) {
  const text = (name: keyof typeof sql): string => inSchema(sql[name], schema);
  const quick = (method: string, name: keyof typeof sql): Statement => ({ text: text(name), method });
  const heavy = (method: string, name: keyof typeof sql): Statement => ({
    ...quick(method, name),
    heavy: true,
  });
  return {
    peek: quick("peek", "call_read"),
    read: quick("read", "call_read"),
    list: quick("list", "call_list"),
    ancestry: quick("ancestry", "call_ancestry"),
    append: quick("append", "call_append"),
    appendThread: quick("append", "call_append_thread"),
    remove: heavy("remove", "call_remove"),
    evict: heavy("evict", "call_evict"),
    deleteThread: heavy("deleteThread", "call_delete_thread"),
    deleteUnchanged: heavy("deleteUnchanged", "call_delete_unchanged"),
    copyThread: heavy("copyThread", "call_copy_thread"),
    outline: quick("outline", "call_outline"),
    fork: heavy("forkThread", "call_fork"),
    threads: quick("threads", "call_threads"),
    tagThread: quick("tagThread", "call_tag_thread"),
    untagThread: quick("untagThread", "untag_thread"),
    threadTags: quick("threadTags", "thread_tags"),
    blobs: quick("blobs", "call_blobs"),
    longIds: quick("longIds", "call_long_ids"),
    lease: quick("lease", "call_lease"),
    tombstones: quick("tombstones", "tombstones"),
    strays: quick("strays", "strays"),
    replaceBytes: heavy("replaceBytes", "replace_bytes"),
    sweep: heavy("sweep", "call_sweep"),
    installed: quick("installed", "installed"),
    ping: { ...quick("ping", "installed"), repeated: "never" },
  } as const satisfies Record<string, Statement>;
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
