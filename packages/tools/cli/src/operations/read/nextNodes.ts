import { TASKS } from "@langchain/langgraph-checkpoint";
import { dueNodes, isControlChannel, sentTo } from "@stratigraph/core/internal";
import { contentOf } from "../values/records.ts";
import type { State } from "../values/state.ts";
import { jsonOf } from "../values/view.ts";
import { nodeOfPath, placeOfPath } from "./taskPaths.ts";

/** The nodes that are due at a checkpoint. @param ended the paths of tasks that have ended since, which are left out */
export async function dueNodesOf(state: State, ended?: readonly string[]): Promise<string[]> {
  const control = new Map<string, unknown>();
  for (const name of state.channels().filter(isControlChannel)) {
    const found = await state.channel(name);
    if (found !== undefined) control.set(name, jsonOf(found.stored)?.value);
  }
  return nextNodes(control, ended);
}

/**
 * The nodes that are due, by the names and JSON of the control channels that have values. A node is due as long as one of its tasks is.
 * @param ended the paths of tasks that have ended since, which are left out
 */
export function nextNodes(channels: ReadonlyMap<string, unknown>, ended: readonly string[] = []): string[] {
  const pulled = new Set(ended.map(nodeOfPath));
  const sent = new Set(ended.map(placeOfPath));
  const due = [...channels].flatMap(([name, json]) =>
    waitsForOthers(json)
      ? []
      : name === TASKS
        ? sendsTo(json).filter((_, place) => !sent.has(place))
        : dueNodes([[name, json]]).filter((node) => !pulled.has(node)),
  );
  return [...new Set(due)];
}

/** Whether a control channel is that of a deferred node, `[value, finished]`, which runs when no other node is due. */
function waitsForOthers(json: unknown): boolean {
  return Array.isArray(json) && json.length === 2 && json[1] === false;
}

/** The nodes that Sends go to, by their JSON. */
export function sendsTo(json: unknown): string[] {
  return sentTo(sendsIn(json));
}

function sendsIn(json: unknown): unknown {
  return [json].flat(2).map(contentOf);
}
