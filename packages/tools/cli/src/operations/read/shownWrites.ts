import { ERROR, INTERRUPT, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import type { ReadPoint } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { z } from "zod";
import type { Redaction } from "../values/redaction.ts";
import { shownError } from "../values/shownError.ts";
import { jsonOf, shownValue, valueView, type Shown } from "../values/view.ts";
import { sendsTo } from "./nextNodes.ts";
import { nodeOfPath } from "./nodes.ts";

const kind = z.enum(["write", "interrupt", "resume", "error"]);

/** What a task wrote to a channel, as operations show it. */
export const taskWrite = z.object({
  task: z.string(),
  node: z.string().optional(),
  kind,
  channel: z.string(),
  ...valueView.shape,
});

/** A task's write that was read, but isn't cut yet. */
export interface ShownWrite {
  readonly task: string;
  readonly node: string | undefined;
  readonly kind: z.output<typeof kind>;
  readonly channel: string;
  readonly shown: Shown;
}

const kinds: Readonly<Record<string, ShownWrite["kind"]>> = {
  [INTERRUPT]: "interrupt",
  [RESUME]: "resume",
  [ERROR]: "error",
};

/**
 * The writes that are stored with a checkpoint, in the order in which LangGraph applies them.
 * @param child if given, returns the writes that this child of the checkpoint was made from, instead of the pending ones
 */
export async function shownWrites(
  saver: TierSaver,
  { at, stored, body }: ReadPoint,
  redaction: Redaction,
  child?: ReadPoint,
): Promise<ShownWrite[]> {
  const { record, writes, blobs } = stored;
  const made =
    child === undefined ? undefined : { checkpointId: child.at.checkpointId, consumed: child.body.consumed };
  const sends = body.manifest.get(TASKS)?.value;
  const sent =
    sends === undefined ? [] : sendsTo(jsonOf(await saver.coder.serialized(at, TASKS, sends, blobs))?.value);
  const found: ShownWrite[] = [];
  for (const { taskId: task, taskPath, channel, value } of await saver.coder.writes.unrevived(
    record,
    writes,
    made,
  )) {
    const typed = await saver.coder.serialized(at, channel, value, blobs);
    const kind = Object.hasOwn(kinds, channel) ? kinds[channel]! : "write";
    const node = nodeOfPath(taskPath) ?? sentNode(taskPath, sent);
    const shown = kind === "error" ? shownError(typed, redaction) : shownValue(channel, typed, redaction)!;
    found.push({ task, node, kind, channel, shown });
  }
  return found;
}

/** The node of a task that was sent. The task's path has its position among the sent ones. */
function sentNode(taskPath: string, sent: readonly string[]): string | undefined {
  const place = /^~__pregel_push, (\d+), 0+$/.exec(taskPath)?.[1];
  return place === undefined ? undefined : sent[Number(place)];
}
