import {
  applyMerge,
  merge as mergeThreads,
  type Answers,
  type MergeableGraph,
  type MergeOptions,
  type MergePlan,
  type MergeResult,
} from "@stratigraph/branch";
import { CheckpointConflictError, InvalidOptionError, StratigraphError } from "@stratigraph/core";
import type { ResolvedPoint } from "../table/address.ts";
import type { Complete } from "./complete.ts";

/** A merge as it was asked for. */
interface Wanted {
  readonly thread: string;
  readonly points: readonly ResolvedPoint[];
  readonly plan: MergePlan | undefined;
  readonly answers: Answers;
  /** Ids of the checkpoints that the caller has seen: the head, then the points. Empty: no check. */
  readonly seen: readonly string[];
  readonly how: Complete<MergeOptions>;
}

/**
 * Merges, unless the checkpoints aren't those that the caller has seen.
 * @throws CheckpointConflictError if the thread or what is merged moved on since; otherwise as `merge` and `applyMerge`
 */
export async function heldMerge(graph: MergeableGraph, wanted: Wanted): Promise<MergeResult> {
  const { thread, points, plan: given, answers, seen, how } = wanted;
  const answered = Object.keys(answers).length > 0;
  if (given !== undefined) {
    if (given.target.threadId !== thread)
      throw new InvalidOptionError("plan", `a plan of ${given.target.threadId}`, `Pass a plan of ${thread}.`);
    if (seen.length > 0)
      throw new InvalidOptionError(
        "seen",
        "with a plan",
        "Leave it out: the plan says from which checkpoints it was made.",
      );
    return await answeredMerge(graph, given, answers, how);
  }
  if (points.length === 0)
    throw new InvalidOptionError("from", "nothing", "Name what to merge, or pass a plan.");
  const [head, ...sources] = seen;
  if (head !== undefined) refuseMoved(points, sources);
  // Do a dry run first if its result has to be checked: the head against the one that was seen, and that there are conflicts to answer.
  const looks = answered || head !== undefined;
  const found = await mergeThreads(graph, thread, points, { ...how, dryRun: how.dryRun || looks });
  const at = found.status === "conflict" ? found.plan.target.checkpointId : headOf(found);
  if (head !== undefined && at !== head) throw movedOn(thread, head, at);
  if (!looks) return found;
  if (answered && found.status !== "conflict")
    throw new InvalidOptionError(
      "answers",
      Object.keys(answers).join(", "),
      found.status === "already-merged" ? "It is merged already." : "There is no conflict: leave them out.",
    );
  if (found.status === "conflict")
    return answered ? await answeredMerge(graph, found.plan, answers, how) : found;
  if (how.dryRun || found.status === "already-merged") return found;
  // A plan without conflicts holds the merge to the head that was seen.
  const target = { threadId: thread, checkpointId: at };
  const plan: MergePlan = { version: 1, target, sources: points, bases: [], channels: [] };
  return await applyMerge(graph, plan, {}, how);
}

function headOf({ config }: Exclude<MergeResult, { readonly status: "conflict" }>): string {
  return config.configurable.checkpoint_id;
}

/** @throws CheckpointConflictError if a source isn't what was seen */
function refuseMoved(points: readonly ResolvedPoint[], seen: readonly string[]): void {
  if (seen.length !== points.length)
    throw new InvalidOptionError(
      "seen",
      `${seen.length} checkpoints besides the head`,
      `Pass the ids that the dry run returned: ${points.length} besides the head.`,
    );
  for (const [n, { threadId, checkpointId }] of points.entries())
    if (seen[n] !== checkpointId) throw movedOn(threadId, seen[n]!, checkpointId);
}

function movedOn(threadId: string, seen: string, head: string): CheckpointConflictError {
  return new CheckpointConflictError(
    { threadId, namespace: "", checkpointId: seen, head, expected: [seen] },
    `The merge was refused: thread ${JSON.stringify(threadId)} went on to ${head}, from ${seen}, since it was looked at. ` +
      "Nothing was written. Look at the merge again, and decide on what is there now.",
  );
}

/** Applies a plan. If channels are left without an answer, returns the conflict again instead of throwing. */
async function answeredMerge(
  graph: MergeableGraph,
  plan: MergePlan,
  answers: Answers,
  how: MergeOptions,
): Promise<MergeResult> {
  try {
    return await applyMerge(graph, plan, answers, how);
  } catch (error) {
    if (StratigraphError.is(error, "MERGE_CONFLICT")) return { status: "conflict", plan };
    throw error;
  }
}
