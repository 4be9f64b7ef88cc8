import { InvalidOptionError, type Tier, type TierSaver } from "@stratigraph/core";
import {
  keepsItems,
  keepsWorkspaces,
  LockTurns,
  type ItemCoder,
  type ItemTtl,
} from "@stratigraph/core/internal";
import type {
  ItemAddress,
  Items,
  LoggedChange,
  LogPage,
  LogQuery,
  StoredItem,
  WorkspaceStorage,
} from "@stratigraph/core/tier";
import { noteOf, type Note } from "./author.ts";
import { CommitQueue, isMade } from "./commitQueue.ts";
import { freeze } from "./freeze.ts";
import { SharedReads } from "./sharedReads.ts";
import { Turns } from "./turns.ts";

/** What all handles of one workspace share. */
export interface Parts {
  readonly name: string;
  readonly tier: Tier;
  readonly workspaces: WorkspaceStorage;
  readonly items: Items;
  readonly coder: ItemCoder;
  readonly ttl: ItemTtl;
  readonly queue: CommitQueue;
  readonly freezes: boolean;
  /** Updates of one item in this process take turns: so they don't come between each other. */
  readonly turns: Turns;
  /** Those of this process that want one lock take turns. */
  readonly lockTurns: LockTurns;
  readonly reads: SharedReads;
  /** What {@link shared} has: it is there as long as somebody has these parts. */
  readonly own: Own;
}

type Own = Pick<Parts, "queue" | "turns" | "lockTurns" | "reads">;

/** By storage and name. */
const shared = new WeakMap<Tier, Map<string, WeakRef<Own>>>();

/** Removes names of workspaces of which nobody has a handle any more. */
const unused = new FinalizationRegistry(({ of, name }: { of: Map<string, WeakRef<Own>>; name: string }) => {
  if (of.get(name)?.deref() === undefined) of.delete(name);
});

/** @throws InvalidOptionError if the storage keeps no workspaces */
export function partsOf(
  checkpointer: TierSaver,
  name: string,
  options: Pick<Parts, "ttl" | "freezes">,
): Parts {
  const { tier } = checkpointer;
  if (!keepsWorkspaces(tier) || !keepsItems(tier))
    throw new InvalidOptionError(
      "checkpointer",
      tier.name,
      "It keeps no workspaces. Memory, PostgreSQL, PGlite and Redis do, and stacks with one of these as the warm tier.",
    );
  const { workspaces, items } = tier;
  const coder = checkpointer.itemCoder.of(name);
  return { ...ownOf(tier, workspaces, name), name, tier, workspaces, items, coder, ...options };
}

/** The same of another workspace in the same storage. */
export function otherParts(parts: Parts, name: string): Parts {
  const own = ownOf(parts.tier, parts.workspaces, name);
  return { ...parts, ...own, name, coder: parts.coder.of(name) };
}

/** What all handles of a workspace in this process share. */
function ownOf(tier: Tier, workspaces: WorkspaceStorage, name: string): Own & { readonly own: Own } {
  const of = shared.get(tier) ?? new Map<string, WeakRef<Own>>();
  shared.set(tier, of);
  const known = of.get(name)?.deref();
  if (known !== undefined) return { ...known, own: known };
  const own: Own = {
    queue: new CommitQueue(workspaces, name),
    turns: new Turns(),
    lockTurns: new LockTurns(),
    reads: new SharedReads(workspaces, name),
  };
  of.set(name, new WeakRef(own));
  unused.register(own, { of, name });
  return { ...own, own };
}

/** What an item's note says. */
export async function noteIn({ coder }: Parts, at: ItemAddress & Pick<StoredItem, "note">): Promise<Note> {
  return at.note === undefined ? { author: {} } : noteOf(await coder.noteText(at, at.note));
}

/** The value of a change, if it has one. */
export async function valueIn(
  { coder, freezes }: Parts,
  change: Pick<LoggedChange, "namespace" | "key" | "value">,
): Promise<Record<string, unknown> | undefined> {
  const { value } = change;
  if (value === undefined) return undefined;
  const decoded = await coder.decode({ ...change, value });
  return freezes ? freeze(decoded) : decoded;
}

/** What is told of every change and message: when, by whom and why, and its value. */
export async function toldOf(parts: Parts, change: LoggedChange): Promise<Told> {
  const [{ author, reason }, value] = await Promise.all([noteIn(parts, change), valueIn(parts, change)]);
  const told = { version: change.version, at: new Date(change.atMs), author };
  return { told: { ...told, ...(reason !== undefined && { reason }) }, value };
}

interface Told {
  readonly told: Note & { readonly version: number; readonly at: Date };
  readonly value: Record<string, unknown> | undefined;
}

/** The state of a log without its entries. @param after as in {@link LogQuery} */
export async function stateOf({ workspaces, name }: Parts, after = 0): Promise<LogPage> {
  return await workspaces.log(name, { prefixes: [[]], after, before: 0, limit: 1 });
}

/** The pages of a log, from the first to the last. */
export async function* logPages({ workspaces, name }: Parts, query: LogQuery): AsyncGenerator<LogPage> {
  for (let next = query; ;) {
    const page = await workspaces.log(name, next);
    yield page;
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return;
    next = { ...query, [query.newestFirst === true ? "before" : "after"]: last.version };
  }
}

/** Reads an item that the log doesn't have. */
export async function readUnlogged(
  { items, coder, name }: Parts,
  at: ItemAddress,
): Promise<{ readonly version: number; readonly value: Record<string, unknown> } | undefined> {
  const [item] = await items.read([{ namespace: ["", name, ...at.namespace], key: at.key }]);
  if (item === undefined) return undefined;
  return { version: item.version, value: await coder.decode({ ...at, value: item.value }) };
}

/**
 * Puts an item that the log doesn't have.
 * @param ifVersion only if the item has this version
 * @returns the item's new version; undefined if it had another one
 */
export async function putUnlogged(
  { queue, coder }: Parts,
  at: ItemAddress,
  value: Record<string, unknown>,
  ifVersion?: number,
): Promise<number | undefined> {
  const checks = ifVersion === undefined ? [] : [{ ...at, version: ifVersion }];
  const result = await queue.commit({ checks, changes: [await coder.capture(at, value)()] });
  return isMade(result) ? result.versions[0] : undefined;
}
