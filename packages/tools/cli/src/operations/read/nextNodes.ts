import { TASKS } from "@langchain/langgraph-checkpoint";
import { dueNodes, isControlChannel, sentTo } from "@stratigraph/core/internal";
import { contentOf } from "../values/records.ts";
import type { State } from "../values/state.ts";
import { jsonOf } from "../values/view.ts";

/** The nodes that are due at a checkpoint, whether or not they have ended since. */
export async function dueNodesOf(state: State): Promise<string[]> {
  const control = new Map<string, unknown>();
  for (const name of state.channels().filter(isControlChannel)) {
    const found = await state.channel(name);
    if (found !== undefined) control.set(name, jsonOf(found.stored)?.value);
  }
  return nextNodes(control);
}

/** The nodes that are due, by the names and JSON of the control channels that have values. */
export function nextNodes(channels: ReadonlyMap<string, unknown>): string[] {
  return dueNodes([...channels].map(([name, json]) => [name, name === TASKS ? sendsIn(json) : json]));
}

/** The nodes that Sends go to, by their JSON. */
export function sendsTo(json: unknown): string[] {
  return sentTo(sendsIn(json));
}

function sendsIn(json: unknown): unknown {
  return [json].flat(2).map(contentOf);
}
