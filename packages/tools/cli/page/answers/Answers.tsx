import type { OutputOf } from "../../src/operations/index.ts";
import { answerForm, answerFrom, firstTexts, type FormTexts } from "../../src/operations/run/answerForm.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../design/Button.tsx";
import { Icon } from "../icons.tsx";
import { JsonAnswer } from "./JsonAnswer.tsx";
import { SchemaFields } from "./SchemaFields.tsx";
import "./answers.css";

/** A question as the operation "run" shows it. */
export type AskedQuestion = OutputOf<"run">["interrupts"][number];

/** Answers, as the operation "run" takes them. */
export interface GivenAnswers {
  /** Answers by the ids of questions, as JSON. */
  readonly resume: string;
  readonly unchecked: boolean;
}

interface AnswersProps {
  readonly interrupts: readonly AskedQuestion[];
  readonly disabled: boolean;
  readonly onAnswer: (given: GivenAnswers) => void;
  /** What the server found in the answers that were given last: the fields of its error. */
  readonly refused?: readonly { readonly path: string; readonly expected: string }[] | undefined;
}

/** What a person has filled in for one question. */
interface Draft {
  /** JSON, or a text; undefined while the form of the schema is filled in. */
  readonly json: string | undefined;
  readonly texts: FormTexts;
  readonly unchecked: boolean;
  readonly touched: boolean;
}

/**
 * Questions that wait, and a form to answer them: the one of the question's schema, or else a field for JSON. A question that isn't filled
 * in isn't answered.
 */
export function Answers({ interrupts, disabled, onAnswer, refused }: AnswersProps): VNode {
  const [drafts, setDrafts] = useState<Readonly<Record<string, Draft>>>({});
  const [showsProblems, setShowsProblems] = useState(false);
  // What was changed since: the server hasn't seen it.
  const [outdated, setOutdated] = useState<typeof refused>();
  const draftOf = (question: AskedQuestion): Draft => drafts[question.id] ?? firstDraft(question);
  const change = (question: AskedQuestion, changed: Partial<Draft>): void => {
    const draft = { ...draftOf(question), touched: true, ...changed };
    setDrafts({ ...drafts, [question.id]: draft });
    setOutdated(refused);
  };
  const isGiven = (question: AskedQuestion): boolean => {
    const { json, touched } = draftOf(question);
    return json === undefined ? touched || interrupts.length === 1 : json.trim() !== "";
  };
  const given = interrupts
    .filter(isGiven)
    .map((question) => ({ question, ...answerOf(question, draftOf(question)) }));
  const submit = (event: Event): void => {
    event.preventDefault();
    setShowsProblems(true);
    if (given.length === 0 || given.some(({ problems }) => problems !== undefined)) return;
    onAnswer({
      resume: JSON.stringify(Object.fromEntries(given.map(({ question, answer }) => [question.id, answer]))),
      unchecked: given.some(({ question }) => draftOf(question).unchecked),
    });
  };
  return (
    <form class="answers" onSubmit={submit} aria-label="Questions that wait" noValidate>
      {interrupts.map((question) => {
        const { id, node, value, schema, schemaFault } = question;
        const draft = draftOf(question);
        const found = given.find((each) => each.question.id === id)?.problems;
        const told = (refused === outdated ? [] : (refused ?? [])).filter(
          ({ path }) => path === `resume/${id}` || path.startsWith(`resume/${id}/`),
        );
        const problems = {
          ...Object.fromEntries(
            told.map(({ path, expected }) => [path.slice(`resume/${id}/`.length), `Expected: ${expected}.`]),
          ),
          ...(showsProblems ? found : {}),
        };
        return (
          <section key={id} class="answer" aria-label={`Question of ${node}`}>
            <h3>
              <Icon name="pause" size={14} />
              <span class="mono">{node}</span> waits for an answer
            </h3>
            <pre class="answer-question" role="group" tabIndex={0} aria-label={`What ${node} asks`}>
              {questionOf(value.value)}
            </pre>
            {schemaFault === undefined ? null : (
              <p class="answer-fault">
                <Icon name="warning" size={14} /> Its schema can’t be used ({schemaFault}). Any JSON is taken.
              </p>
            )}
            {draft.json === undefined ? (
              <SchemaFields
                fields={answerForm(schema)}
                texts={draft.texts}
                problems={problems}
                disabled={disabled}
                onChange={(name, text) => change(question, { texts: { ...draft.texts, [name]: text } })}
              />
            ) : (
              <JsonAnswer
                node={node}
                question={value.value}
                text={draft.json}
                problems={problems}
                hasSchema={schema !== undefined}
                unchecked={draft.unchecked}
                disabled={disabled}
                onChange={(changed) => change(question, changed)}
              />
            )}
            {schema === undefined ? null : (
              <button
                type="button"
                class="answer-mode"
                disabled={disabled}
                onClick={() => change(question, otherWay(question, draft))}
              >
                {draft.json === undefined ? "Answer in JSON instead" : "Back to the form"}
              </button>
            )}
          </section>
        );
      })}
      <div class="actions">
        <Button submit tone="primary" icon="play" disabled={disabled || given.length === 0}>
          {interrupts.length === 1 ? "Answer and run on" : "Answer what is filled in"}
        </Button>
      </div>
    </form>
  );
}

function firstDraft({ schema }: AskedQuestion): Draft {
  const texts = schema === undefined ? {} : firstTexts(answerForm(schema));
  return { json: schema === undefined ? "" : undefined, texts, unchecked: false, touched: false };
}

/** From the form to JSON with what is filled in, or back. */
function otherWay({ schema }: AskedQuestion, { json, texts }: Draft): Partial<Draft> {
  if (json !== undefined) return { json: undefined, unchecked: false };
  const made = answerFrom(answerForm(schema), texts);
  return { json: "answer" in made ? JSON.stringify(made.answer, null, 2) : "" };
}

function answerOf(
  { schema }: AskedQuestion,
  { json, texts }: Draft,
): { readonly answer?: unknown; readonly problems?: Readonly<Record<string, string>> } {
  if (json === undefined) return answerFrom(answerForm(schema), texts);
  try {
    return { answer: JSON.parse(json) as unknown };
  } catch (error) {
    // Without a schema, anything else is a text.
    if (schema === undefined) return { answer: json };
    return { problems: { "": `This isn’t JSON yet: ${(error as Error).message}. A text stands in quotes.` } };
  }
}

function questionOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "Its question isn't JSON." : JSON.stringify(value, null, 2);
}
