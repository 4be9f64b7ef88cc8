import { createHash } from "node:crypto";
import { isLogged, type Calls, type News } from "@stratigraph/core/internal";
import type {
  Commit,
  CommitResult,
  EntryBytes,
  ItemsAtQuery,
  LoggedChange,
  LogQuery,
  LogPage,
  StoredItem,
  ItemPage,
  WorkspaceNews,
  WorkspaceStorage,
} from "@stratigraph/core/tier";
import type { Bytes } from "../checkpointKeys.ts";
import type { NamedBlobs } from "../largeBlobs.ts";
import { commitArgs, encodeBody } from "./commitArgs.ts";
import {
  encodeAddress,
  encodeLabels,
  rangeArgs,
  rangesBelow,
  rangesFrom,
  rangesOf,
  type ByteRange,
} from "./itemAddress.ts";
import { entryFrom, timeOf, versionOf, type Body } from "./itemReply.ts";
import { argsFrom, lastVersion } from "./redisItems.ts";
import type { Space } from "./space.ts";
import type { Spaces } from "./spaces.ts";

/** How many entries {@link RedisWorkspaces.trim} removes at a time. */
const trimmedAtOnce = 1000;

type CommitReply = [isNew: number, answers: [number, ...number[]][]];
type LogReply = [
  state: number,
  found: [Buffer, Body][],
  named: NamedBlobs,
  seen: Buffer,
  below: number,
  version: Buffer,
  trimmed: Buffer,
  changedAtMs: Buffer,
  afterVersion: Buffer,
  afterAtMs: Buffer,
];
type EntriesReply = [found: [Buffer, Body][], named: NamedBlobs, trimmed: Buffer];
type ItemsAtReply = [found: [Buffer, Body][], named: NamedBlobs, goesOn: number, from: Buffer];
interface Window {
  readonly after: number;
  readonly before: number;
  readonly newestFirst: boolean;
  readonly untilMs?: number | undefined;
}

/** The workspaces of a {@link RedisTier}. */
export class RedisWorkspaces implements WorkspaceStorage {
  readonly #spaces: Spaces;
  readonly #calls: Calls;
  readonly #news: News;

  constructor(spaces: Spaces, calls: Calls, news: News) {
    this.#news = news;
    this.#spaces = spaces;
    this.#calls = calls;
  }

  async commit(
    workspace: string,
    commits: readonly Commit[],
    { isRepeat = false }: { readonly isRepeat?: boolean } = {},
  ): Promise<CommitResult[]> {
    return await this.#calls.run("workspaces.commit", undefined, async () => {
      await this.#spaces.begins(workspace);
      const reply = await this.#spaces.of(workspace).run("commit", commitArgs(commits, isRepeat));
      const [isNew, answers] = reply as CommitReply;
      if (isNew === 1) await this.#spaces.began(workspace);
      const results = answers.map(([isMade, ...rest]): CommitResult => {
        if (isMade === 0) return { failed: rest };
        const [atMs, ...versions] = rest;
        return { versions, atMs: atMs! };
      });
      if (isLogged(commits, results)) this.#news.tell(workspace);
      return results;
    });
  }

  changed(workspace: string, signal: AbortSignal): WorkspaceNews {
    return this.#news.wait(workspace, signal);
  }

  async log(workspace: string, query: LogQuery): Promise<LogPage> {
    return await this.#calls.run("workspaces.log", undefined, () =>
      this.#log(this.#spaces.of(workspace), query),
    );
  }

  /** One round trip, unless many entries have to be looked at or answered: then several, each bounded. */
  async #log(space: Space, query: LogQuery): Promise<LogPage> {
    const { prefixes, key, untilMs, newestFirst = false, limit } = query;
    const ranges = ["i", "m"].flatMap((kind) => rangesOf(prefixes, kind));
    const address = key === undefined ? "" : encodeAddress({ namespace: prefixes[0]!, key });
    let { after = 0, before = lastVersion } = query;
    let state: Omit<LogPage, "entries" | "more"> | undefined;
    const entries: LoggedChange[] = [];
    for (let pages = 1; ; pages += 1) {
      const args: (Bytes | number)[] = [after, Math.min(before, lastVersion), untilMs ?? ""];
      args.push(newestFirst ? 1 : 0, Math.max(1, limit - entries.length), address);
      args.push(prefixes.length, ...prefixes.map(encodeLabels), ...rangeArgs(ranges));
      const { reply, bodies } = await space.read<LogReply>("log", args, (reply) => reply[2]);
      const [goesOn, found, , seen, below, ...[version, trimmed, changedAtMs, afterVersion, afterAtMs]] =
        reply;
      for (const [entry, body] of found) entries.push(entryFrom(entry, body, bodies).entry);
      const now = { version: Number(version), trimmed: Number(trimmed), changedAtMs: Number(changedAtMs) };
      const first: typeof state = state ?? {
        ...{ ...now, afterVersion: Number(afterVersion), afterAtMs: Number(afterAtMs) },
      };
      // What was committed since the first page is on none if the newest come first.
      state = newestFirst ? { ...first, trimmed: now.trimmed } : { ...first, ...now };
      if (goesOn !== 2 || entries.length >= limit) return { ...state, entries, more: goesOn !== 0 };
      if (newestFirst) before = Number(seen);
      else after = Number(seen);
      if (key !== undefined || pages * 1000 < below) continue;
      const window = { after, before: Math.min(before, first.version + 1), newestFirst, untilMs };
      const rest = await this.#below(space, ranges, window, limit - entries.length);
      entries.push(...rest.entries);
      // All that was found was removed before it was read.
      if (rest.more && entries.length === 0) continue;
      return { ...first, ...rest, entries };
    }
  }

  /** Entries of ranges: looks at all that is in them. `trimmed` is of after that: entries up to there may have been removed meanwhile. */
  async #below(
    space: Space,
    ranges: readonly ByteRange[],
    { after, before, newestFirst, untilMs = Infinity }: Window,
    limit: number,
  ): Promise<Pick<LogPage, "entries" | "more" | "trimmed">> {
    let trimmed = 0;
    let best: number[] = [];
    const sort = (): void => {
      best.sort((one, other) => (newestFirst ? other - one : one - other));
      best = best.slice(0, limit);
    };
    for (const range of ranges) {
      for await (const { entries, trimmed: upTo } of space.entries(range, true)) {
        trimmed = upTo;
        for (const entry of entries) {
          const version = versionOf(entry);
          if (version > after && version < before && timeOf(entry) <= untilMs) best.push(version);
        }
        if (best.length > 4 * limit) sort();
      }
    }
    sort();
    const found: LoggedChange[] = [];
    for (let at = 0; at < best.length; at += 100) {
      const some = best.slice(at, at + 100);
      const { reply, bodies } = await space.read<EntriesReply>(
        "entries",
        [some.length, ...some],
        (reply) => reply[1],
      );
      for (const [entry, body] of reply[0]) found.push(entryFrom(entry, body, bodies).entry);
      trimmed = Number(reply[2]);
    }
    return { entries: found, more: best.length >= limit, trimmed };
  }

  async itemsAt(workspace: string, query: ItemsAtQuery): Promise<ItemPage> {
    return await this.#calls.run("workspaces.itemsAt", undefined, async () => {
      const { prefixes, key, after, limit } = query;
      const version = Math.min(query.version, lastVersion - 1);
      let ranges =
        key === undefined
          ? rangesBelow(prefixes, "i")
          : [entriesOf(encodeAddress({ namespace: prefixes[0]!, key }))];
      if (after !== undefined) ranges = rangesFrom(ranges, entriesOf(encodeAddress(after))[1]);
      let args = rangeArgs(ranges);
      for (;;) {
        const { reply, bodies } = await this.#spaces
          .of(workspace)
          .read<ItemsAtReply>("itemsAt", [version, limit, ...args], (reply) => reply[1]);
        const [found, , goesOn, from] = reply;
        const items = found.map(([name, body]): StoredItem => {
          const { entry, createdAtMs } = entryFrom(name, body, bodies);
          const { namespace, key, version: of, atMs, note, value } = entry;
          return { namespace, key, value: value!, version: of, createdAtMs, updatedAtMs: atMs, note };
        });
        if (goesOn === 0 || items.length > 0) return { items, more: goesOn !== 0 };
        args = argsFrom(args, goesOn, from);
      }
    });
  }

  async list({
    after,
    limit,
  }: {
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<string[]> {
    return await this.#calls.run("workspaces.list", undefined, () => this.#spaces.page(after, limit));
  }

  async trim(workspace: string, version: number): Promise<number> {
    return await this.#calls.run("workspaces.trim", undefined, async () => {
      let removed = 0;
      for (let after = 0; ;) {
        const args = [version, after, trimmedAtOnce - removed];
        const reply = await this.#spaces.of(workspace).run("trim", args);
        const [some, isAll, looked] = reply as [number, number, Buffer];
        removed += some;
        if (isAll === 1) return removed;
        after = Number(looked);
      }
    });
  }

  async delete(workspace: string, version: number): Promise<boolean> {
    return await this.#calls.run("workspaces.delete", undefined, async () => {
      if ((await this.#spaces.of(workspace).run("deleteSpace", [version])) === 0) return false;
      await this.#spaces.deleted(workspace);
      return true;
    });
  }

  async replace(workspace: string, entries: readonly EntryBytes[]): Promise<number> {
    return await this.#calls.run("workspaces.replace", undefined, async () => {
      const args: (Bytes | number)[] = [entries.length];
      for (const { was, note, value } of entries) {
        const before = createHash("sha1").update(encodeBody(was.note, was.value));
        args.push(was.version, before.digest("hex"), encodeBody(note, value));
      }
      return Number(await this.#spaces.of(workspace).run("replaceEntries", args));
    });
  }
}

/** The entries of an address, apart from messages. */
function entriesOf(address: Bytes): ByteRange {
  const begin = Buffer.concat([
    Buffer.from("i"),
    typeof address === "string" ? Buffer.from(address) : address,
    Buffer.from([0]),
  ]);
  return [begin, Buffer.concat([begin, Buffer.from(":")])];
}
