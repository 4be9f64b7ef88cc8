import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Answers, type GivenAnswers } from "../../answers/Answers.tsx";
import { call, session, type ApiError } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { callLive } from "../../api/live.ts";
import { errorFrom, useResource } from "../../api/resource.ts";
import { chosenGraph, GraphSelect, NeedsGraphs } from "../../changes/needs.tsx";
import { Button } from "../../design/Button.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { toast } from "../../design/Toast.tsx";

interface InboxAnswerProps {
  readonly thread: string;
  /** Called once nothing is left to answer here: it was answered, here or elsewhere. */
  readonly onDone: () => void;
}

/** Answers a thread's questions, and runs it on. */
export function InboxAnswer({ thread, onDone }: InboxAnswerProps): VNode {
  const [chosen, setChosen] = useState("");
  const [error, setError] = useState<ApiError>();
  const [running, setRunning] = useState<AbortController>();
  const current = useRef<AbortController>(undefined);
  const graph = chosenGraph(chosen);
  const plan = useResource(graph === undefined ? undefined : `${graph} inbox ${thread}`, (signal) =>
    call("run", { at: thread, graph, dryRun: true }, { signal }),
  );
  const { data } = plan;
  // As the list does: watching one thread more would open the stream of changes again, and what changes meanwhile isn't in it.
  useChanges(undefined, () => {
    if (current.current === undefined) plan.reload();
  });
  useEffect(() => {
    if (data === undefined || data.interrupts.length > 0 || current.current !== undefined) return;
    toast(`${thread} was answered meanwhile.`, "red");
    onDone();
  }, [data]);
  // Leaving the page stops its run, because nobody would see the run.
  useEffect(() => () => current.current?.abort(), []);
  if ((session.value?.graphs ?? []).length === 0) return <NeedsGraphs what="Answering" />;
  const answer = async (given: GivenAnswers): Promise<void> => {
    const controller = new AbortController();
    current.current = controller;
    setRunning(controller);
    setError(undefined);
    try {
      const { signal } = controller;
      tell(thread, await callLive("run", { ...given, at: thread, graph }, { signal }));
      return onDone();
    } catch (thrown) {
      const refusal = errorFrom(thrown);
      if (refusal.code === "NOT_WAITING") toast(`This came too late. ${refusal.message}`, "red");
      else if (!controller.signal.aborted) setError(refusal);
    }
    current.current = undefined;
    setRunning(undefined);
    plan.reload();
  };
  const busy = running !== undefined;
  return (
    <div class="inbox-answer">
      <GraphSelect value={chosen} onChange={setChosen} />
      {plan.error === undefined ? null : <ErrorBox error={plan.error} onRetry={plan.reload} />}
      {data === undefined ? (
        graph === undefined || plan.error !== undefined ? null : (
          <Skeleton rows={2} />
        )
      ) : (
        <Answers
          interrupts={data.interrupts}
          disabled={busy}
          refused={error?.fields}
          onAnswer={(given) => void answer(given)}
        />
      )}
      {busy ? (
        <div class="actions">
          <Button tone="danger" icon="stop" onClick={() => running.abort()}>
            Stop
          </Button>
        </div>
      ) : null}
      {error === undefined ? null : <ErrorBox error={error} />}
    </div>
  );
}

function tell(thread: string, { outcome, error }: OutputOf<"run">): void {
  if (outcome === "failed")
    toast(`${thread} failed. ${error?.name ?? "Error"}: ${error?.message ?? "(redacted)"}`, "red");
  else if (outcome === "interrupted") toast(`${thread} asks again.`);
  else
    toast(outcome === "paused" ? `${thread} was answered, and pauses.` : `${thread} was answered.`, "green");
}
