import type { ThreadStatus } from "@stratigraph/core";
import { statusFrom, type TaskOutcome } from "@stratigraph/core/internal";
import { checkpointKey, type AppendWritesRequest } from "@stratigraph/core/tier";
import type { Head, Standing } from "./head.ts";
import type { ThreadView } from "./threadView.ts";

/** How many root checkpoints' outcomes a head has at most: its own, and those that pending writes came to before they are the head. */
const mostCheckpoints = 4;

/** The status that a head says; undefined if it isn't known. */
export function statusIn({ standing, revision }: Head): ThreadStatus | undefined {
  return standing?.revision === revision ? standing.status : undefined;
}

/** A view after a change, with how the thread stands now. @param added a batch of pending writes that was added */
export function withStanding(
  before: ThreadView,
  next: ThreadView,
  added?: Pick<AppendWritesRequest, "namespace" | "checkpointId" | "taskId" | "outcome">,
): ThreadView {
  const known = before.head.standing?.revision === before.head.revision ? before.head.standing : undefined;
  const outcomes = new Map((known?.outcomes ?? []).map(([id, batches]) => [id, [...batches]]));
  if (added?.namespace === "") {
    const { checkpointId, taskId, outcome = "" } = added;
    outcomes.set(checkpointId, [...(outcomes.get(checkpointId) ?? []), [taskId, outcome]]);
  }
  const { head } = next;
  const kept = [...outcomes].filter(
    ([checkpointId], place) =>
      checkpointId === head.heads.get("") || place >= outcomes.size - mostCheckpoints,
  );
  const status = statusOf(next, new Map(kept));
  const standing: Standing = {
    revision: head.revision,
    outcomes: kept,
    ...(status === undefined ? {} : { status }),
  };
  return { ...next, head: { ...head, standing } };
}

function statusOf(
  { head, records, writes }: ThreadView,
  outcomes: ReadonlyMap<string, readonly (readonly [task: string, outcome: string])[]>,
): ThreadStatus | undefined {
  const checkpointId = head.heads.get("");
  if (checkpointId === undefined) return "idle";
  const key = checkpointKey({ namespace: "", checkpointId });
  const told = outcomes.get(checkpointId) ?? [];
  const record = records.get(key);
  if (record === undefined || told.length !== (writes.get(key) ?? []).length) return undefined;
  return statusFrom(
    record.terms,
    told.map(([task, outcome]) => [task, outcome === "" ? undefined : outcome] as TaskOutcome),
  );
}

/** The view with a status that was found for its revision. */
export function withStatus(view: ThreadView, status: ThreadStatus): ThreadView {
  const { revision, standing } = view.head;
  const outcomes = standing?.revision === revision ? standing.outcomes : [];
  return { ...view, head: { ...view.head, standing: { revision, status, outcomes } } };
}
