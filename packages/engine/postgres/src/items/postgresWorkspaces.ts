import { createHash } from "node:crypto";
import { isLogged, type News } from "@stratigraph/core/internal";
import {
  namespaceOfPath,
  namespacePath,
  type Commit,
  type CommitResult,
  type EntryBytes,
  type ItemPage,
  type ItemsAtQuery,
  type LoggedChange,
  type LogPage,
  type LogQuery,
  type WorkspaceChange,
  type WorkspaceNews,
  type WorkspaceStorage,
} from "@stratigraph/core/tier";
import type { Executor, PgResult } from "../connection/client.ts";
import type { Statement } from "../schema/statements.ts";
import { BinaryArgument } from "../wire/binaryArgument.ts";
import { byteaText } from "../wire/hex.ts";
import { KeyReader, keyOf, keyText, longIdText } from "../wire/keys.ts";
import { keyIn, lastVersion, pageBytes, pageOf, rangesOf } from "./postgresItems.ts";

type WorkspaceStatements = Readonly<
  Record<
    | "commitWorkspace"
    | "workspaceLog"
    | "workspaceLogNewest"
    | "itemsAt"
    | "workspaces"
    | "trimWorkspace"
    | "replaceEntries"
    | "deleteWorkspace"
    | "purgeWorkspaces",
    Statement
  >
>;

/** How many entries one statement of a trim looks at: it removes two for each at most. */
const trimmedAtOnce = 500;

/** How many rows of each table one statement removes of a workspace that was deleted. */
const purgedAtOnce = 2000;

const kinds = { p: "put", d: "delete", m: "message" } as const;

/** The workspaces of a schema. */
export class PostgresWorkspaces implements WorkspaceStorage {
  readonly #executor: Executor;
  readonly #sql: WorkspaceStatements;
  readonly #news: News;

  constructor(executor: Executor, sql: WorkspaceStatements, news: News) {
    this.#news = news;
    this.#executor = executor;
    this.#sql = sql;
  }

  async commit(
    workspace: string,
    commits: readonly Commit[],
    { isRepeat = false }: { readonly isRepeat?: boolean } = {},
  ): Promise<CommitResult[]> {
    const contents = new BinaryArgument();
    const path = (namespace: readonly string[]): string =>
      byteaText(namespacePath(["", workspace, ...namespace]));
    const rows = commits.map(({ id, checks, changes }) => ({
      id,
      checks: checks.map(({ namespace, key, version }, place) => ({
        ...{ place, path: path(namespace), key: keyText(key), version },
      })),
      changes: changes.map((change) => ({
        path: path(change.namespace),
        key: keyText(change.key),
        long: longIdText(change.key),
        ...changeRow(change, contents),
      })),
    }));
    const values = [Buffer.from(workspace), JSON.stringify(rows), contents.value()];
    const answers = await this.#run(this.#sql.commitWorkspace, [...values, isRepeat], [...values, true]);
    const results = answers.map((row, place) => resultOf(row, commits[place]!.changes));
    if (isLogged(commits, results)) this.#news.tell(workspace);
    return results;
  }

  async log(workspace: string, query: LogQuery): Promise<LogPage> {
    const { after = 0, before, untilMs, newestFirst, limit } = query;
    const rows = await this.#run(
      newestFirst === true ? this.#sql.workspaceLogNewest : this.#sql.workspaceLog,
      [
        Buffer.from(workspace),
        ...pathsOf(workspace, query),
        after,
        before ?? lastVersion,
        untilMs ?? null,
        limit,
        pageBytes,
      ],
    );
    const keys = new KeyReader();
    const entries = rows
      .filter(({ version }) => version !== null)
      .map((row) => ({
        namespace: namespaceOfPath(row["path"] as Uint8Array).slice(2),
        key: keyIn(row, keys),
        version: Number(row["version"]),
        atMs: Number(row["at_ms"]),
        kind: kinds[row["kind"] as keyof typeof kinds],
        note: row["note"] as Uint8Array,
        value: (row["value"] as Uint8Array | null) ?? undefined,
      }));
    const found = Number(rows[0]?.["found"] ?? 0);
    return {
      version: Number(rows[0]?.["newest"] ?? 0),
      trimmed: Number(rows[0]?.["trimmed"] ?? 0),
      changedAtMs: Number(rows[0]?.["changed_ms"] ?? 0),
      afterVersion: Number(rows[0]?.["after_version"] ?? 0),
      afterAtMs: Number(rows[0]?.["after_ms"] ?? 0),
      entries,
      more: found > 0 && (found === limit || found > entries.length),
    };
  }

  async itemsAt(workspace: string, query: ItemsAtQuery): Promise<ItemPage> {
    const { version, after, limit } = query;
    const rows = await this.#run(this.#sql.itemsAt, [
      ...pathsOf(workspace, query),
      version,
      namespacePath(after === undefined ? [] : ["", workspace, ...after.namespace]),
      keyOf(after?.key ?? ""),
      limit,
      pageBytes,
    ]);
    return pageOf(rows, limit, (item) => ({ ...item, namespace: item.namespace.slice(2) }));
  }

  async list({
    after = "",
    limit,
  }: {
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<string[]> {
    const rows = await this.#run(this.#sql.workspaces, [Buffer.from(after), limit]);
    return rows.map(({ name }) => Buffer.from(name as Uint8Array).toString("utf8"));
  }

  async trim(workspace: string, version: number): Promise<number> {
    for (;;) {
      const values = [Buffer.from(workspace), version, trimmedAtOnce];
      const [row] = await this.#run(this.#sql.trimWorkspace, values);
      if (row!["done"] === true || Number(row!["removed"]) > 0) return Number(row!["removed"]);
    }
  }

  async delete(workspace: string, version: number): Promise<boolean> {
    const values = [Buffer.from(workspace), version];
    const [row] = await this.#run(this.#sql.deleteWorkspace, [...values, false], [...values, true]);
    if (row!["done"] !== true) return false;
    // It is deleted. If an error ends this, maintenance goes on with it.
    for (let left = true; left;)
      left = await this.#run(this.#sql.purgeWorkspaces, [purgedAtOnce]).then(
        ([purged]) => Number(purged!["purged"]) > 0,
        () => false,
      );
    return true;
  }

  async replace(workspace: string, entries: readonly EntryBytes[]): Promise<number> {
    const contents = new BinaryArgument();
    const hashOf = ({ note, value }: LoggedChange): Buffer =>
      createHash("sha256")
        .update(note)
        .update(value ?? "")
        .digest();
    const values = [
      Buffer.from(workspace),
      entries.map(({ was }) => was.version),
      entries.map(({ was }) => hashOf(was)),
      entries.map(({ note }) => contents.add(note)),
      entries.map(({ note }) => note.length),
      entries.map(({ value }) => (value === undefined ? null : contents.add(value))),
      entries.map(({ value }) => value?.length ?? null),
      contents.value(),
    ];
    return (await this.#run(this.#sql.replaceEntries, values)).length;
  }

  changed(workspace: string, signal: AbortSignal): WorkspaceNews {
    return this.#news.wait(workspace, signal);
  }

  /** @param again the values once the statement may have been done already */
  async #run(
    statement: Statement,
    values: readonly unknown[],
    again?: readonly unknown[],
  ): Promise<PgResult["rows"]> {
    return (await this.#executor.run({ ...statement, values, again })).rows;
  }
}

/** The ranges of paths of a query, and its key. With a key, the only range is the namespace itself, and none that goes on. */
function pathsOf(workspace: string, { prefixes, key }: Pick<LogQuery, "prefixes" | "key">): unknown[] {
  const [from, to, first, last] = rangesOf(prefixes.map((prefix) => ["", workspace, ...prefix]));
  if (key === undefined) return [from, to, first, last, null];
  return [from, to, first, Buffer.concat([first, Uint8Array.of(0)]), keyOf(key)];
}

/** A change as commit_workspace_1 takes it, without its address. */
function changeRow({ as, value, note, fields, ttlMs }: WorkspaceChange, contents: BinaryArgument): object {
  const kind = as === undefined ? (value === undefined ? "d" : "p") : as === "touch" ? "t" : "m";
  return {
    ...{ kind, ttl: ttlMs },
    ...(value === undefined
      ? {}
      : { fields: fields ?? true, start: contents.add(value), length: value.length }),
    ...(note === undefined ? {} : { note: contents.add(note), note_length: note.length }),
  };
}

function resultOf(row: PgResult["rows"][number], changes: readonly WorkspaceChange[]): CommitResult {
  const numbers = (text: unknown): number[] =>
    text === null || text === "" ? [] : (text as string).split(",").map(Number);
  if (row["failed"] !== null) return { failed: numbers(row["failed"]) };
  const versions = numbers(row["versions"]);
  const atMs = Number(row["at_ms"]);
  if (row["made_before"] !== true) return { versions, atMs };
  // The log has the versions of changes with a note. Those of the others are unknown.
  return { versions: changes.map(({ note }) => (note === undefined ? 0 : (versions.shift() ?? 0))), atMs };
}
