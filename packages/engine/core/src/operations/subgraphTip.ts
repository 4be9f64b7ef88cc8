import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { currentWrites } from "./currentWrites.ts";
import type { Node, Outline } from "./threadOutline.ts";
import type { CheckpointRecord } from "../contract/tier.ts";

/** The checkpoint that was a namespace's newest at some time. */
export interface Tip {
  readonly node: Node;
  /** Whether its pending writes are to be wound back to its first interrupt. */
  readonly rewound: boolean;
}

/**
 * Where a subgraph's namespace stood at the outline's root checkpoint; undefined if it hadn't begun, or its task had ended.
 *
 * @param ancestors ids of the root checkpoint and those it descends from
 * @param spent whether to answer also for namespaces whose tasks had ended before the root checkpoint
 */
export async function subgraphTip(
  coder: CheckpointCoder,
  outline: Outline,
  head: Node,
  { ancestors, spent }: { ancestors: () => Promise<ReadonlySet<string>>; spent: boolean },
): Promise<Tip | undefined> {
  const { continued } = outline;
  const rootId = outline.root?.record.checkpointId;
  const outer = await outerOf(coder, head.record);
  // A namespace that names a task belongs to that task alone, and so to one root checkpoint. Other namespaces stay from step to step.
  const persists = !head.record.namespace.includes(":");
  if (outer === rootId && !continued) return { node: head, rewound: false };
  if (outer !== rootId) {
    if (!persists && !spent) return undefined;
    if (outer !== undefined && (await ancestors()).has(outer)) return { node: head, rewound: false };
    if (!persists) return undefined;
  }
  let asked: Node | undefined;
  for (const node of (await outline.nodes(head.record.namespace)).values()) {
    if (node.record.lostTo !== undefined) continue;
    const made = await outerOf(coder, node.record);
    if (made === rootId) {
      if (!continued) return { node, rewound: false };
      // The step went on since: the subgraph stood at its first interrupt, or else it counts as not begun.
      const written = await coder.writes.channels(node.record, currentWrites(node.writes));
      if (written.has(INTERRUPT)) asked = node;
      continue;
    }
    if (asked !== undefined) break;
    if (!persists && !spent) continue;
    if (made !== undefined && (await ancestors()).has(made)) return { node, rewound: false };
  }
  return asked === undefined ? undefined : { node: asked, rewound: true };
}

/** The root checkpoint whose step a subgraph's checkpoint belongs to. */
export async function outerOf(coder: CheckpointCoder, record: CheckpointRecord): Promise<string | undefined> {
  const { parents = {} } = await coder.metadata(record, await coder.decodeBody(record));
  return parents[""];
}
