import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { waitsText } from "../../design/words.ts";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Id } from "../../design/Texts.tsx";
import { bytesText } from "../../design/units.ts";
import { href } from "../../router.ts";
import { Conversation } from "../../values/Conversation.tsx";
import { JsonText } from "../../values/JsonText.tsx";
import { isConversation, messageFields } from "../../values/messages.ts";
import { errorOf } from "./errorOf.ts";
import { isOwn, type Shown } from "./shown.ts";

type Written = OutputOf<"writes">;
type Task = Written["made"][number];
type Write = Task["writes"][number];

/** The writes of each node: in the step that made the checkpoint, and since then. */
export function WritesTab({ shown }: { readonly shown: Shown }): VNode {
  const { thread, namespace, checkpoint, step } = shown;
  const key = JSON.stringify(["writes", thread, namespace, checkpoint, shown.writes.length]);
  const { data, error, reload } = useResource(key, (signal) =>
    call("writes", { at: thread, namespace, checkpoint }, { signal }),
  );
  if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
  if (data === undefined) return <Skeleton rows={6} />;
  const { made, pending, parent, parentIsHere } = data;
  return (
    <>
      <section class="step" aria-label="What made this checkpoint">
        <header class="step-head">
          <h3>What made this checkpoint</h3>
          <p class="faint">{`Written in step ${step ?? "?"}, between its parent and it.`}</p>
        </header>
        {made.map((task) => (
          <TaskCard key={task.task} task={task} />
        ))}
        {made.length > 0 ? null : <p class="step-none">{whyNone(shown, parentIsHere)}</p>}
      </section>
      <section class="step" aria-label="What was written since">
        <header class="step-head">
          <h3>What was written after it</h3>
          <p class="faint">
            {step === undefined ? "By the next step." : `By tasks of step ${step + 1}.`} It is in the state of
            the next checkpoint, not of this one.
          </p>
        </header>
        {pending.map((task) => (
          <TaskCard key={task.task} task={task} />
        ))}
        {pending.length > 0 ? null : (
          <p class="step-none">
            {shown.next.length === 0 ? "Nothing: no node has run after it." : "Nothing yet."}
          </p>
        )}
      </section>
      {parent === undefined || !parentIsHere ? null : (
        <p class="faint">
          LangGraph stores the writes that made a checkpoint with{" "}
          <a href={href("checkpoint", { thread, checkpoint: parent }, { ns: namespace, tab: "writes" })}>
            its parent
          </a>
          .
        </p>
      )}
    </>
  );
}

function whyNone({ source, parent, metadata }: Shown, parentIsHere: boolean): string {
  const { merge, edit } = Object(metadata.value) as { merge?: unknown; edit?: unknown };
  if (merge !== undefined) return "No node: it is a merge.";
  if (edit !== undefined) return "No node: its values were set by hand.";
  if (source === "input") return "No node: it holds the input of a run.";
  if (parent === undefined) return "No node: it is the first checkpoint.";
  if (!parentIsHere) return "Its parent was removed, and with it the writes of the step.";
  if (source === "update") return "No node: it was written from outside, with updateState.";
  if (source === "fork") return "No node: it is a copy of another checkpoint.";
  return "No writes of the step are stored.";
}

const outcomes = {
  done: undefined,
  interrupted: { tone: "amber", text: waitsText },
  failed: { tone: "red", text: "failed" },
  answered: { tone: "green", text: "answered" },
} as const;

function TaskCard({ task: { task, node, outcome, writes } }: { readonly task: Task }): VNode {
  const mark = outcomes[outcome];
  const values = writes.filter(({ channel, kind }) => kind !== "write" || !isOwn(channel));
  const routes = writes.filter(({ channel, kind }) => kind === "write" && isOwn(channel));
  const isInput = /^0{8}-/.test(task);
  return (
    <article class="task">
      <header class="task-head">
        <h4 class="mono">{node ?? (isInput ? "input" : "task")}</h4>
        {mark === undefined ? null : <Pill tone={mark.tone}>{mark.text}</Pill>}
        <span class="spacer" />
        <span class="task-id faint">
          <Id value={task} of="task's id" />
        </span>
      </header>
      {values.map((write, n) => (
        <WriteRow key={n} write={write} />
      ))}
      {values.length === 0 && routes.length === 0 ? <p class="step-none">It wrote nothing.</p> : null}
      {routes.length === 0 ? null : (
        <p class="task-routes faint">
          then{" "}
          {routes.map(({ channel }, n) => (
            <span key={n} class="mono">
              {channel.replace(/^branch:to:/, "")}
            </span>
          ))}
        </p>
      )}
    </article>
  );
}

const kinds = { write: "", interrupt: "asks", resume: "was answered", error: "error" } as const;

function WriteRow({ write }: { readonly write: Write }): VNode {
  const { kind, channel, value, type, bytes } = write;
  const talk = messageFields(value) === undefined ? (isConversation(value) ? value : undefined) : [value];
  return (
    <div class="write">
      <div class="write-head">
        <span class="mono">{kind === "write" ? channel : kinds[kind]}</span>
        <span class="faint">{bytesText(bytes)}</span>
      </div>
      <div class="write-value">
        {value === undefined ? (
          <span class="mono faint">{type}</span>
        ) : kind === "error" ? (
          <WrittenError value={value} />
        ) : talk === undefined ? (
          <JsonText value={value} />
        ) : (
          <Conversation channel={channel} value={talk} />
        )}
      </div>
    </div>
  );
}

function WrittenError({ value }: { readonly value: unknown }): VNode {
  const { name, message } = errorOf(value);
  return (
    <p class="callout-error value-error">
      {name === undefined ? null : <b>{name}: </b>}
      {message}
    </p>
  );
}
