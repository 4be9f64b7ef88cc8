import { keyIdOf } from "../codec/index.ts";
import { StratigraphError } from "../contract/errors.ts";
import type { ItemAddress, ItemBytes, ItemKeeper, StoredItem } from "../contract/items.ts";
import {
  addressWithin,
  keepsWorkspaces,
  type EntryBytes,
  type LoggedChange,
  type WorkspaceKeeper,
} from "../contract/workspaces.ts";
import type { Tier } from "../contract/tier.ts";
import type { Envelope } from "../encode/envelope.ts";
import { itemBinding, noteBinding } from "../encode/storedBody.ts";
import { itemError } from "../encode/valueErrors.ts";

/** How many items or entries are read, and how many are replaced, at a time. A tier bounds their bytes. */
const itemsPerPage = 500;
/** How often a page is read at most, if somebody changes its items meanwhile. */
const attempts = 8;

/** A function that gives the ids of the keys of an item, or of an entry of a log; undefined for none. */
export type KeysOf = () => ReadonlySet<string | undefined>;

/**
 * All items of a tier, and all entries of its workspaces' logs. An item that its log has counts as the entry. One that is changed meanwhile
 * may be missing: it has its writer's active key by then.
 */
export async function* allKeys(tier: Tier & ItemKeeper): AsyncGenerator<KeysOf> {
  for (let before: number | undefined, more = true; more;) {
    const page = await tier.items.all({ before, limit: itemsPerPage });
    for (const item of unlogged(tier, page.items)) yield () => new Set([keyOf(item, item.value, "value")]);
    ({ more } = page);
    before = page.items.at(-1)?.version;
  }
  if (!keepsWorkspaces(tier)) return;
  for (let place = await workspaceAfter(tier, undefined); place !== undefined;) {
    const { workspace } = place;
    const { entries, next } = await entriesAfter(tier, place);
    for (const entry of entries) yield () => keysOfEntry(workspace, entry);
    place = next;
  }
}

/** The items whose bytes no log has. */
function unlogged(tier: Tier, items: readonly StoredItem[]): readonly StoredItem[] {
  return keepsWorkspaces(tier) ? items.filter(({ note }) => note === undefined) : items;
}

function keysOfEntry(workspace: string, { note, value, ...entry }: LoggedChange): Set<string | undefined> {
  const at = addressWithin(workspace, entry);
  const keys = new Set([keyOf(at, note, "note")]);
  return value === undefined ? keys : keys.add(keyOf(at, value, "value"));
}

/** The id of the key that bytes of an item are encrypted with; undefined for none. @throws StratigraphError "CORRUPT", "NEWER_FORMAT" */
function keyOf(at: ItemAddress, bytes: Uint8Array, what: "value" | "note"): string | undefined {
  try {
    return keyIdOf(bytes);
  } catch (cause) {
    throw itemError(at, `the key of its ${what} can't be told`, cause, "CORRUPT");
  }
}

/** Bytes of an item under the active key. */
async function resealed(
  envelope: Envelope,
  at: ItemAddress,
  bytes: Uint8Array,
  what: "value" | "note",
): Promise<Uint8Array> {
  if (keyOf(at, bytes, what) === envelope.activeKey) return bytes;
  try {
    return await envelope.reseal(bytes, what === "value" ? itemBinding(at) : noteBinding(at));
  } catch (cause) {
    throw itemError(at, "it can't be encrypted anew", cause, "CORRUPT");
  }
}

/** Where to go on among the logs: with a workspace's entries after a version, and those of the workspaces after it. */
interface EntriesPlace {
  readonly workspace: string;
  readonly since: number;
}

/** Where to go on: with the items before a version and then the logs, or among the logs. */
export type ItemsPlace = { readonly before: number } | EntriesPlace;

/** Whether a cursor says where to go on in a tier with items. */
export function isItemsPlace(place: unknown, tier: Tier): place is ItemsPlace {
  const { before, workspace, since } = Object(place) as Record<string, unknown>;
  if (before !== undefined) return Number.isInteger(before);
  return keepsWorkspaces(tier) && typeof workspace === "string" && Number.isInteger(since);
}

/** What {@link reencryptItems} did with one page. */
export interface ItemsPageReport {
  /** How many items and entries were re-encrypted. */
  readonly items: number;
  /** The next page. Absent: that was all. */
  readonly next?: ItemsPlace | undefined;
  readonly failed: readonly StratigraphError[];
}

/** Whether an error concerns one item alone, so that the work can go on. */
type IsOfOne = (error: unknown) => error is StratigraphError;

/**
 * Re-encrypts items that aren't encrypted with the active key, and then the entries of workspaces' logs with the items that they are of, a page
 * at a time. What somebody writes meanwhile stays.
 */
export async function* reencryptItems(
  tier: Tier & ItemKeeper,
  envelope: Envelope,
  from: ItemsPlace | undefined,
  isOfOne: IsOfOne,
): AsyncGenerator<ItemsPageReport> {
  for (let place = from, isFirst = true; isFirst || place !== undefined; isFirst = false) {
    const report =
      place !== undefined && "workspace" in place && keepsWorkspaces(tier)
        ? await entriesPage(tier, envelope, place, isOfOne)
        : await itemsPage(tier, envelope, place && "before" in place ? place.before : undefined, isOfOne);
    yield report;
    place = report.next;
  }
}

async function itemsPage(
  tier: Tier & ItemKeeper,
  envelope: Envelope,
  before: number | undefined,
  isOfOne: IsOfOne,
): Promise<ItemsPageReport> {
  return await pageAnew<StoredItem, ItemBytes>({
    read: async () => {
      const { items, more } = await tier.items.all({ before, limit: itemsPerPage });
      const next = more
        ? { before: items.at(-1)!.version }
        : keepsWorkspaces(tier)
          ? await workspaceAfter(tier, undefined)
          : undefined;
      return { pieces: unlogged(tier, items), next };
    },
    sealed: async (item) => {
      const value = await resealed(envelope, item, item.value, "value");
      const { namespace, key, version } = item;
      return value === item.value ? undefined : { namespace, key, version, value };
    },
    replace: async (values) => await tier.items.replace(values),
    isOfOne,
  });
}

async function entriesPage(
  tier: Tier & WorkspaceKeeper,
  envelope: Envelope,
  place: EntriesPlace,
  isOfOne: IsOfOne,
): Promise<ItemsPageReport> {
  const { workspace } = place;
  return await pageAnew<LoggedChange, EntryBytes>({
    read: async () => {
      const { entries, next } = await entriesAfter(tier, place);
      return { pieces: entries, next };
    },
    sealed: async (was) => {
      const at = addressWithin(workspace, was);
      const note = await resealed(envelope, at, was.note, "note");
      const value = was.value && (await resealed(envelope, at, was.value, "value"));
      return note === was.note && value === was.value ? undefined : { was, note, value };
    },
    replace: async (entries) => await tier.workspaces.replace(workspace, entries),
    isOfOne,
  });
}

/** A page of a log, and the place after it. */
async function entriesAfter(
  tier: Tier & WorkspaceKeeper,
  { workspace, since }: EntriesPlace,
): Promise<{ readonly entries: readonly LoggedChange[]; readonly next: EntriesPlace | undefined }> {
  const query = { prefixes: [[]], after: since, limit: itemsPerPage };
  const { entries, more } = await tier.workspaces.log(workspace, query);
  const last = entries.at(-1);
  const next =
    more && last !== undefined ? { workspace, since: last.version } : await workspaceAfter(tier, workspace);
  return { entries, next };
}

/** The place before the first entry of the workspace that follows one, or of the first workspace. */
async function workspaceAfter(
  tier: WorkspaceKeeper,
  after: string | undefined,
): Promise<EntriesPlace | undefined> {
  const [workspace] = await tier.workspaces.list({ after, limit: 1 });
  return workspace === undefined ? undefined : { workspace, since: 0 };
}

/** How a page of items or entries is read, and how what was made of it is written. */
interface PageWork<Piece, Bytes> {
  read(): Promise<{ readonly pieces: readonly Piece[]; readonly next: ItemsPlace | undefined }>;
  /** The bytes under the active key; undefined if they are that. */
  sealed(piece: Piece): Promise<Bytes | undefined>;
  replace(values: readonly Bytes[]): Promise<number>;
  readonly isOfOne: IsOfOne;
}

async function pageAnew<Piece, Bytes>(work: PageWork<Piece, Bytes>): Promise<ItemsPageReport> {
  for (let attempt = 1, count = 0; ; attempt += 1) {
    const { pieces, next } = await work.read();
    const values: Bytes[] = [];
    const failed: StratigraphError[] = [];
    for (const piece of pieces)
      try {
        const bytes = await work.sealed(piece);
        if (bytes !== undefined) values.push(bytes);
      } catch (error) {
        if (!work.isOfOne(error)) throw error;
        failed.push(error);
      }
    const replaced = values.length === 0 ? 0 : await work.replace(values);
    count += replaced;
    const isDone = replaced === values.length;
    if (!isDone && attempt < attempts) continue;
    if (!isDone) failed.push(beingChanged());
    return { items: count, next, failed };
  }
}

function beingChanged(): StratigraphError {
  const message = `Items of a store or workspace were being changed during each of ${attempts} attempts to encrypt them anew. Repeat the call.`;
  return new StratigraphError("OVERLOADED", message, {});
}
