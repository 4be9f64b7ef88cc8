import {
  NotFoundError,
  snapshotTag,
  type Address,
  type CheckpointRecord,
  type ForkTip,
  type StoredWriteBatch,
  type TierSaver,
} from "@stratigraph/core";
import { deltaAncestors, valueless } from "./deltaAncestors.ts";
import { INTERRUPT, RESUME } from "./langgraph.ts";
import { line } from "./line.ts";
import type { Node, Outline } from "./outline.ts";

/** A checkpoint to fork from, as far as planning looks at it. */
export interface ForkPoint {
  readonly threadId: string;
  readonly rootId: string;
  /** Set where the fork begins at a subgraph's checkpoint: that, too, is taken as it is. */
  readonly inner?: Node | undefined;
}

/** A namespace's head in the fork, and whether its pending writes are wound back to when it first asked. */
interface Tip {
  readonly node: Node;
  readonly rewound: boolean;
}

/** A tip, and its record. */
export interface PlannedTip extends ForkTip {
  readonly node: Node;
}

/**
 * What a thread needs that begins at a checkpoint: that one, the ancestors its DeltaChannels are rebuilt from, pending
 * writes, and the subgraphs as they were at that point; with `history: "full"` all ancestors too.
 * @throws NotFoundError
 */
export async function forkTips(
  saver: TierSaver,
  { threadId, rootId, inner }: ForkPoint,
  outline: Outline,
  history: "needed" | "full",
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
    const tip = await subgraphTip(saver, outline, head, { rootId, ancestors, full });
    if (tip !== undefined) tips.push(tip);
  }
  return await Promise.all(
    tips.map(async ({ node, rewound }): Promise<PlannedTip> => {
      const { namespace, checkpointId } = node.record;
      const writes = rewound ? await whenFirstAsked(saver, node) : [...node.writes.keys()];
      const reach = full ? { ancestors: Number.POSITIVE_INFINITY } : await deltaReach(saver, outline, node);
      return { namespace, checkpointId, writes, ...reach, node };
    }),
  );
}

async function idsOf(outline: Outline, rootId: string): Promise<ReadonlySet<string>> {
  return new Set(line(await outline.nodes(""), rootId).map(({ checkpointId }) => checkpointId));
}

/** Where a subgraph's namespace stood at a root checkpoint; undefined where it hadn't begun, or is spent. */
async function subgraphTip(
  saver: TierSaver,
  outline: Outline,
  head: Node,
  at: { rootId: string; ancestors: () => Promise<ReadonlySet<string>>; full: boolean },
): Promise<Tip | undefined> {
  const { continued } = outline;
  const outer = await outerOf(saver, head.record);
  // A namespace that names a task is that task's alone, and so its root checkpoint's; others go on from step to step.
  const persists = !head.record.namespace.includes(":");
  if (outer === at.rootId && !continued) return { node: head, rewound: false };
  if (outer !== at.rootId) {
    if (!persists && !at.full) return undefined;
    if (outer !== undefined && (await at.ancestors()).has(outer)) return { node: head, rewound: false };
    if (!persists) return undefined;
  }
  let asked: Node | undefined;
  for (const node of (await outline.nodes(head.record.namespace)).values()) {
    if (node.record.lostTo !== undefined) continue;
    const outer = await outerOf(saver, node.record);
    if (outer === at.rootId) {
      if (!continued) return { node, rewound: false };
      // The step went on since: the fork is to find it as it was when it first asked, or not begun.
      if ((await saver.coder.writtenChannels(node.record, node.writes)).has(INTERRUPT)) asked = node;
      continue;
    }
    if (asked !== undefined) break;
    if (!persists && !at.full) continue;
    if (outer !== undefined && (await at.ancestors()).has(outer)) return { node, rewound: false };
  }
  return asked === undefined ? undefined : { node: asked, rewound: true };
}

async function outerOf(saver: TierSaver, record: CheckpointRecord): Promise<string | undefined> {
  const { parents = {} } = await saver.coder.metadata(record, await saver.coder.decodeBody(record));
  return parents[""];
}

/**
 * How far back a checkpoint's DeltaChannels reach. LangGraph counts the steps of those it runs: these reach back to their
 * newest snapshot. After `updateState` it doesn't, and their ancestors are looked through.
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
    return { ancestors: Number.POSITIVE_INFINITY, until: channels.map(snapshotTag) };
  const nodes = await outline.nodes(record.namespace);
  return { ancestors: (await deltaAncestors(saver, nodes, record)).length };
}

/**
 * Places of the pending writes of a step that went on since, as they were when each of its interrupted tasks first asked:
 * an answer given later, and what came of it, stay behind. Where nothing asked, the step runs again, with no writes.
 */
async function whenFirstAsked(saver: TierSaver, { record, writes }: Node): Promise<number[]> {
  const at: Address = record;
  const channels = await Promise.all(
    writes.map((batch: StoredWriteBatch) => saver.coder.writtenChannels(at, [batch])),
  );
  const asked = new Map<string, number>();
  for (const [index, { taskId }] of writes.entries())
    if (channels[index]!.has(INTERRUPT) && !asked.has(taskId)) asked.set(taskId, index);
  if (asked.size === 0) return [];
  return [...writes.keys()].filter((index) => {
    if (channels[index]!.has(RESUME)) return false;
    return index <= (asked.get(writes[index]!.taskId) ?? index);
  });
}
