import { currentWrites, isLangGraphChannel } from "@stratigraph/core/internal";
import type { TierSaver } from "@stratigraph/core";
import type { DecodedBody, Nodes } from "@stratigraph/core/internal";
import type { Address, CheckpointRecord } from "@stratigraph/core/tier";
import { DELTA_WRITES_VERSIONED } from "./langgraph.ts";

/** Channels of a checkpoint that have a version but no stored value. They may be DeltaChannels. */
export function valueless({ manifest }: Pick<DecodedBody, "manifest">): string[] {
  return [...manifest.values()]
    .filter(
      ({ channel, version, value }) =>
        version !== undefined && value === undefined && !isLangGraphChannel(channel),
    )
    .map(({ channel }) => channel);
}

/**
 * The DeltaChannels of a checkpoint that have no value in it, according to its metadata. LangGraph before 1.5 wrote no such metadata;
 * then all channels that may be such are returned.
 */
export function deltaChannels(body: Pick<DecodedBody, "manifest">, metadata: object): string[] {
  const { counters_since_delta_snapshot: counters, [DELTA_WRITES_VERSIONED]: versioned } = metadata as {
    counters_since_delta_snapshot?: Readonly<Record<string, unknown>>;
    [DELTA_WRITES_VERSIONED]?: unknown;
  };
  const isDelta = (channel: string): boolean =>
    counters === undefined ? versioned !== true : Object.hasOwn(counters, channel);
  return valueless(body).filter(isDelta);
}

/**
 * The ancestors from which a checkpoint's DeltaChannels are rebuilt, nearest first. They reach back to the nearest stored value of
 * each channel, or to the beginning. A channel that has no stored value and was never written to is no DeltaChannel but an untracked
 * one.
 */
export async function deltaAncestors(
  saver: TierSaver,
  nodes: Nodes,
  at: Address,
): Promise<CheckpointRecord[]> {
  const start = nodes.get(at.checkpointId)!.record;
  const body = await saver.coder.decodeBody(start);
  const open = new Set(valueless(body));
  const written = new Set<string>();
  const found: CheckpointRecord[] = [];
  let needed = 0;
  let isMixed = false;
  let child = at.checkpointId;
  for (let { parentId } = start; open.size > 0 && parentId !== undefined;) {
    const node = nodes.get(parentId);
    if (node === undefined) break;
    found.push(node.record);
    const { manifest, stateVersion } = await saver.coder.decodeBody(node.record);
    // Under another version of the state the channels may have other names. More ancestors than are needed do no harm.
    isMixed ||= stateVersion !== body.stateVersion;
    const writes = currentWrites(node.writes, child);
    for (const channel of await saver.coder.writes.channels(node.record, writes)) written.add(channel);
    child = node.record.checkpointId;
    for (const channel of open) {
      if (manifest.get(channel)?.value === undefined) continue;
      open.delete(channel);
      needed = found.length;
    }
    ({ parentId } = node.record);
  }
  return isMixed || [...open].some((channel) => written.has(channel)) ? found : found.slice(0, needed);
}
