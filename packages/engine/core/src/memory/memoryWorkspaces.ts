import { isBelow, type ItemAddress, type ItemPage } from "../contract/items.ts";
import { News } from "../contract/news.ts";
import {
  addressWithin,
  isLogged,
  type Commit,
  type CommitResult,
  type EntryBytes,
  type ItemsAtQuery,
  type LoggedChange,
  type LogPage,
  type LogQuery,
  type WorkspaceChange,
  type WorkspaceNews,
  type WorkspaceStorage,
} from "../contract/workspaces.ts";
import { pathText, type MemoryItems } from "./memoryItems.ts";

type Run = <T>(method: string, work: () => T) => Promise<T>;

/** How many entries of a log are searched for a commit that is repeated. */
const repeatWithin = 10_000;

/** How many entries are trimmed at a time. */
const trimmedAtOnce = 1000;

interface Entry extends LoggedChange {
  readonly commit: string;
  readonly createdAtMs: number;
  expiresAtMs: number;
}

interface Workspace {
  log: Entry[];
  version: number;
  trimmed: number;
  atMs: number;
}

/** The workspaces of a {@link MemoryTier}. */
export class MemoryWorkspaces implements WorkspaceStorage {
  readonly #items: MemoryItems;
  readonly #now: () => number;
  readonly #run: Run;
  readonly #workspaces = new Map<string, Workspace>();
  readonly #news = new News();

  /** @param run makes a call of the tier, or refuses it after the end */
  constructor(items: MemoryItems, now: () => number, run: Run) {
    this.#items = items;
    this.#now = now;
    this.#run = run;
  }

  async commit(
    name: string,
    commits: readonly Commit[],
    { isRepeat = false }: { readonly isRepeat?: boolean } = {},
  ): Promise<CommitResult[]> {
    return await this.#run("workspaces.commit", () => {
      const results = commits.map((commit) => this.#commit(name, commit, isRepeat));
      if (isLogged(commits, results)) this.#news.tell(name);
      return results;
    });
  }

  #commit(name: string, { id, checks, changes }: Commit, isRepeat: boolean): CommitResult {
    const workspace = this.#workspaces.get(name) ?? { log: [], version: 0, trimmed: 0, atMs: 0 };
    if (isRepeat) {
      const made = workspace.log.slice(-repeatWithin).filter(({ commit }) => commit === id);
      if (made.length > 0) return { versions: versionsAgain(changes, made), atMs: made[0]!.atMs };
    }
    const failed = checks.flatMap((check, place) =>
      (this.#items.get(addressWithin(name, check))?.version ?? 0) === check.version ? [] : [place],
    );
    if (failed.length > 0) return { failed };
    this.#workspaces.set(name, workspace);
    const atMs = Math.max(this.#now(), workspace.atMs);
    workspace.atMs = atMs;
    const versions = changes.map((change) => this.#change(name, workspace, id, change, atMs));
    return { versions, atMs };
  }

  #change(name: string, workspace: Workspace, commit: string, change: WorkspaceChange, atMs: number): number {
    const at = addressWithin(name, change);
    if (change.as === "touch") {
      const version = this.#items.touch(at, change.ttlMs);
      const entry = workspace.log.findLast((each) => each.version === version);
      if (entry !== undefined) entry.expiresAtMs = this.#now() + (change.ttlMs ?? Infinity);
      return 0;
    }
    const { namespace, key, note, value, ttlMs } = change;
    if (note === undefined && value === undefined) {
      this.#items.set({ ...at }, 0);
      return 0;
    }
    const version = this.#items.nextVersion();
    if (change.as !== "message") this.#items.set({ ...at, value, ttlMs, note }, version, atMs);
    if (note === undefined) return version;
    const kind = change.as ?? (value === undefined ? "delete" : "put");
    const createdAtMs = this.#items.get(at)?.createdAtMs ?? atMs;
    const expiresAtMs = this.#now() + (ttlMs ?? Infinity);
    workspace.log.push({
      ...{ namespace: [...namespace], key, version, atMs, kind, note, value, commit },
      ...{ createdAtMs, expiresAtMs },
    });
    workspace.version = version;
    return version;
  }

  async log(name: string, query: LogQuery): Promise<LogPage> {
    return await this.#run("workspaces.log", () => {
      const { log = [], version = 0, trimmed = 0, atMs = 0 } = this.#workspaces.get(name) ?? {};
      const { after = 0, before = Infinity, untilMs = Infinity, limit } = query;
      const { isMatch } = matching(query);
      const found = log.filter(
        (entry) => entry.version > after && entry.version < before && entry.atMs <= untilMs && isMatch(entry),
      );
      if (query.newestFirst === true) found.reverse();
      const newest = log.at(-1);
      const changedAtMs = newest?.version === version ? newest.atMs : atMs;
      const read = log.findLast((entry) => entry.version <= after);
      return {
        ...{ version, trimmed, changedAtMs, afterVersion: read?.version ?? 0, afterAtMs: read?.atMs ?? 0 },
        ...{ entries: found.slice(0, limit), more: found.length > limit },
      };
    });
  }

  async itemsAt(
    name: string,
    { version, after, limit, prefixes, key: only }: ItemsAtQuery,
  ): Promise<ItemPage> {
    return await this.#run("workspaces.itemsAt", () => {
      const begins = prefixes.map(pathText);
      const last = after === undefined ? "" : orderOf(after);
      const log = this.#workspaces.get(name)?.log ?? [];
      const some = only === undefined ? log : log.filter(({ key }) => key === only);
      const found = Array.from(newestAt(some, version))
        .filter(
          ([order, { namespace, key, kind, expiresAtMs }]) =>
            order > last &&
            kind === "put" &&
            expiresAtMs > this.#now() &&
            (only === undefined
              ? begins.some((prefix) => isBelow(pathText(namespace), prefix))
              : pathText(namespace) === begins[0] && key === only),
        )
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const items = found
        .slice(0, limit)
        .map(([, { namespace, key, value, version: of, createdAtMs, atMs, note }]) => ({
          ...{ namespace, key, value: value!, version: of, createdAtMs, updatedAtMs: atMs, note },
        }));
      return { items, more: found.length > limit };
    });
  }

  async list({
    after = "",
    limit,
  }: {
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<string[]> {
    return await this.#run("workspaces.list", () =>
      Array.from(this.#workspaces.keys(), (name) => ({ name, order: pathText([name]) }))
        .filter(({ order }) => order > pathText([after]))
        .sort((a, b) => (a.order < b.order ? -1 : 1))
        .slice(0, limit)
        .map(({ name }) => name),
    );
  }

  async trim(name: string, version: number): Promise<number> {
    return await this.#run("workspaces.trim", () => {
      const workspace = this.#workspaces.get(name);
      if (workspace === undefined) return 0;
      const upTo = Math.min(version, workspace.version);
      const kept = new Set(newestAt(workspace.log, upTo).values());
      const isOld = (entry: Entry): boolean =>
        entry.version <= upTo &&
        !(kept.has(entry) && entry.kind === "put" && entry.expiresAtMs > this.#now());
      const gone = new Set(workspace.log.filter(isOld).slice(0, trimmedAtOnce));
      workspace.log = workspace.log.filter((entry) => !gone.has(entry));
      workspace.trimmed = Math.max(workspace.trimmed, upTo);
      return gone.size;
    });
  }

  async delete(name: string, version: number): Promise<boolean> {
    return await this.#run("workspaces.delete", () => {
      if (this.#workspaces.get(name)?.version !== version) return false;
      this.#workspaces.delete(name);
      this.#items.deleteBelow(["", name]);
      return true;
    });
  }

  async replace(name: string, entries: readonly EntryBytes[]): Promise<number> {
    return await this.#run("workspaces.replace", () => {
      const log = this.#workspaces.get(name)?.log ?? [];
      const places = new Map(log.map(({ version }, place) => [version, place]));
      let replaced = 0;
      for (const { was, note, value } of entries) {
        const place = places.get(was.version);
        if (place === undefined || !hasBytes(log[place]!, was)) continue;
        log[place] = { ...log[place]!, note, value };
        this.#items.setBytes(addressWithin(name, was), was.version, { note, value: value! });
        replaced += 1;
      }
      return replaced;
    });
  }

  changed(name: string, signal: AbortSignal): WorkspaceNews {
    return this.#news.wait(name, signal);
  }
}

function hasBytes(entry: LoggedChange, { note, value }: LoggedChange): boolean {
  const isSame = (one: Uint8Array = new Uint8Array(), other: Uint8Array = new Uint8Array()): boolean =>
    Buffer.compare(one, other) === 0;
  return isSame(entry.note, note) && isSame(entry.value, value);
}

function orderOf({ namespace, key }: ItemAddress): string {
  return `${pathText(namespace)}\0${Buffer.from(key).toString("latin1")}`;
}

/** The last change of each item up to a version, by {@link orderOf}. */
function newestAt(log: readonly Entry[], version: number): Map<string, Entry> {
  const newest = new Map<string, Entry>();
  for (const entry of log)
    if (entry.version <= version && entry.kind !== "message") newest.set(orderOf(entry), entry);
  return newest;
}

function matching({ prefixes, key }: LogQuery): { isMatch(entry: LoggedChange): boolean } {
  const begins = prefixes.map(pathText);
  return {
    isMatch(entry) {
      const path = pathText(entry.namespace);
      if (key !== undefined) return path === begins[0] && entry.key === key;
      return begins.some((prefix) => path.startsWith(prefix));
    },
  };
}

/** The versions of a commit that was made before. Those of changes that the log doesn't have are unknown: 0. */
function versionsAgain(changes: readonly WorkspaceChange[], made: readonly Entry[]): number[] {
  const left = [...made];
  return changes.map(({ note }) => (note === undefined ? 0 : (left.shift()?.version ?? 0)));
}
