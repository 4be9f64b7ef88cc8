import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button, IconButton } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Pill, type Tone } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Table, type Column } from "../../design/Table.tsx";
import { commandText } from "../../design/commandText.ts";
import { countText } from "../../design/units.ts";
import { outcomeText } from "../../design/words.ts";
import { href, route, setQuery } from "../../router.ts";
import { alike, leastOf } from "./leastOf.ts";
import "./compare.css";

type Summary = OutputOf<"compare">["threads"][number];

const tones: Readonly<Record<Summary["outcome"], Tone>> = {
  finished: "green",
  interrupted: "amber",
  failed: "red",
  unfinished: "blue",
};

/** Several threads side by side, to compare the prompts or strategies that were tried in them. */
export function CompareView(): VNode {
  const threads = route.value.query.getAll("threads");
  const compared = useResource(threads.length === 0 ? undefined : JSON.stringify(threads), (signal) =>
    call("compare", { threads }, { signal }),
  );
  const found = threads.length === 0 ? [] : (compared.data?.threads ?? []);
  return (
    <div class="page compare">
      <header class="page-head">
        <h1>Compare threads</h1>
        <div class="spacer" />
        {threads.length === 0 ? null : (
          <CopyMenu
            cli={commandText("compare", threads)}
            code={`const { threads } = await compare(checkpointer, ${JSON.stringify(threads)});`}
          />
        )}
      </header>
      <AddThread threads={threads} />
      {compared.error === undefined ? null : <ErrorBox error={compared.error} onRetry={compared.reload} />}
      {threads.length === 0 ? (
        <Empty title="Nothing to compare yet" icon="compare">
          <p>
            Add threads by their ids, such as a thread and its forks. A fork and its source are compared by
            what each did since they parted.
          </p>
        </Empty>
      ) : compared.data === undefined && compared.error === undefined ? (
        <Skeleton rows={4} />
      ) : (
        <>
          <Table
            label="What the threads did"
            columns={columnsOf(found, threads)}
            rows={found}
            keyOf={({ threadId, checkpointId }, n) => `${n} ${threadId} ${checkpointId}`}
          />
          {alike(found) ? null : (
            <p class="faint">
              They are counted from different checkpoints, as they have no fork in common: the numbers can't
              be compared.
            </p>
          )}
          {found.length > 1 ? <Ends found={found} /> : null}
        </>
      )}
    </div>
  );
}

function AddThread({ threads }: { readonly threads: readonly string[] }): VNode {
  const [text, setText] = useState("");
  const add = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    setQuery({ threads: [...threads, text.trim()] });
    setText("");
  };
  return (
    <form class="compare-add" onSubmit={add}>
      <label class="unseen" for="compare-thread">
        Thread to add
      </label>
      <input
        id="compare-thread"
        class="input mono"
        value={text}
        placeholder="Id of a thread, or thread@step:4"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Button submit icon="plus" disabled={text.trim() === ""}>
        Add
      </Button>
    </form>
  );
}

function columnsOf(found: readonly Summary[], threads: readonly string[]): Column<Summary>[] {
  const least = {
    steps: leastOf(found, ({ steps }) => steps),
    tokens: leastOf(found, ({ tokens }) => tokens.total),
    time: leastOf(found, ({ durationMs }) => durationMs),
  };
  const number = (value: number, text: string, best: number | undefined) =>
    value === best ? <strong title="The least">{text}</strong> : <span>{text}</span>;
  return [
    {
      id: "thread",
      head: "Thread",
      cell: ({ threadId, checkpointId, since }) => (
        <span class="compare-thread">
          <a class="mono" href={href("checkpoint", { thread: threadId, checkpoint: checkpointId })}>
            {threadId}
          </a>
          {since === undefined ? null : (
            <span class="faint" title="Where counting starts">
              since <span class="mono">{since.slice(0, 13)}</span>
            </span>
          )}
        </span>
      ),
    },
    {
      id: "outcome",
      head: "Outcome",
      cell: ({ outcome }) => <Pill tone={tones[outcome]}>{outcomeText(outcome)}</Pill>,
    },
    {
      id: "steps",
      head: "Steps",
      align: "right",
      cell: ({ steps }) => number(steps, countText(steps), least.steps),
    },
    {
      id: "calls",
      head: "Tool calls",
      cell: ({ toolCalls }) => (
        <span class="compare-calls">
          {Object.entries(toolCalls).map(([name, count]) => (
            <Pill key={name} tone="violet">
              <span class="mono">{name}</span>
              {count === 1 ? "" : ` ×${count}`}
            </Pill>
          ))}
          {Object.keys(toolCalls).length === 0 ? <span class="faint">none</span> : null}
        </span>
      ),
    },
    {
      id: "tokens",
      head: "Tokens",
      align: "right",
      cell: ({ tokens }) => (
        <span title={`${countText(tokens.input)} in, ${countText(tokens.output)} out`}>
          {number(tokens.total, countText(tokens.total), least.tokens)}
        </span>
      ),
    },
    {
      id: "time",
      head: "Time",
      align: "right",
      cell: ({ durationMs }) => number(durationMs, timeText(durationMs), least.time),
    },
    {
      id: "remove",
      head: <span class="unseen">Remove</span>,
      cell: ({ threadId }, n) => (
        <IconButton
          icon="close"
          label={`Take ${threadId} out of the comparison`}
          onClick={() => setQuery({ threads: threads.filter((_, index) => index !== n) })}
        />
      ),
    },
  ];
}

/** The end of each thread, side by side, with its actions. */
function Ends({ found }: { readonly found: readonly Summary[] }): VNode {
  const [first] = found;
  return (
    <section class="compare-ends" aria-label="How the threads ended">
      {found.map(({ threadId, checkpointId, last, outcome }, n) => (
        <article key={`${n} ${threadId}`} class="card compare-end">
          <h2 class="mono">{threadId}</h2>
          <p class={last === undefined ? "faint compare-last" : "compare-last"}>
            {last ?? `No message (${outcomeText(outcome)}).`}
          </p>
          <footer>
            {n === 0 ? (
              <span class="faint">The others are compared with this one.</span>
            ) : (
              <>
                <a
                  href={href(
                    "diff",
                    {},
                    { a: `${first!.threadId}@${first!.checkpointId}`, b: `${threadId}@${checkpointId}` },
                  )}
                >
                  Diff
                </a>
                <a href={href("merge", { thread: first!.threadId }, { from: threadId })}>
                  Merge into the first
                </a>
              </>
            )}
          </footer>
        </article>
      ))}
    </section>
  );
}

function timeText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
