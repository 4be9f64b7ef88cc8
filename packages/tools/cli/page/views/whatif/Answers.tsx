import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../design/Button.tsx";
import { Field } from "../../design/Field.tsx";
import { Icon } from "../../icons.tsx";

type Interrupt = OutputOf<"run">["interrupts"][number];

interface AnswersProps {
  readonly interrupts: readonly Interrupt[];
  readonly disabled: boolean;
  /** @param resume answers by the ids of questions, as JSON */
  readonly onAnswer: (resume: string) => void;
}

/** The open questions, and a form to answer them. A question with an empty field isn't answered. */
export function Answers({ interrupts, disabled, onAnswer }: AnswersProps): VNode {
  const [answers, setAnswers] = useState<Readonly<Record<string, string>>>({});
  const given = interrupts.filter(({ id }) => (answers[id] ?? "").trim() !== "");
  const submit = (event: Event) => {
    event.preventDefault();
    if (given.length === 0) return;
    onAnswer(JSON.stringify(Object.fromEntries(given.map(({ id }) => [id, valueOf(answers[id]!)]))));
    setAnswers({});
  };
  return (
    <form class="answers" onSubmit={submit} aria-label="Questions that wait">
      {interrupts.map(({ id, node, value }) => (
        <section key={id} class="answer">
          <h3>
            <Icon name="pause" size={14} />
            <span class="mono">{node}</span> waits for an answer
          </h3>
          <pre class="answer-question">{questionOf(value.value)}</pre>
          <Field
            label={`Answer to ${node}`}
            value={answers[id] ?? ""}
            onInput={(text) => setAnswers({ ...answers, [id]: text })}
            rows={2}
            mono
            placeholder={'"yes", true, {"approved": true}'}
            hint={hintOf(answers[id] ?? "")}
            disabled={disabled}
          />
          <div class="answer-quick">
            {optionsOf(value.value).map((text) => (
              <Button
                key={text}
                size="small"
                disabled={disabled}
                pressed={answers[id] === text}
                onClick={() => setAnswers({ ...answers, [id]: text })}
              >
                {text}
              </Button>
            ))}
          </div>
        </section>
      ))}
      <div class="actions">
        <Button submit tone="primary" icon="play" disabled={disabled || given.length === 0}>
          {interrupts.length === 1 ? "Answer and run on" : "Answer what is filled in"}
        </Button>
      </div>
    </form>
  );
}

/** Parses a text as JSON. Returns the text itself if it isn't JSON. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function hintOf(text: string): string {
  if (text.trim() === "") return "JSON. Anything else is sent as a text.";
  const value = valueOf(text);
  return typeof value === "string" ? `Sent as the text ${JSON.stringify(value)}.` : `Sent as JSON.`;
}

/** The answers to choose from: those that the question names, or true and false. */
function optionsOf(question: unknown): readonly string[] {
  const { options, choices } = Object(question) as { readonly options?: unknown; readonly choices?: unknown };
  const named = [options, choices].find(
    (each): each is string[] =>
      Array.isArray(each) &&
      each.length > 0 &&
      each.every((item) => typeof item === "string" && item.length < 60),
  );
  return named?.slice(0, 12) ?? ["true", "false"];
}

function questionOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "Its question isn't JSON." : JSON.stringify(value, null, 2);
}
