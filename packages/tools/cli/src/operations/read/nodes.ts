import { INTERRUPT, TASKS } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { jsonOf } from "../values/view.ts";
import { sendsTo } from "./nextNodes.ts";
import { listedCheckpoint, type Opened } from "./records.ts";
import { nodeOfPath } from "./taskPaths.ts";

/** Keys of versions_seen that aren't nodes. */
const noNodes: ReadonlySet<string> = new Set([INTERRUPT, "__snapshot_bumps__", "__input__"]);

/**
 * The nodes that ran between a checkpoint and its parent: those that saw newer versions of their triggers since, and those that
 * Sends of the parent went to.
 */
export async function nodesBetween(saver: TierSaver, parent: Opened, { body }: Opened): Promise<string[]> {
  const [before, after] = [parent.body.header.versions_seen, body.header.versions_seen];
  const ran = Object.entries(after)
    .filter(
      ([node, seen]) =>
        !noNodes.has(node) &&
        Object.entries(seen).some(([channel, version]) => before[node]?.[channel] !== version),
    )
    .map(([node]) => node);
  const sends = parent.body.manifest.get(TASKS)?.value;
  if (sends === undefined || body.manifest.get(TASKS)?.version === parent.body.manifest.get(TASKS)?.version)
    return ran;
  const checkpoint = await listedCheckpoint(saver, parent.record);
  if (checkpoint === undefined) return ran;
  const typed = await saver.coder.serialized(parent.record, TASKS, sends, checkpoint.blobs);
  return [...new Set([...ran, ...sendsTo(jsonOf(typed)?.value)])];
}

/**
 * The nodes whose pending writes on a checkpoint name a channel; undefined if the node of any task isn't known: the task was sent, or
 * LangGraph before 1.5 wrote it.
 */
export async function writersOf(
  saver: TierSaver,
  { record, writes }: Opened,
  channel: string,
): Promise<string[] | undefined> {
  const named = await saver.coder.writes.unrevived(record, writes);
  const nodes = named
    .filter((write) => write.channel === channel)
    .map(({ taskPath }) => nodeOfPath(taskPath));
  return nodes.length === 0 || nodes.includes(undefined) ? undefined : (nodes as string[]);
}
