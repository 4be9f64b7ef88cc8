// long file: one class whose methods are best read side by side, and what it does with namespaces of workspaces
import { InvalidOptionError } from "@stratigraph/core";
import { inParallel, type Calls } from "@stratigraph/core/internal";
import type {
  ItemAddress,
  ItemBytes,
  ItemChange,
  ItemNamespacesQuery,
  ItemPage,
  ItemRead,
  Items,
  ItemSearch,
  NearestItemsQuery,
  NearItem,
  StoredItem,
} from "@stratigraph/core/tier";
import type { Bytes } from "../checkpointKeys.ts";
import { asBuffer } from "../fieldValues.ts";
import type { NamedBlobs } from "../largeBlobs.ts";
import { commitArgs } from "./commitArgs.ts";
import {
  allAddresses,
  decodeAddress,
  decodeLabels,
  encodeAddress,
  encodeLabels,
  rangeArgs,
  rangesBelow,
  rangesFrom,
  type ByteRange,
} from "./itemAddress.ts";
import { itemFrom, type Body } from "./itemReply.ts";
import { overloaded, type Space } from "./space.ts";
import type { Spaces } from "./spaces.ts";
import { similarityOf } from "./vectors.ts";

/** A version that comes after all others. */
export const lastVersion = Number.MAX_SAFE_INTEGER;

/** How many workspaces are looked into at a time. */
const parallelReads = 50;

/** How many bytes of vectors one command requests. */
const fetchedBytes = 4 << 20;

/** How often a search begins anew because all that it had found was changed meanwhile. */
const attempts = 8;

/** An item that was found by its vectors. */
type Near = Pick<NearItem, "similarity" | "version"> & {
  readonly workspace: string | undefined;
  readonly address: Buffer;
};
/** A search in the store or in one workspace. Without prefixes: all its items. */
type SpaceSearch = Pick<ItemSearch, "before" | "after" | "limit"> & Partial<ItemSearch>;
type ReadReply = [found: ([Buffer, Body] | null)[], named: NamedBlobs];
type SearchReply = [
  state: number,
  found: [Buffer, Buffer, Body][],
  named: NamedBlobs,
  seen: Buffer,
  below: number,
  newest: Buffer,
];

/** The items of a {@link RedisTier}. */
export class RedisItems implements Items {
  readonly #spaces: Spaces;
  readonly #calls: Calls;

  constructor(spaces: Spaces, calls: Calls) {
    this.#spaces = spaces;
    this.#calls = calls;
  }

  async read(addresses: readonly ItemRead[]): Promise<(StoredItem | undefined)[]> {
    return await this.#calls.run("items.read", undefined, () => this.#readAll(addresses));
  }

  async #readAll(addresses: readonly ItemRead[]): Promise<(StoredItem | undefined)[]> {
    const items = Array.from<StoredItem | undefined>({ length: addresses.length });
    await Promise.all(
      Array.from(placesByWorkspace(addresses), async ([workspace, places]) => {
        const own = places.map((place) => ({ ...addresses[place]!, ...within(addresses[place]!) }));
        const found = await this.#read(this.#spaces.of(workspace), own);
        for (const [nth, place] of places.entries())
          items[place] = found[nth] && inWorkspace(workspace, found[nth]);
      }),
    );
    return items;
  }

  async change(changes: readonly ItemChange[]): Promise<void> {
    await this.#calls.run("items.change", undefined, async () => {
      const [workspace, ...others] = new Set(changes.map(({ namespace }) => workspaceOf(namespace)));
      if (others.length > 0)
        throw new InvalidOptionError("namespace", "several workspaces", "Change one in each call.");
      const commit = {
        id: "",
        checks: [],
        changes: changes.map((change) => ({ ...change, ...within(change) })),
      };
      await this.#spaces.of(workspace).run("commit", commitArgs([commit], false));
    });
  }

  async search(search: ItemSearch): Promise<ItemPage> {
    return await this.#calls.run("items.search", undefined, async () => {
      const groups = await this.#groups(search.prefixes);
      const pages = await Promise.all(
        Array.from(groups, ([workspace, prefixes]) => this.#search(workspace, { ...search, prefixes })),
      );
      return pages.length === 1 ? pages[0]! : together(pages, search.limit);
    });
  }

  /**
   * Looks into the store and into every workspace for the largest version before. Two of them may have given the same version: such items
   * are on one page, though it gets longer.
   */
  async all({ before = lastVersion, limit }: Pick<ItemSearch, "before" | "limit">): Promise<ItemPage> {
    return await this.#calls.run("items.all", undefined, async () => {
      const newest: { readonly workspace: string | undefined; readonly version: number }[] = [];
      await inParallel([undefined, ...(await this.#spaces.all())], parallelReads, async (workspace) => {
        const version = await this.#spaces.of(workspace).newestBefore(before);
        if (version > 0) newest.push({ workspace, version });
      });
      const pages: ItemPage[] = [];
      for (const { workspace, version } of newest.sort((one, other) => other.version - one.version)) {
        const page = together(pages, limit);
        if (page.more && page.items.at(-1)!.version > version) break;
        pages.push(await this.#search(workspace, { before, limit }));
      }
      return together(pages, limit);
    });
  }

  async replace(values: readonly ItemBytes[]): Promise<number> {
    return await this.#calls.run("items.replace", undefined, async () => {
      let replaced = 0;
      for (const [workspace, places] of placesByWorkspace(values)) {
        const args: (Bytes | number)[] = [places.length];
        for (const place of places) {
          const { version, value, ...at } = values[place]!;
          args.push(encodeAddress(within(at)), version, asBuffer(value));
        }
        replaced += Number(await this.#spaces.of(workspace).run("replaceItems", args));
      }
      return replaced;
    });
  }

  /** Fetches all vectors of items below the prefixes: there is no index. */
  async nearest(query: NearestItemsQuery): Promise<ItemPage<NearItem>> {
    return await this.#calls.run("items.nearest", undefined, async () => {
      let { beyond } = query;
      for (let attempt = 1; ; attempt += 1) {
        const best = await this.#nearest({ ...query, beyond });
        const read = await this.#readAll(
          best.map(({ workspace, address }) => inWorkspace(workspace, decodeAddress(address))),
        );
        const isChanged = read.some((item, n) => item !== undefined && item.version !== best[n]!.version);
        if (isChanged && attempt < attempts) continue;
        const items = best.flatMap(({ version, similarity }, n): NearItem[] =>
          read[n]?.version === version ? [{ ...read[n], similarity }] : [],
        );
        const more = best.length === query.limit;
        if (items.length > 0 || !more) return { items, more };
        // All of them have expired.
        beyond = best.at(-1)!;
      }
    });
  }

  async namespaces(query: ItemNamespacesQuery): Promise<string[][]> {
    return await this.#calls.run("items.namespaces", undefined, async () => {
      const { after, limit } = query;
      const found: string[][] = [];
      const from = after === undefined ? undefined : { workspace: workspaceOf(after), after };
      // Those of workspaces begin with an empty label, so they come first.
      for (const [workspace, prefixes] of await this.#groups(query.prefixes)) {
        if (found.length >= limit) break;
        if (from !== undefined && compareWorkspaces(workspace, from.workspace) < 0) continue;
        const last = from?.workspace === workspace && from !== undefined ? relative(from.after) : undefined;
        for (const namespace of await this.#namespaces(workspace, prefixes, last, limit - found.length))
          found.push(absolute(workspace, namespace));
      }
      return found;
    });
  }

  async #nearest({ prefixes, vector, beyond, limit }: NearestItemsQuery): Promise<Near[]> {
    const size = vector.byteLength + 20;
    const many = Math.max(1, Math.floor(fetchedBytes / size));
    let best: Near[] = [];
    for (const [workspace, below] of await this.#groups(prefixes)) {
      const space = this.#spaces.of(workspace);
      for (const range of rangesBelow(below)) {
        for await (const { entries, versions } of space.entries(range, false)) {
          for (let at = 0; at < entries.length; at += many) {
            const some = versions.slice(at, at + many).map(Number);
            const fields = some.map((version) => `V${version}`);
            for (const [n, vectors] of (await space.fields(fields, size * fields.length)).entries()) {
              const found = { version: some[n]!, similarity: similarityOf(vectors, vector) };
              if (beyond === undefined || byNearness(beyond, found) < 0)
                best.push({ ...found, workspace, address: entries[at + n]! });
            }
          }
          if (best.length > 4 * limit) best = best.sort(byNearness).slice(0, limit);
        }
      }
    }
    return best.sort(byNearness).slice(0, limit);
  }

  async #read(space: Space, addresses: readonly ItemRead[]): Promise<(StoredItem | undefined)[]> {
    const args = [addresses.length, ...addresses.flatMap((at) => [encodeAddress(at), at.refreshMs ?? ""])];
    const { reply, bodies } = await space.read<ReadReply>("readItems", args, (reply) => reply[1]);
    return reply[0].map((found, n) =>
      found === null ? undefined : itemFrom(addresses[n]!, ...found, bodies),
    );
  }

  /**
   * One page, in one round trip, unless the prefixes hold many items and most newer ones aren't below them: then it takes several, none
   * of which looks at more than 1,000. Items that are changed meanwhile aren't in the page, which then says that there are more.
   */
  async #search(workspace: string | undefined, search: SpaceSearch): Promise<ItemPage> {
    const space = this.#spaces.of(workspace);
    const { prefixes, after = 0, limit } = search;
    if (limit < 1) return { items: [], more: true };
    const ranges = prefixes === undefined ? [allAddresses] : rangesBelow(prefixes);
    const begins = prefixes?.map(encodeLabels) ?? [];
    const where = [begins.length, ...begins, ...rangeArgs(ranges)];
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      let before = Math.min(search.before ?? lastVersion, lastVersion);
      let newest: number | undefined;
      const items: StoredItem[] = [];
      for (let pages = 1; ; pages += 1) {
        const args = [after, before, limit - items.length, ...where];
        const { reply, bodies } = await space.read<SearchReply>("searchItems", args, (reply) => reply[2]);
        const [state, found, , seen, below, version] = reply;
        for (const [address, header, body] of found)
          items.push(inWorkspace(workspace, itemFrom(decodeAddress(address), header, body, bodies)));
        newest ??= Number(version);
        const isChanged = newest !== Number(version);
        if (state === 1 || (state === 0 && (!isChanged || items.length > 0)))
          return { items, more: state === 1 || isChanged };
        if (state === 0) break;
        before = Number(seen);
        if (pages * 1000 < below) continue;
        const window = { after, before, newest };
        const rest = await this.#searchRanges(space, ranges, window, limit - items.length);
        if (rest === undefined && items.length === 0) break;
        const more = rest?.items.map((item) => inWorkspace(workspace, item)) ?? [];
        return { items: [...items, ...more], more: rest?.more ?? true };
      }
    }
    throw overloaded("A page of items");
  }

  /** Looks at all that is in ranges. Undefined if everything that should be on the page was changed meanwhile. */
  async #searchRanges(
    space: Space,
    ranges: readonly ByteRange[],
    { after, before, newest }: { readonly after: number; readonly before: number; readonly newest: number },
    limit: number,
  ): Promise<ItemPage | undefined> {
    const best: { readonly version: number; readonly address: Buffer }[] = [];
    let isChanged = false;
    let isCut = false;
    const sort = (): void => {
      best.sort((one, other) => other.version - one.version);
      isCut ||= best.length > limit;
      best.length = Math.min(best.length, limit);
    };
    for (const range of ranges) {
      for await (const { entries, versions } of space.entries(range, false)) {
        for (const [n, address] of entries.entries()) {
          const version = Number(versions[n]);
          isChanged ||= version > newest;
          if (version > after && version < before && version <= newest) best.push({ version, address });
        }
        if (best.length > 4 * limit) sort();
      }
    }
    sort();
    const items: StoredItem[] = [];
    for (let at = 0; at < best.length; at += 100) {
      const some = best.slice(at, at + 100);
      const found = await this.#read(
        space,
        some.map(({ address }) => decodeAddress(address)),
      );
      for (const [n, item] of found.entries()) {
        if (item?.version === some[n]!.version) items.push(item);
        else isChanged = true;
      }
    }
    const more = isCut || isChanged || best.length === limit;
    return more && items.length === 0 ? undefined : { items, more };
  }

  async #namespaces(
    workspace: string | undefined,
    prefixes: readonly (readonly string[])[],
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<string[][]> {
    const space = this.#spaces.of(workspace);
    let ranges = rangesBelow(prefixes);
    if (after !== undefined) ranges = rangesFrom(ranges, Buffer.from(`${encodeLabels(after)}\u0001`));
    const found: string[][] = [];
    let args = rangeArgs(ranges);
    while (found.length < limit) {
      const reply = await space.run("itemNamespaces", [limit - found.length, ...args]);
      const [paths, goesOn, from] = reply as [Buffer[], number, Buffer];
      for (const path of paths) found.push(decodeLabels(path).namespace);
      if (goesOn === 0) break;
      args = argsFrom(args, goesOn, from);
    }
    return found;
  }

  /** The prefixes by workspace, without the labels that name it. */
  async #groups(
    prefixes: readonly (readonly string[])[],
  ): Promise<Map<string | undefined, readonly (readonly string[])[]>> {
    const groups = new Map<string | undefined, (readonly string[])[]>();
    for (const prefix of prefixes) {
      const workspace = workspaceOf(prefix);
      const names = prefix.length === 1 && workspace !== undefined ? await this.#spaces.all() : [workspace];
      for (const name of names) groups.set(name, [...(groups.get(name) ?? []), relative(prefix)]);
    }
    return new Map([...groups].toSorted(([one], [other]) => compareWorkspaces(one, other)));
  }
}

/** The ranges of a script's arguments that are left, the first of them from a later place on. */
export function argsFrom(
  [many, ...ranges]: ReturnType<typeof rangeArgs>,
  goesOn: number,
  from: Buffer,
): ReturnType<typeof rangeArgs> {
  return [Number(many) - goesOn + 1, from, ...ranges.slice(2 * goesOn - 1)];
}

/** The places of addresses in a list, by workspace. */
function placesByWorkspace(addresses: readonly ItemAddress[]): Map<string | undefined, number[]> {
  const groups = new Map<string | undefined, number[]>();
  for (const [place, { namespace }] of addresses.entries()) {
    const workspace = workspaceOf(namespace);
    const places = groups.get(workspace) ?? [];
    groups.set(workspace, places);
    places.push(place);
  }
  return groups;
}

/** The workspace that a namespace belongs to; undefined for those of the store. */
function workspaceOf(namespace: readonly string[]): string | undefined {
  return namespace[0] === "" ? (namespace[1] ?? "") : undefined;
}

/** A namespace without the labels that name its workspace. */
function relative(namespace: readonly string[]): readonly string[] {
  return namespace[0] === "" ? namespace.slice(2) : namespace;
}

function within({ namespace, key }: ItemAddress): ItemAddress {
  return { namespace: relative(namespace), key };
}

function absolute(workspace: string | undefined, namespace: readonly string[]): string[] {
  return workspace === undefined ? [...namespace] : ["", workspace, ...namespace];
}

function inWorkspace<At extends ItemAddress>(workspace: string | undefined, item: At): At {
  return workspace === undefined ? item : { ...item, namespace: absolute(workspace, item.namespace) };
}

/** Workspaces come before the store, in the order of their names' UTF-8. */
function compareWorkspaces(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined)
    return Number(one === undefined) - Number(other === undefined);
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function byNearness(one: Pick<NearItem, "similarity" | "version">, other: typeof one): number {
  if (one.similarity === other.similarity) return other.version - one.version;
  return one.similarity > other.similarity ? -1 : 1;
}

/** One page of several: without what comes after the end of one that isn't complete, and with all items of its last version. */
function together(pages: readonly ItemPage[], limit: number): ItemPage {
  const ends = pages.map(({ items, more }) => (more ? (items.at(-1)?.version ?? 0) : 0));
  const last = Math.max(0, ...ends);
  const all = pages
    .flatMap(({ items }) => items)
    .filter(({ version }) => version >= last)
    .toSorted((one, other) => other.version - one.version);
  let end = Math.min(limit, all.length);
  while (end > 0 && all[end]?.version === all[end - 1]!.version) end += 1;
  return { items: all.slice(0, end), more: all.length > end || pages.some(({ more }) => more) };
}
