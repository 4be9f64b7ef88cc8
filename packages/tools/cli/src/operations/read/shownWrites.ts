import { ERROR, INTERRUPT, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import type { ReadPoint } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { taskStates } from "@stratigraph/core/internal";
import { z } from "zod";
import type { Redaction } from "../values/redaction.ts";
import { shownError } from "../values/shownError.ts";
import { jsonOf, shownValue, valueView, type Shown } from "../values/view.ts";
import { sendsTo } from "./nextNodes.ts";
import { nodeOfPath, placeOfPath } from "./taskPaths.ts";

const kind = z.enum(["write", "interrupt", "resume", "error"]);

/** How a task stands. */
export const taskOutcome = z
  .enum(["done", "interrupted", "failed", "answered"])
  .describe("How the task stands. answered: it asked, was answered, and hasn't ended since.");

/** What a task wrote to a channel, as operations show it. */
export const taskWrite = z.object({
  task: z.string(),
  node: z.string().optional(),
  outcome: taskOutcome,
  kind,
  channel: z.string(),
  ...valueView.shape,
});

/** A task's write that was read, but isn't cut yet. */
export interface ShownWrite {
  readonly task: string;
  /** LangGraph's path of the task. */
  readonly path: string;
  readonly node: string | undefined;
  readonly outcome: z.output<typeof taskOutcome>;
  readonly kind: z.output<typeof kind>;
  readonly channel: string;
  readonly shown: Shown;
}

const kinds: Readonly<Record<string, ShownWrite["kind"]>> = {
  [INTERRUPT]: "interrupt",
  [RESUME]: "resume",
  [ERROR]: "error",
};

const outcomeNames: Readonly<Record<string, ShownWrite["outcome"]>> = {
  waiting: "interrupted",
  failed: "failed",
  answered: "answered",
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
  const { outcomes } = await taskStates(saver, stored, made);
  const found: ShownWrite[] = [];
  for (const { taskId: task, taskPath: path, channel, value } of await saver.coder.writes.unrevived(
    record,
    writes,
    made,
  )) {
    const typed = await saver.coder.serialized(at, channel, value, blobs);
    const kind = Object.hasOwn(kinds, channel) ? kinds[channel]! : "write";
    const node = nodeOfPath(path) ?? sent[placeOfPath(path) ?? -1];
    const outcome = outcomeNames[outcomes.get(task) ?? "ended"] ?? "done";
    const shown = kind === "error" ? shownError(typed, redaction) : shownValue(channel, typed, redaction)!;
    found.push({ task, path, node, outcome, kind, channel, shown });
  }
  return found;
}
