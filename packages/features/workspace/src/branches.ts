import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { sameValue, unionValues } from "@stratigraph/branch/internal";
import type { ItemAddress, StoredItem, WorkspaceChange } from "@stratigraph/core/tier";
import { isMade } from "./commitQueue.ts";
import { noteText } from "./author.ts";
import { versionGone } from "./follow.ts";
import { valueIn, type Parts } from "./parts.ts";
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

/** In the namespace of another workspace's name: up to which versions this one and the other have seen each other. */
const seenNamespace = (other: string): string[] => ["", "seen", other];

/** Where this workspace and another have met. */
interface Seen {
  /** The version of the other up to which this one has everything of it. */
  readonly theirs: number;
  /** The version of this one up to which the other has everything of it. */
  readonly ours: number;
  /** Which of the two came later. */
  readonly last: "theirs" | "ours";
}

/**
 * Copies the items of a workspace, as they were at a version, into a new one.
 * @throws StratigraphError "VERSION_GONE"; InvalidOptionError if there is another workspace by that name
 */
export async function forkWorkspace(from: Parts, to: Parts, version: number): Promise<void> {
  const key = "origin";
  const state = await to.workspaces.log(to.name, { prefixes: everything, before: 0, limit: 1 });
  const begun = await readOwn(to, ["", "fork"], key);
  const isSame = begun?.["from"] === from.name && begun["version"] === version;
  if (begun === undefined ? state.version > 0 : !isSame || begun["isDone"] === true)
    throw new InvalidOptionError(
      "name",
      to.name,
      "There is such a workspace already. Name the fork otherwise.",
    );
  // A fork that was cut short goes on: items that are there already stay.
  await putOwn(to, ["", "fork"], key, { from: from.name, version, isDone: false });
  let changes: Promise<WorkspaceChange>[] = [];
  const write = async (): Promise<void> => {
    const made = await Promise.all(changes);
    changes = [];
    const absent = made.map(({ namespace, key: of }) => ({ namespace, key: of, version: 0 }));
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
  const { trimmed } = await from.workspaces.log(from.name, { prefixes: everything, before: 0, limit: 1 });
  if (version < trimmed) throw versionGone(from.name, version, trimmed, state.version);
  const { version: ours } = await to.workspaces.log(to.name, { prefixes: everything, before: 0, limit: 1 });
  await putOwn(to, seenNamespace(from.name), "merge", { theirs: version, ours, last: "theirs" });
  await putOwn(from, seenNamespace(to.name), "merge", { theirs: ours, ours: version, last: "ours" });
  await putOwn(to, ["", "fork"], key, { from: from.name, version, isDone: true });
}

async function copyOf(from: Parts, to: Parts, item: StoredItem): Promise<WorkspaceChange> {
  const { namespace, key, note } = item;
  const value = (await valueIn(from, item))!;
  const ttlMs = to.ttl(namespace);
  return {
    ...(await to.coder.capture({ namespace, key }, value)()),
    // Who made the item is still who made it.
    note: note ?? (await to.coder.note(item, noteText(undefined, undefined))),
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
    const seen = await seenOf(ours, theirs);
    const { version: now } = await theirs.workspaces.log(theirs.name, {
      prefixes: everything,
      before: 0,
      limit: 1,
    });
    const addresses = await changedSince(theirs, seen.theirs, now);
    const sides = {
      theirs: new PastItems(theirs, now, everything),
      // What each side has seen of the other: the two places where they agreed.
      met: [
        new PastItems(theirs, seen.theirs, everything),
        new PastItems(ours, seen.ours, everything),
      ] as const,
    };
    const conflicts: ItemConflict[] = [];
    const changes: WorkspaceChange[] = [];
    const checks: (ItemAddress & { version: number })[] = [];
    for (const at of addresses) {
      const [current] = await ours.items.read([{ namespace: ["", ours.name, ...at.namespace], key: at.key }]);
      const read = async (items: PastItems, of: Parts): Promise<Value> =>
        valueOf(of, (await items.read([at]))[0]);
      const mine = await valueOf(ours, current && { ...current, namespace: at.namespace });
      const other = await read(sides.theirs, theirs);
      const [there, here] = [await read(sides.met[0], theirs), await read(sides.met[1], ours)];
      const met = seen.last === "theirs" ? [there, here] : [here, there];
      const merged = mergedItem(at, mine, other, met, resolve);
      if ("conflict" in merged) conflicts.push(merged.conflict);
      else if (!sameValue(merged.value, mine)) {
        checks.push({ ...at, version: current?.version ?? 0 });
        const note = await ours.coder.note(at, text);
        changes.push(
          merged.value === null
            ? { ...at, note }
            : { ...(await ours.coder.capture(at, merged.value)()), note, ttlMs: ours.ttl(at.namespace) },
        );
      }
    }
    if (conflicts.length > 0) return { ok: false, conflicts };
    const result = changes.length === 0 ? undefined : await ours.queue.commit({ checks, changes });
    if (result !== undefined && !isMade(result)) continue;
    // A process that dies here merges the same once more, which changes nothing.
    await putOwn(ours, seenNamespace(theirs.name), "merge", { ...seen, theirs: now, last: "theirs" });
    const other = await seenOf(theirs, ours);
    await putOwn(theirs, seenNamespace(ours.name), "merge", { ...other, ours: now, last: "ours" });
    return { ok: true, changed: changes.length };
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
  met: readonly Value[],
  resolve: MergeItemsOptions["resolve"],
): { value: Value } | { conflict: ItemConflict } {
  if (sameValue(ours, theirs)) return { value: ours };
  // A side that has what the two had where they met hasn't changed it.
  if (met.some((value) => sameValue(theirs, value))) return { value: ours };
  if (met.some((value) => sameValue(ours, value))) return { value: theirs };
  const base = met[0] ?? null;
  const union =
    ours === null || theirs === null
      ? { unsettled: "one side deleted it, the other changed it" }
      : unionValues({ base: base ?? {}, ours, theirs }, { ours: "a", theirs: "b", taken: new Map() });
  if ("value" in union) return { value: union.value as Value };
  if (resolve === "ours") return { value: ours };
  if (resolve === "theirs") return { value: theirs };
  const conflict = { namespace: [...namespace], key, base, ours, theirs, why: union.unsettled };
  const value = resolve?.(conflict);
  return value === undefined ? { conflict } : { value };
}

async function valueOf(
  parts: Parts,
  item: (ItemAddress & Pick<StoredItem, "value">) | undefined,
): Promise<Value> {
  return item === undefined ? null : ((await valueIn(parts, item)) ?? null);
}

/** The addresses of items that changed after a version, up to another, each once. */
async function changedSince(
  { workspaces, name }: Parts,
  since: number,
  upTo: number,
): Promise<ItemAddress[]> {
  const found = new Map<string, ItemAddress>();
  for (let after = since; ;) {
    const query = { prefixes: everything, after, before: upTo + 1, limit: 500 };
    const { entries, more, trimmed, version } = await workspaces.log(name, query);
    if (since < trimmed || since > version) throw versionGone(name, since, trimmed, version);
    for (const { namespace, key, kind } of entries)
      if (kind !== "message") found.set(JSON.stringify([...namespace, key]), { namespace, key });
    if (!more || entries.length === 0) return [...found.values()];
    after = entries.at(-1)!.version;
  }
}

async function seenOf(ours: Parts, theirs: Parts): Promise<Seen> {
  const seen = await readOwn(ours, seenNamespace(theirs.name), "merge");
  if (seen !== undefined) return seen as unknown as Seen;
  throw new InvalidOptionError(
    "from",
    theirs.name,
    `Neither is a fork of the other. A workspace can be merged with its forks: ${JSON.stringify(ours.name)} has none by this name.`,
  );
}

/** Reads an item that the log doesn't have. */
async function readOwn(
  parts: Parts,
  namespace: string[],
  key: string,
): Promise<Record<string, unknown> | undefined> {
  const [item] = await parts.items.read([{ namespace: ["", parts.name, ...namespace], key }]);
  return item && (await parts.coder.decode({ namespace, key, value: item.value }));
}

async function putOwn(parts: Parts, namespace: string[], key: string, value: object): Promise<void> {
  await parts.queue.commit({
    checks: [],
    changes: [await parts.coder.capture({ namespace, key }, { ...value })()],
  });
}
