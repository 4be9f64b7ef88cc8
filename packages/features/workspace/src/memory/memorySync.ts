import { StratigraphError } from "@stratigraph/core";
import type { ItemAddress } from "@stratigraph/core/tier";
import { noteText, type Note } from "../author.ts";
import { logPages, stateOf, type Parts } from "../parts.ts";
import { addressText, CachedItems, same, type Base, type Cached, type Place } from "./cachedItems.ts";
import type { RemoteItem, RemoteMemory, Value } from "./remoteMemory.ts";
import { named, type MemoryConflict, type MemoryFailure, type SyncedMemory } from "./syncedMemory.ts";

/** How often one item, or the whole memory, is begun anew because others changed it meanwhile. */
const mostAttempts = 100;

/** How many items of the cache are looked at together. */
const chunk = 100;

/** How changes of the server are to be seen. */
interface Seen {
  /** They come from its log: those that are known already are left out. */
  readonly logged?: boolean;
  /** The server was set back. */
  readonly restored?: boolean;
}

/** One sync of a cache with its server. */
export class MemorySync {
  readonly #parts: Parts;
  readonly #agent: string | undefined;
  readonly #items: CachedItems;
  readonly #remote: RemoteMemory;
  readonly #decide: (conflict: MemoryConflict) => Value | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #open = new Map<string, ItemAddress>();
  readonly #conflicts: MemoryConflict[] = [];
  readonly #failed: MemoryFailure[] = [];
  #pulled = 0;
  #pushed = 0;

  constructor(
    parts: Parts,
    agent: string | undefined,
    remote: RemoteMemory,
    decide: (conflict: MemoryConflict) => Value | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#parts = parts;
    this.#agent = agent;
    this.#items = new CachedItems(parts);
    this.#remote = remote;
    this.#decide = decide;
    this.#signal = signal;
  }

  async run(): Promise<SyncedMemory> {
    const place = await this.#items.place();
    for (const labels of place.open) this.#leave({ namespace: labels.slice(0, -1), key: labels.at(-1)! });
    try {
      await this.#pull(place);
    } catch (error) {
      if (!StratigraphError.is(error, "VERSION_GONE")) throw error;
      await this.#pullAll(place, error.data["restored"] === true);
    }
    await this.#push(place);
    const [conflicts, failed] = [this.#conflicts, this.#failed];
    return { pulled: this.#pulled, pushed: this.#pushed, conflicts, failed };
  }

  async #pull(place: Place): Promise<void> {
    for (let more = true; more;) {
      this.#signal?.throwIfAborted();
      const page = await this.#remote.since(place.cursor);
      for (const changes of byItem(page.changes).values()) await this.#settle(changes, { logged: true });
      more = page.more;
      await this.#save({ ...place, cursor: page.cursor }, place);
    }
  }

  /** Compares all items of both sides: the server's log can't tell what came after the cache's place. */
  async #pullAll(place: Place, restored: boolean): Promise<void> {
    const last = new Map<string, RemoteItem>();
    let cursor: string | undefined;
    for (let more = true, attempt = 0; more;) {
      this.#signal?.throwIfAborted();
      try {
        const page = await this.#remote.since(cursor);
        for (const change of page.changes) last.set(addressText(change), change);
        [cursor, more] = [page.cursor, page.more];
      } catch (error) {
        attempt += 1;
        if (!StratigraphError.is(error, "VERSION_GONE") || attempt === mostAttempts) throw error;
        last.clear();
        cursor = undefined;
      }
    }
    for await (const { namespace, key } of this.#items.noted()) {
      const at = { namespace, key };
      if (!last.has(addressText(at)))
        last.set(addressText(at), { ...at, version: 0, value: null, author: {} });
    }
    for (const change of last.values()) await this.#settle([change], { restored });
    await this.#save({ ...place, cursor }, place);
  }

  /** Sends what was changed in the cache. */
  async #push(place: Place): Promise<void> {
    const { version: local, trimmed } = await stateOf(this.#parts);
    const changed = new Map(this.#open);
    this.#open.clear();
    const isTrimmed = place.local < trimmed;
    const query = { prefixes: [[]], after: isTrimmed ? 0 : place.local, before: local + 1, limit: chunk };
    for await (const { entries } of logPages(this.#parts, query))
      for (const { namespace, key, kind } of entries)
        if (kind !== "message") changed.set(addressText({ namespace, key }), { namespace, key });
    if (isTrimmed) for await (const at of this.#items.noted()) changed.set(addressText(at), at);
    const addresses = [...changed.values()];
    for (let from = 0; from < addresses.length; from += chunk)
      for (const { at, value, base } of await this.#items.read(addresses.slice(from, from + chunk)))
        if (!same(value, base.value) || base.theirs !== undefined || base.missing !== undefined)
          await this.#send(at);
    await this.#save({ ...place, local }, place);
  }

  async #send(at: ItemAddress): Promise<void> {
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      this.#signal?.throwIfAborted();
      let item = await this.#read(at);
      if (item.base.missing !== undefined) {
        const there = await this.#remote.get(at);
        if (there.value === undefined) return this.#fail(at, tooLong(at));
        await this.#settle([there], {});
        item = await this.#read(at);
      }
      if (item.base.theirs !== undefined) {
        await this.#settle([{ ...at, ...item.base.theirs }], { restored: item.base.theirs.restored });
        item = await this.#read(at);
        if (item.base.theirs !== undefined) {
          this.#conflicts.push(conflictOf(item, item.base.value, item.base.theirs));
          return;
        }
      }
      const { value, base, reason } = item;
      if (same(value, base.value)) return;
      // By that the next sync knows its own change if this process dies before it knows the answer.
      if (!(await this.#items.write(item, { ...base, pushing: { value } }))) continue;
      const ifVersion = base.value === null ? 0 : base.version;
      const answer = await this.#remote.change(at, value, ifVersion, reason).catch((error: unknown) => error);
      if (StratigraphError.is(answer) && !answer.retryable) return this.#fail(at, answer);
      if (answer instanceof Error) throw answer;
      const done = answer as Awaited<ReturnType<RemoteMemory["change"]>>;
      if ("current" in done) await this.#settle([done.current], {});
      else await this.#agree(at, done.version, value);
    }
    throw this.#busy(at);
  }

  /** Notes that the server has what the cache sent. */
  async #agree(at: ItemAddress, version: number, value: Value): Promise<void> {
    this.#pushed += 1;
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const item = await this.#read(at);
      if (item.base.version >= version) return;
      if (await this.#items.write(item, value && { version, value })) return;
    }
    throw this.#busy(at);
  }

  /** Takes over what the server made of an item, oldest change first. */
  async #settle(changes: readonly RemoteItem[], { logged = false, restored = false }: Seen): Promise<void> {
    const { namespace, key } = changes[0]!;
    const at = { namespace, key };
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const item = await this.#read(at);
      const { base, value: ours } = item;
      const known = Math.max(base.version, base.theirs?.version ?? 0, base.missing ?? 0);
      const news = logged ? changes.filter(({ version }) => version > known) : changes;
      const last = news.at(-1);
      if (last === undefined) return;
      if (
        await this.#write(item, last, agreed(base, ours, logged ? news : []), {
          logged,
          restored: restored || base.theirs?.restored === true,
        })
      )
        return;
    }
    throw this.#busy(at);
  }

  async #write(item: Cached, last: RemoteItem, met: Value, { logged, restored }: Seen): Promise<boolean> {
    const { at, value: ours, base } = item;
    const { version, value: theirs, author, reason } = last;
    if (theirs === undefined) {
      this.#leave(at);
      return await this.#items.write(item, { ...base, missing: version });
    }
    const settled: Base | null = theirs && { version, value: theirs };
    if (same(ours, theirs)) return await this.#items.write(item, settled);
    if (same(theirs, met)) {
      this.#leave(at);
      return await this.#items.write(item, settled);
    }
    if (same(ours, met) && (restored !== true || ours === null)) {
      const note = JSON.stringify({ author: authorIn(author), reason } satisfies Note);
      const isMade = await this.#items.write(item, settled, { value: theirs, note });
      if (isMade) this.#pulled += 1;
      return isMade;
    }
    this.#leave(at);
    const conflict = { version, value: theirs, author, restored: restored === true };
    const decided = this.#decide(conflictOf(item, met, conflict));
    if (decided === undefined) {
      if (base.theirs?.version === version && same(base.theirs.value, theirs)) return true;
      // The versions of a server that was set back begin anew.
      const kept = { version: logged === true ? base.version : 0, value: met };
      return await this.#items.write(item, { ...kept, theirs: conflict });
    }
    const note = noteText(this.#agent, "decided in a sync");
    return await this.#items.write(item, settled, same(decided, ours) ? undefined : { value: decided, note });
  }

  async #read(at: ItemAddress): Promise<Cached> {
    return (await this.#items.read([at]))[0]!;
  }

  async #save(next: Place, place: Place): Promise<void> {
    const open = [...this.#open.values()].map(({ namespace, key }) => [...namespace, key]);
    if (next.cursor === place.cursor && next.local === place.local && same({ open }, { open: place.open }))
      return;
    Object.assign(place, next, { open });
    await this.#items.savePlace(place);
  }

  #leave({ namespace, key }: ItemAddress): void {
    this.#open.set(addressText({ namespace, key }), { namespace, key });
  }

  #fail(at: ItemAddress, error: StratigraphError): void {
    this.#failed.push({ ...named(at), error });
    this.#leave(at);
  }

  #busy({ namespace, key }: ItemAddress): StratigraphError {
    return new StratigraphError(
      "VERSION_CONFLICT",
      `Item ${JSON.stringify(key)} of namespace ${JSON.stringify(namespace)} was changed by others ${mostAttempts} times in a row while it was ` +
        `being synchronised. Nothing was lost: sync again.`,
      { namespace, key },
    );
  }
}

/** What both sides last agreed on, as the news of a log show it: a change that the cache was sending, or has made itself, is no other's. */
function agreed({ value, pushing }: Base, ours: Value, news: readonly RemoteItem[]): Value {
  let met = value;
  for (const { value: theirs } of news)
    if (theirs !== undefined && (same(theirs, ours) || (pushing && same(theirs, pushing.value))))
      met = theirs;
  return met;
}

function byItem(changes: readonly RemoteItem[]): Map<string, RemoteItem[]> {
  const found = new Map<string, RemoteItem[]>();
  for (const change of changes) {
    const address = addressText(change);
    found.set(address, [...(found.get(address) ?? []), change]);
  }
  return found;
}

function conflictOf(
  { at, value: ours }: Cached,
  base: Value,
  { value, author }: NonNullable<Base["theirs"]>,
): MemoryConflict {
  return { ...named(at), base, ours, theirs: value, author };
}

/** What a log keeps of an author. */
function authorIn(author: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(author).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : [])),
  );
}

function tooLong({ namespace, key }: ItemAddress): StratigraphError {
  return new StratigraphError(
    "STORAGE_FULL",
    `Item ${JSON.stringify(key)} of namespace ${JSON.stringify(namespace)} is too long for the memory's tools. It is on the server only.`,
    { namespace, key },
  );
}
