import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { sameValue, unionValues } from "@stratigraph/branch/internal";
import { kindOf } from "@stratigraph/core/internal";
import type { ItemAddress, StoredItem, WorkspaceChange } from "@stratigraph/core/tier";
import { isMade } from "./commitQueue.ts";
import { noteText } from "./author.ts";
import { refuseTrimmed, versionGone } from "./follow.ts";
import { logPages, putUnlogged, readUnlogged, stateOf, valueIn, type Parts } from "./parts.ts";
import { PastItems } from "./pastItems.ts";
import type { Prefixes } from "./workspaceItems.ts";

/** What both sides made of an item since they last agreed on it. null: there is none. */
export interface ItemConflict {
  readonly namespace: string[];
  readonly key: string;
  readonly base: Record<string, unknown> | null;
  readonly ours: Record<string, unknown> | null;
  readonly theirs: Record<string, unknown> | null;
  /** Why the sides can't be united. */
  readonly why: string;
}

/** Options of {@link Workspace.merge}. */
export interface MergeItemsOptions {
  /**
   * Decides about items that both sides changed in ways that can't be united: "ours" and "theirs" take one side's. A function gives the value,
   * null for none, or undefined to leave it a conflict. Default: they are conflicts, and nothing is merged.
   */
  readonly resolve?:
    | "ours"
    | "theirs"
    | ((conflict: ItemConflict) => Record<string, unknown> | null | undefined)
    | undefined;
  readonly reason?: string | undefined;
}

/** What became of a merge. On a conflict nothing was written. */
export type MergedItems =
  | { readonly ok: true; /** How many items were put or deleted. */ readonly changed: number }
  | { readonly ok: false; readonly conflicts: readonly ItemConflict[] };

type Value = Record<string, unknown> | null;

/** How many items go into one commit of a fork. */
const itemsPerCommit = 200;

/** How often a merge begins anew because others changed items meanwhile. */
const mostMerges = 20;

const everything: Prefixes = [[]];

/** What a workspace notes of another one that it has merged, in an item that the log doesn't have. */
interface Mark {
  /** The version of the other up to which this one has everything of it. */
  readonly version: number;
  /** Larger than those of earlier merges of the two, in both directions. */
  readonly nth: number;
}

const markOf = (other: string): ItemAddress => ({ namespace: ["", "seen", other], key: "merge" });
const originAddress: ItemAddress = { namespace: ["", "fork"], key: "origin" };

/**
 * Copies the items of a workspace, as they were at a version, into a new one.
 * @throws StratigraphError "VERSION_GONE"; InvalidOptionError if there is another workspace by that name
 */
export async function forkWorkspace(from: Parts, to: Parts, at: number | undefined): Promise<void> {
  const origin = await readUnlogged(to, originAddress);
  // A fork that was cut short goes on: items that are there already stay.
  const unfinished = origin?.value["from"] === from.name && origin.value["isDone"] === false;
  const version = at ?? (unfinished ? Number(origin.value["version"]) : (await stateOf(from)).version);
  const isSame = unfinished && origin.value["version"] === version;
  if (!isSame && (origin !== undefined || (await stateOf(to)).version > 0)) throw taken(to);
  refuseTrimmed(from, await stateOf(from), version);
  const note = { from: from.name, version };
  const begun = await putUnlogged(to, originAddress, { ...note, isDone: false }, origin?.version ?? 0);
  if (begun === undefined) throw taken(to);
  let changes: Promise<WorkspaceChange>[] = [];
  const write = async (): Promise<void> => {
    const made = await Promise.all(changes);
    changes = [];
    const absent = made.map(({ namespace, key }) => ({ namespace, key, version: 0 }));
    const result = await to.queue.commit({ checks: absent, changes: made });
    if (isMade(result)) return;
    const left = made.filter((_, place) => !result.failed.includes(place));
    if (left.length > 0) await to.queue.commit({ checks: [], changes: left });
  };
  for await (const item of new PastItems(from, version, everything).all(everything)) {
    changes.push(copyOf(from, to, item));
    if (changes.length === itemsPerCommit) await write();
  }
  if (changes.length > 0) await write();
  const { version: ours } = await stateOf(to);
  await putUnlogged(to, markOf(from.name), { version, nth: 1 });
  await putUnlogged(from, markOf(to.name), { version: ours, nth: 0 });
  await putUnlogged(to, originAddress, { ...note, isDone: true });
}

function taken({ name }: Parts): InvalidOptionError {
  return new InvalidOptionError("name", name, "There is such a workspace already. Name the fork otherwise.");
}

async function copyOf(from: Parts, to: Parts, item: StoredItem): Promise<WorkspaceChange> {
  const { namespace, key, note } = item;
  const value = (await valueIn(from, item))!;
  // Who made the item is still who made it.
  const text = note === undefined ? noteText(undefined, undefined) : await from.coder.noteText(item, note);
  const ttlMs = to.ttl(namespace);
  return {
    ...(await to.coder.capture({ namespace, key }, value)()),
    note: await to.coder.note(item, text),
    ttlMs,
  };
}

/**
 * Brings what another workspace changed since the two last met into this one, all or nothing. An item that only one side changed is that
 * side's. One that both changed is united: objects by key, lists by what each added.
 * @throws StratigraphError "VERSION_CONFLICT" if others kept changing items; InvalidOptionError if neither is the other's fork
 */
export async function mergeWorkspaces(
  ours: Parts,
  theirs: Parts,
  agent: string | undefined,
  { resolve, reason }: MergeItemsOptions,
): Promise<MergedItems> {
  if (resolve !== undefined && resolve !== "ours" && resolve !== "theirs" && typeof resolve !== "function")
    throw new InvalidOptionError("resolve", resolve, 'Pass "ours", "theirs" or a function.');
  const text = noteText(agent, reason ?? `merged ${theirs.name}`.slice(0, 2000));
  for (let attempt = 0; attempt < mostMerges; attempt += 1) {
    const { own, ownVersion, other } = await marksOf(ours, theirs);
    const { version: now } = await stateOf(theirs);
    const past = new PastItems(theirs, now, everything);
    // Where the two last met: what this one last had of the other, or the other of this one.
    const [metAt, met] =
      own.nth > other.nth
        ? ([theirs, new PastItems(theirs, own.version, everything)] as const)
        : ([ours, new PastItems(ours, other.version, everything)] as const);
    const conflicts: ItemConflict[] = [];
    const changes: WorkspaceChange[] = [];
    const checks: (ItemAddress & { version: number })[] = [];
    const addresses = await changedSince(theirs, own.version, now);
    const within = addresses.map(({ namespace, key }) => ({ namespace: ["", ours.name, ...namespace], key }));
    const [current, changed, bases] = await Promise.all([
      ours.items.read(within),
      past.read(addresses),
      met.read(addresses),
    ]);
    for (const [nth, at] of addresses.entries()) {
      const mine = await valueOf(ours, at, current[nth]);
      const their = await valueOf(theirs, at, changed[nth]);
      const base = await valueOf(metAt, at, bases[nth]);
      const merged = mergedItem(at, mine, their, base, resolve);
      if ("conflict" in merged) conflicts.push(merged.conflict);
      else if (!sameValue(merged.value, mine)) {
        checks.push({ ...at, version: current[nth]?.version ?? 0 });
        const note = await ours.coder.note(at, text);
        changes.push(
          merged.value === null
            ? { ...at, note }
            : { ...(await ours.coder.capture(at, merged.value)()), note, ttlMs: ours.ttl(at.namespace) },
        );
      }
    }
    // A trim may have come before the bases were read.
    refuseTrimmed(theirs, await stateOf(theirs), own.version);
    refuseTrimmed(ours, await stateOf(ours), other.version);
    if (conflicts.length > 0) return { ok: false, conflicts };
    // The mark goes along, so the same merge isn't made twice, whoever else makes it, and whatever dies.
    const mark = await ours.coder.capture(markOf(theirs.name), {
      version: now,
      nth: Math.max(own.nth, other.nth) + 1,
    })();
    checks.push({ ...markOf(theirs.name), version: ownVersion });
    const result = await ours.queue.commit({ checks, changes: [...changes, mark] });
    if (isMade(result)) return { ok: true, changed: changes.length };
  }
  throw new StratigraphError(
    "VERSION_CONFLICT",
    `Items of workspace ${JSON.stringify(ours.name)} were changed ${mostMerges} times while ${JSON.stringify(theirs.name)} was being merged. ` +
      `Nothing was merged. Repeat it when less is written.`,
    { workspace: ours.name, from: theirs.name },
  );
}

function mergedItem(
  { namespace, key }: ItemAddress,
  ours: Value,
  theirs: Value,
  base: Value,
  resolve: MergeItemsOptions["resolve"],
): { value: Value } | { conflict: ItemConflict } {
  if (sameValue(ours, theirs)) return { value: ours };
  // A side that has what the two had where they last met hasn't changed it.
  if (sameValue(theirs, base)) return { value: ours };
  if (sameValue(ours, base)) return { value: theirs };
  const union =
    ours === null || theirs === null
      ? { unsettled: "one side deleted it, the other changed it" }
      : unionValues({ base: base ?? {}, ours, theirs }, { ours: "b", theirs: "a", taken: new Map() });
  if ("value" in union) return { value: union.value as Value };
  if (resolve === "ours") return { value: ours };
  if (resolve === "theirs") return { value: theirs };
  const conflict = { namespace: [...namespace], key, base, ours, theirs, why: union.unsettled };
  const value: unknown = resolve?.(conflict);
  if (value === undefined) return { conflict };
  if (typeof value !== "object" || Array.isArray(value))
    throw new InvalidOptionError("resolve", kindOf(value), "Have it return an object, null or undefined.");
  return { value: value as Value };
}

async function valueOf(parts: Parts, at: ItemAddress, item: StoredItem | undefined): Promise<Value> {
  return (item && (await valueIn(parts, { ...at, value: item.value }))) ?? null;
}

/** The addresses of items that changed after a version, up to another, each once. */
async function changedSince(parts: Parts, since: number, upTo: number): Promise<ItemAddress[]> {
  const found = new Map<string, ItemAddress>();
  const query = { prefixes: everything, after: since, before: upTo + 1, limit: 500 };
  for await (const page of logPages(parts, query)) {
    if (since < page.trimmed || since > page.version) throw versionGone(parts.name, since, page);
    for (const { namespace, key, kind } of page.entries)
      if (kind !== "message") found.set(JSON.stringify([...namespace, key]), { namespace, key });
  }
  return [...found.values()];
}

/** What the two note of each other. @throws InvalidOptionError */
async function marksOf(ours: Parts, theirs: Parts): Promise<{ own: Mark; ownVersion: number; other: Mark }> {
  const own = await readUnlogged(ours, markOf(theirs.name));
  const other = await readUnlogged(theirs, markOf(ours.name));
  if (own !== undefined && other !== undefined)
    return {
      own: own.value as unknown as Mark,
      ownVersion: own.version,
      other: other.value as unknown as Mark,
    };
  throw new InvalidOptionError(
    "from",
    theirs.name,
    `Neither is a fork of the other, or the fork isn't complete. A workspace can be merged with its forks, and they with it: ` +
      `${JSON.stringify(ours.name)} has none by this name.`,
  );
}
