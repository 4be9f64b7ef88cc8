import type { InputOf, OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Answers } from "../../answers/Answers.tsx";
import { call, may, session, type ApiError } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { callLive } from "../../api/live.ts";
import { errorFrom, useResource } from "../../api/resource.ts";
import { jsonProblem } from "../../changes/jsonProblem.ts";
import { NeedsGraphs, NeedsRight } from "../../changes/needs.tsx";
import { Button } from "../../design/Button.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field } from "../../design/Field.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Outcome } from "./Outcome.tsx";
import { emptyTimeline, ended, told, type Timeline } from "./timeline.ts";
import { TimelineList } from "./TimelineList.tsx";

interface RunPanelProps {
  readonly thread: string;
  /** Undefined if one has yet to be chosen, or there is none. */
  readonly graph: string | undefined;
}

/** Continues a thread and shows it live: one step, to the end, or with an answer. */
export function RunPanel({ thread, graph }: RunPanelProps): VNode {
  const [timeline, setTimeline] = useState<Timeline>(emptyTimeline);
  const [running, setRunning] = useState<AbortController>();
  const [error, setError] = useState<ApiError>();
  const [last, setLast] = useState<OutputOf<"run">>();
  const current = useRef<AbortController>(undefined);
  const plan = useResource(graph === undefined ? undefined : `${graph} plan ${thread}`, (signal) =>
    call("run", { at: thread, graph, dryRun: true }, { signal }),
  );
  useChanges(thread, () => {
    if (current.current === undefined) plan.reload();
  });
  // Leaving the page stops its run, because nobody would see the run.
  useEffect(() => () => current.current?.abort(), []);
  if ((session.value?.graphs ?? []).length === 0) return <NeedsGraphs what="Running on" />;
  if (graph === undefined) return <p class="dim">Choose a graph to run it on.</p>;
  const run = async (input: Partial<InputOf<"run">>) => {
    const controller = new AbortController();
    current.current = controller;
    setRunning(controller);
    setError(undefined);
    try {
      const output = await callLive(
        "run",
        { ...input, at: thread, graph },
        { signal: controller.signal, onEvent: (event) => setTimeline((before) => told(before, event)) },
      );
      setLast(output);
    } catch (thrown) {
      if (controller.signal.aborted) setLast(undefined);
      else setError(errorFrom(thrown));
    }
    current.current = undefined;
    setTimeline(ended);
    setRunning(undefined);
    plan.reload();
  };
  const { next = [], interrupts = [] } = plan.data ?? {};
  const waits = interrupts.length > 0;
  const busy = running !== undefined;
  return (
    <section class="run" aria-labelledby="run-heading">
      <header class="run-head">
        <h2 id="run-heading">Run it on</h2>
        {plan.data === undefined ? null : <Next next={next} waits={waits} busy={busy} />}
      </header>
      {plan.error === undefined ? null : <ErrorBox error={plan.error} onRetry={plan.reload} />}
      {may("write") ? null : <NeedsRight />}
      {plan.data === undefined && plan.error === undefined ? <Skeleton rows={2} /> : null}
      {plan.data !== undefined && may("write") && (busy || (next.length > 0 && !waits)) ? (
        <div class="actions">
          {busy ? (
            <Button tone="danger" icon="stop" onClick={() => running.abort()}>
              Stop
            </Button>
          ) : (
            <>
              <Button tone="primary" icon="step" onClick={() => void run({ steps: 1 })}>
                Run one step
              </Button>
              <Button icon="play" onClick={() => void run({})}>
                Run to the end
              </Button>
            </>
          )}
        </div>
      ) : null}
      {waits && may("write") ? (
        // It stays while the answer is tried: one that is refused isn't filled in again.
        <div hidden={busy}>
          <Answers
            interrupts={interrupts}
            disabled={busy}
            refused={error?.fields}
            onAnswer={(given) => void run(given)}
          />
        </div>
      ) : null}
      {error === undefined ? null : <ErrorBox error={error} />}
      {timeline.nodes.length === 0 ? null : <TimelineList timeline={timeline} />}
      {busy || last === undefined ? null : <Outcome output={last} />}
      {plan.data !== undefined && !busy && may("write") && !waits ? (
        <NewInput onRun={(input) => void run({ input })} />
      ) : null}
    </section>
  );
}

interface NextProps {
  readonly next: readonly string[];
  readonly waits: boolean;
  readonly busy: boolean;
}

function Next({ next, waits, busy }: NextProps): VNode {
  if (busy) return <Pill tone="blue">running</Pill>;
  if (next.length === 0) return <span class="faint">Nothing is due: its last run is done.</span>;
  return (
    <span class="run-next" data-testid="next-nodes">
      <span class="dim">{waits ? "Waits in" : "Next"}</span>
      {next.map((node) => (
        <Pill key={node} tone={waits ? "amber" : "blue"}>
          <span class="mono">{node}</span>
        </Pill>
      ))}
      {waits ? null : <span class="faint">Nodes really run: they call models and tools.</span>}
    </span>
  );
}

/** Starts a new run with its own input. */
function NewInput({ onRun }: { readonly onRun: (input: string) => void }): VNode {
  const [input, setInput] = useState("");
  const problem = input.trim() === "" ? undefined : jsonProblem(input);
  return (
    <details class="run-input">
      <summary>Run it with a new input</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onRun(input);
        }}
      >
        <Field
          label="Input"
          value={input}
          onInput={setInput}
          rows={4}
          mono
          placeholder={'{"messages": [{"role": "user", "content": "…"}]}'}
          error={problem}
        />
        <div class="actions">
          <Button submit icon="play" disabled={input.trim() === "" || problem !== undefined}>
            Run with this input
          </Button>
        </div>
      </form>
    </details>
  );
}
