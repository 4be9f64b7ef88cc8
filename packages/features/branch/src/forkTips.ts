import { NotFoundError, type TierSaver } from "@stratigraph/core";
import {
  ancestorsFrom,
  currentWrites,
  firstAsked,
  snapshotTerm,
  subgraphTip,
  type Node,
  type Outline,
  type Tip,
} from "@stratigraph/core/internal";
import type { ForkTip } from "@stratigraph/core/tier";
import { deltaAncestors, valueless } from "./deltaAncestors.ts";

/** The parts of a checkpoint to fork from that planning needs. */
export interface ForkPoint {
  readonly threadId: string;
  readonly rootId: string;
  /** If the fork begins at a checkpoint of a subgraph, that checkpoint. It is copied without being rewound. */
  readonly inner?: Node | undefined;
}

/** A tip with its record and pending writes. */
export interface PlannedTip extends ForkTip {
  readonly node: Node;
}

/** What goes into a fork besides what its checkpoint needs. */
export interface ForkExtent {
  readonly history: "needed" | "full";
  readonly calls: "inherit" | "none";
}

/**
 * Plans what a thread that begins at a checkpoint needs: the checkpoint, the ancestors from which its DeltaChannels are rebuilt, its
 * pending writes, and its subgraphs as they were at that point; with `history: "full"` all ancestors too, and with
 * `calls: "inherit"` all tool calls of the thread, whenever they were made.
 * @throws NotFoundError
 */
export async function forkTips(
  saver: TierSaver,
  { threadId, rootId, inner }: ForkPoint,
  outline: Outline,
  { history, calls }: ForkExtent,
): Promise<PlannedTip[]> {
  const { root, continued } = outline;
  if (root === undefined) {
    throw new NotFoundError(
      `Thread ${JSON.stringify(threadId)} no longer has the checkpoint ${rootId}. Fork from another one; log() shows them.`,
      { threadId, namespace: "", checkpointId: rootId },
    );
  }
  const full = history === "full";
  let ids: Promise<ReadonlySet<string>> | undefined;
  const ancestors = (): Promise<ReadonlySet<string>> => (ids ??= idsOf(outline, rootId));
  const tips: Tip[] = [{ node: root, rewound: continued }];
  if (inner !== undefined) tips.push({ node: inner, rewound: false });
  for (const [namespace, head] of outline.heads) {
    if (namespace === inner?.record.namespace) continue;
    const tip = await subgraphTip(saver.coder, outline, head, { ancestors, spent: full });
    if (tip !== undefined) tips.push(tip);
  }
  const planned = await Promise.all(
    tips.map(async (tip): Promise<PlannedTip> => {
      const { node } = tip;
      const { namespace, checkpointId } = node.record;
      const writes = await placesOf(saver, tip);
      const reach = full ? { ancestors: Number.POSITIVE_INFINITY } : await deltaReach(saver, outline, node);
      return { namespace, checkpointId, writes, ...reach, node };
    }),
  );
  return calls === "inherit" && outline.lastCall !== undefined
    ? [...planned, wholeChain(outline.lastCall)]
    : planned;
}

/** The last of a thread's tool calls, with all before it. */
function wholeChain(node: Node): PlannedTip {
  const { namespace, checkpointId } = node.record;
  return { namespace, checkpointId, writes: [], ancestors: Number.POSITIVE_INFINITY, node };
}

async function idsOf(outline: Outline, rootId: string): Promise<ReadonlySet<string>> {
  return new Set(ancestorsFrom(await outline.nodes(""), rootId).map(({ checkpointId }) => checkpointId));
}

/**
 * How far back the ancestors reach from which a checkpoint's DeltaChannels are rebuilt. If LangGraph counted a channel's steps in the
 * metadata, they reach back to its newest snapshot. After `updateState` it hasn't, so the ancestors are searched.
 */
async function deltaReach(
  saver: TierSaver,
  outline: Outline,
  { record }: Node,
): Promise<Pick<ForkTip, "ancestors" | "until">> {
  const body = await saver.coder.decodeBody(record);
  const channels = valueless(body);
  if (channels.length === 0) return { ancestors: 0 };
  const { counters_since_delta_snapshot: counted = {} } = await saver.coder.metadata(record, body);
  if (channels.every((channel) => Object.hasOwn(counted, channel)))
    return { ancestors: Number.POSITIVE_INFINITY, until: channels.map(snapshotTerm) };
  const nodes = await outline.nodes(record.namespace);
  return { ancestors: (await deltaAncestors(saver, nodes, record)).length };
}

/**
 * The positions of the pending writes that are copied with a tip: all current ones, or, if its step is rewound, those that were
 * current when the step first interrupted.
 */
async function placesOf(saver: TierSaver, { node, rewound }: Tip): Promise<number[]> {
  const counts = currentWrites(node.writes);
  const taken = new Set(rewound ? await firstAsked(saver.coder, node.record, counts) : counts);
  return [...node.writes.keys()].filter((place) => taken.has(node.writes[place]!));
}
