import { TASKS } from "@langchain/langgraph-checkpoint";
import { isControlChannel, isJoined } from "@stratigraph/core/internal";
import { contentOf, isObject } from "../values/records.ts";
import type { State } from "../values/state.ts";
import { jsonOf } from "../values/view.ts";

/** The nodes that are due at a checkpoint, whether or not they have ended since. */
export async function dueNodes(state: State): Promise<string[]> {
  const control = new Map<string, unknown>();
  for (const name of state.channels().filter(isControlChannel)) {
    const found = await state.channel(name);
    if (found !== undefined) control.set(name, jsonOf(found.stored)?.value);
  }
  return nextNodes(control);
}

/**
 * The nodes that are due at a checkpoint, as far as its control channels show without the graph: LangGraph clears the used ones.
 * @param channels names and JSON of the control channels that have values
 */
export function nextNodes(channels: ReadonlyMap<string, unknown>): string[] {
  const due = new Set<string>();
  for (const [name, value] of channels) {
    if (name === "__start__") due.add(name);
    else if (name === TASKS) for (const node of sendsTo(value)) due.add(node);
    else if (name.startsWith("branch:to:")) due.add(name.slice("branch:to:".length));
    else if (name.startsWith("join:") && isJoined(name, value))
      due.add(name.slice(name.lastIndexOf(":") + 1));
  }
  return [...due];
}

/** The nodes that Sends go to, in the order in which they were sent. */
export function sendsTo(tasks: unknown): string[] {
  if (!Array.isArray(tasks)) return [];
  return tasks.flat().flatMap((send: unknown) => {
    const content = contentOf(send);
    return isObject(content) && typeof content["node"] === "string" ? [content["node"]] : [];
  });
}
