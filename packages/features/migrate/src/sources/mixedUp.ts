import { isControlChannel } from "@stratigraph/core/internal";
import type { MixedUp, OutlineEntry } from "../contract/source.ts";

/** The versions of a checkpoint's channels. */
export interface Versioned {
  readonly checkpointId: string;
  readonly versions: Readonly<Record<string, number | string>>;
  /** Whether LangGraph made it as a copy of a sibling. Then it shares the sibling's values rightly. */
  readonly isCopy: boolean;
}

/**
 * The checkpoints whose values a saver stored under versions that another branch had used before: see {@link MixedUp}. Versions are
 * read only if there are branches.
 */
export async function mixedUpIn(
  threadId: string,
  outline: readonly OutlineEntry[],
  versionsOf: (namespace: string, ids: readonly string[]) => AsyncIterable<Versioned>,
): Promise<MixedUp[]> {
  const byNamespace = new Map<string, OutlineEntry[]>();
  for (const entry of outline) {
    const entries = byNamespace.get(entry.namespace);
    if (entries === undefined) byNamespace.set(entry.namespace, [entry]);
    else entries.push(entry);
  }
  const found: MixedUp[] = [];
  for (const [namespace, entries] of byNamespace) {
    if (!branches(entries)) continue;
    const ids = entries.map(({ checkpointId }) => checkpointId);
    const versioned = new Map<string, Versioned>();
    for await (const each of versionsOf(namespace, ids)) versioned.set(each.checkpointId, each);
    for (const one of clashes(entries, versioned)) found.push({ threadId, namespace, ...one });
  }
  return found;
}

/** Whether two checkpoints have the same parent, or none. */
function branches(entries: readonly OutlineEntry[]): boolean {
  return new Set(entries.map(({ parentId }) => parentId)).size < entries.length;
}

function* clashes(
  entries: readonly OutlineEntry[],
  versioned: ReadonlyMap<string, Versioned>,
): Iterable<Pick<MixedUp, "checkpointId" | "sharesWith" | "channels">> {
  /** For each version of a channel, the first checkpoint that has it. */
  const first = new Map<string, string>();
  for (const { checkpointId, parentId } of entries) {
    const own = versioned.get(checkpointId);
    if (own === undefined) continue;
    const before = parentId === undefined ? undefined : versioned.get(parentId)?.versions;
    const channels = new Map<string, string[]>();
    for (const [channel, version] of Object.entries(own.versions)) {
      // The values of channels that say what runs next don't differ.
      if (before?.[channel] === version || (isControlChannel(channel) && channel !== "__start__")) continue;
      const key = JSON.stringify([channel, String(version)]);
      const other = first.get(key);
      if (other === undefined) first.set(key, checkpointId);
      else if (!own.isCopy) channels.set(other, [...(channels.get(other) ?? []), channel]);
    }
    for (const [sharesWith, names] of channels) yield { checkpointId, sharesWith, channels: names };
  }
}
