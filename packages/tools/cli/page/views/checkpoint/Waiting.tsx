import type { VNode } from "preact";
import { LinkButton } from "../../design/Button.tsx";
import { waitsText } from "../../design/words.ts";
import { Icon } from "../../icons.tsx";
import { href } from "../../router.ts";
import { JsonText } from "../../values/JsonText.tsx";
import { contentOf } from "../../values/records.ts";
import { MessageText } from "../../values/MessageText.tsx";
import { failuresOf } from "./failuresOf.ts";
import { questionsOf, type Shown, type Write } from "./shown.ts";

/** Why the thread doesn't continue: questions to people, and failed tasks. */
export function Waiting({ shown }: { readonly shown: Shown }): VNode | null {
  const asked = shown.writes.filter(({ kind }) => kind === "interrupt");
  const failed = shown.writes.filter(({ kind, outcome }) => kind === "error" && outcome !== "done");
  const stateOf = ({ outcome }: Write): State => {
    if (outcome !== "interrupted") return "answered";
    return shown.waits === "interrupt" ? "waits" : "passed";
  };
  if (asked.length === 0 && failed.length === 0) return null;
  return (
    <div class="waiting">
      {asked.map((write) => (
        <Question key={write.task} write={write} state={stateOf(write)} shown={shown} />
      ))}
      {failed.length === 0 ? null : <Failures shown={shown} />}
    </div>
  );
}

/** The state of a question. "passed": the thread has continued without an answer. */
type State = "waits" | "answered" | "passed";

const states: Readonly<Record<State, string>> = {
  waits: waitsText,
  answered: "asked, and has an answer",
  passed: "asked, and the thread has gone on",
};

interface QuestionProps {
  readonly write: Write;
  readonly state: State;
  readonly shown: Shown;
}

function Question({ write, state, shown }: QuestionProps): VNode {
  const { thread, namespace, checkpoint, head } = shown;
  const { node, task } = write;
  return (
    <section class="callout callout-amber" aria-label="A question">
      <Icon name="pause" />
      <div class="callout-body">
        <h3>
          <span class="mono">{node ?? task.slice(0, 8)}</span> {states[state]}
        </h3>
        {questionsOf(write).map(({ id, value }, n) => {
          const text = contentOf(value);
          return (
            <div key={id ?? n} class="callout-value">
              {typeof text === "string" ? <MessageText text={text} /> : <JsonText value={value} />}
            </div>
          );
        })}
        {state === "answered" ? null : (
          <div class="callout-actions">
            <LinkButton
              size="small"
              tone="primary"
              icon="edit"
              href={href("whatif", {}, { at: thread, namespace, checkpoint })}
            >
              Answer
            </LinkButton>
            <span class="faint">
              {head
                ? "In a fork: the thread stays as it is."
                : "In a fork from here, as the thread has gone on."}
            </span>
          </div>
        )}
      </div>
    </section>
  );
}

function Failures({ shown }: { readonly shown: Shown }): VNode {
  const { thread, namespace, checkpoint } = shown;
  const { reasons, stopped } = failuresOf(shown.writes);
  return (
    <section class="callout callout-red" aria-label="Failed tasks">
      <Icon name="error" />
      <div class="callout-body">
        {reasons.map(({ task, who, name, message, stack }) => (
          <div key={task} class="callout-value">
            <h3>
              <span class="mono">{who}</span> failed
            </h3>
            <p class="callout-error">
              {name === undefined ? null : <b>{name}: </b>}
              {message}
            </p>
            {stack === undefined ? null : (
              <details class="fold">
                <summary>
                  <Icon name="right" size={12} />
                  <span>Stack</span>
                </summary>
                <pre class="message-code">{stack}</pre>
              </details>
            )}
          </div>
        ))}
        {stopped.length === 0 ? null : (
          <p class="dim">
            {stopped.map(({ who }) => who).join(", ")} {stopped.length === 1 ? "was" : "were"} stopped,
            because the step failed.
          </p>
        )}
        <div class="callout-actions">
          <LinkButton
            size="small"
            icon="play"
            href={href("whatif", {}, { at: thread, namespace, checkpoint })}
          >
            Try again in a fork
          </LinkButton>
        </div>
      </div>
    </section>
  );
}
