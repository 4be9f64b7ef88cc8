import type { RunEvent } from "../../../src/operations/index.ts";

/** A message that arrived while a node ran, or custom data that the node sent. */
export interface Said {
  readonly id: string | undefined;
  readonly role: string;
  readonly text: string;
  readonly calls: readonly string[];
}

/** One node as it runs, or has run. */
export interface TimelineNode {
  readonly task: string;
  readonly node: string;
  readonly namespace: string;
  readonly state: "running" | "ended" | "failed" | "interrupted" | "stopped";
  readonly ms: number | undefined;
  readonly said: readonly Said[];
}

/** The nodes that ran in a thread, in the order in which they began. */
export interface Timeline {
  readonly nodes: readonly TimelineNode[];
  /** Whether events were left out. */
  readonly omitted: boolean;
}

export const emptyTimeline: Timeline = { nodes: [], omitted: false };

/** The timeline with one more event. */
export function told(timeline: Timeline, event: RunEvent): Timeline {
  const { nodes } = timeline;
  switch (event.type) {
    case "node": {
      const { task, node, namespace, state, ms } = event;
      if (state === "started")
        return { ...timeline, nodes: [...nodes, { task, node, namespace, state: "running", ms, said: [] }] };
      return {
        ...timeline,
        nodes: nodes.map((each) => (isRunning(each, task) ? { ...each, state, ms } : each)),
      };
    }
    case "message": {
      const { id, node, namespace, role, text = "", calls = [] } = event;
      return withSaid(timeline, namespace, node, { id, role, text, calls });
    }
    case "custom":
      return withSaid(timeline, event.namespace, undefined, {
        id: undefined,
        role: "tells",
        text: JSON.stringify(event.value) ?? "",
        calls: [],
      });
    case "omitted":
      return { ...timeline, omitted: true };
    default:
      return timeline;
  }
}

/** The timeline after the end of its run: nodes that were still running count as stopped. */
export function ended(timeline: Timeline): Timeline {
  const nodes = timeline.nodes.map((each): TimelineNode =>
    each.state === "running" ? { ...each, state: "stopped" } : each,
  );
  return { ...timeline, nodes };
}

function isRunning(each: TimelineNode, task: string): boolean {
  return each.task === task && each.state === "running";
}

/** Adds a message to the last node that it can belong to. Successive pieces of one message are joined. */
function withSaid(timeline: Timeline, namespace: string, node: string | undefined, said: Said): Timeline {
  const at = timeline.nodes.findLastIndex(
    (each) => each.namespace === namespace && (node === undefined || node === "" || each.node === node),
  );
  const owner = timeline.nodes[at];
  if (owner === undefined) return timeline;
  const last = owner.said.at(-1);
  const goesOn = last !== undefined && said.id !== undefined && last.id === said.id;
  const added: readonly Said[] = goesOn
    ? [
        ...owner.said.slice(0, -1),
        { ...last, text: last.text + said.text, calls: [...new Set([...last.calls, ...said.calls])] },
      ]
    : [...owner.said, said];
  return { ...timeline, nodes: timeline.nodes.with(at, { ...owner, said: added }) };
}
