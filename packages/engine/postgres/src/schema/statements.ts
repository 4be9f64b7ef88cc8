import { createHash } from "node:crypto";
import type { PgQuery } from "../connection/client.ts";
import { sql } from "../embedded.ts";
import { quotedSchema, schemaText } from "./schemaName.ts";

/** A text of SQL with the schema's name filled in, as a name and as a text, and the name of the channel for its news. */
function inSchema(text: string, schema: string): string {
  const parts: Readonly<Record<string, string>> = {
    ":schema": quotedSchema(schema),
    ":schema_name": schemaText(schema),
    ":channel": channelOf(schema),
  };
  return text.replaceAll(/:schema_name\b|:schema|:channel/g, (part) => parts[part]!);
}

function channelOf(schema: string): string {
  return `stratigraph_${createHash("sha256").update(schema).digest("hex").slice(0, 32)}`;
}

/** The migrations, in order: the files whose names are numbers. */
const migrations: readonly (readonly [id: number, text: string])[] = Object.entries(sql)
  .filter(([name]) => /^\d{6}$/.test(name))
  .map(([name, text]) => [Number(name), text] as const)
  .sort(([a], [b]) => a - b);

/** The newest migration of this version. */
export const newestMigration = migrations.at(-1)![0];

/** The names of what the migrations create: none of them removes anything. */
export const created = { tables: namesAfter("table"), functions: namesAfter("function") };

function namesAfter(kind: string): readonly string[] {
  const made = new RegExp(`create (?:or replace )?${kind} :schema\\.(\\w+)`, "g");
  return [...new Set(migrations.flatMap(([, text]) => Array.from(text.matchAll(made), ([, name]) => name!)))];
}

/** A statement without its values. */
export type Statement = Pick<PgQuery, "text" | "method" | "heavy" | "repeated">;

/** The statements of one schema. */
export function statementsIn(schema: string) {
  const quick = (name: keyof typeof sql, method: string = name): Statement => ({
    text: inSchema(sql[name], schema),
    method,
  });
  const heavy = (name: keyof typeof sql): Statement => ({ ...quick(name), heavy: true });
  const once = (name: keyof typeof sql, method: string): Statement => ({
    ...quick(name, method),
    repeated: "never",
  });
  return {
    peek: quick("read", "peek"),
    read: quick("read"),
    list: quick("list"),
    ancestry: quick("ancestry"),
    blobs: quick("blobs"),
    blobsNamed: quick("blobsNamed", "blobs"),
    longIds: quick("longIds"),
    threads: quick("threads"),
    threadsByStatus: quick("threadsByStatus", "threads"),
    statuses: quick("statuses", "threads"),
    noteStatus: quick("noteStatus"),
    append: quick("append"),
    appendThread: quick("appendThread", "append"),
    appendBegins: quick("appendBegins", "append"),
    remove: heavy("remove"),
    replaceBytes: heavy("replaceBytes"),
    evict: heavy("evict"),
    deleteThread: heavy("deleteThread"),
    deleteUnchanged: heavy("deleteUnchanged"),
    tombstones: quick("tombstones"),
    sweep: heavy("sweep"),
    sweepNamespaces: heavy("sweepNamespaces"),
    strays: quick("strays"),
    inspect: quick("inspect"),
    mendThread: heavy("mendThread"),
    leftovers: quick("leftovers"),
    leftoverHeads: quick("leftoverHeads", "leftovers"),
    reviveLeftover: heavy("reviveLeftover"),
    dropLeftover: heavy("dropLeftover"),
    copyThread: heavy("copyThread"),
    outline: quick("outline"),
    forkThread: heavy("forkThread"),
    tagThread: quick("tagThread"),
    untagThread: quick("untagThread"),
    threadTags: quick("threadTags"),
    lease: quick("lease"),
    keyChecks: quick("keyChecks"),
    claimKeyCheck: quick("claimKeyCheck"),
    writable: quick("writable", "claimKeyCheck"),
    readItems: quick("readItems"),
    refreshItems: quick("refreshItems", "readItems"),
    changeItems: quick("changeItems"),
    changeIndexedItems: quick("changeIndexedItems", "changeItems"),
    searchItems: quick("searchItems"),
    nearestItems: quick("nearestItems"),
    allItems: quick("allItems"),
    replaceItems: heavy("replaceItems"),
    createVector: once("createVector", "setup"),
    itemNamespaces: quick("itemNamespaces"),
    readCache: quick("readCache"),
    writeCache: quick("writeCache"),
    clearCache: heavy("clearCache"),
    commitWorkspace: quick("commitWorkspace"),
    workspaceLog: quick("workspaceLog"),
    workspaceLogNewest: newestFirst(quick("workspaceLog")),
    itemsAt: quick("itemsAt"),
    workspaces: quick("workspaces"),
    trimWorkspace: heavy("trimWorkspace"),
    replaceEntries: heavy("replaceEntries"),
    deleteWorkspace: heavy("deleteWorkspace"),
    purgeWorkspaces: { ...heavy("purgeWorkspaces"), method: "deleteWorkspace" },
    notify: once("notify", "notify"),
    listen: once("listen", "listen"),
    lock: quick("lock"),
    unlock: quick("unlock"),
    shard: quick("shard"),
    claimShard: quick("claimShard", "shard"),
    completeShards: quick("completeShards", "shard"),
    installed: quick("installed"),
    ping: once("installed", "ping"),
    serverFacts: once("serverFacts", "diagnose"),
    rights: once("rights", "diagnose"),
    sizes: once("sizes", "diagnose"),
    diagnosedSchema: once("installed", "diagnose"),
    backend: once("backend", "diagnose"),
  } as const satisfies Record<string, Statement>;
}

/** The same entries of a log from the other end: an index can't be read in an order that a value decides. */
function newestFirst(statement: Statement): Statement {
  return { ...statement, text: statement.text.replace("order by l.version asc", "order by l.version desc") };
}

/** The statement that sets a schema up, for setup() and for people with psql. It does nothing if that is done already. */
export function setupSql(schema: string, options: { createSchema?: boolean } = {}): string {
  const parts: string[] = [
    sql.setupBegin,
    ...(options.createSchema === false ? [] : [sql.setupSchema]),
    sql.setupMigrations,
  ];
  for (const [id, text] of migrations) {
    parts.push(sql.setupMigration.replaceAll(":id", String(id)).replace(":text", () => text));
  }
  return inSchema([...parts, sql.setupEnd].join("\n"), schema);
}
