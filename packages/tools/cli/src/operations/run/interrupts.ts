import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { givenValue } from "../values/edit.ts";
import type { Redaction } from "../values/redaction.ts";
import { isObject } from "../values/records.ts";
import { shownValue, viewOf, type ValueView } from "../values/view.ts";
import { answerProblems, schemaFault, type AnswerProblem } from "./answerSchema.ts";
import { openInterrupts, type OpenInterrupt } from "./openInterrupts.ts";
import { ResumeCommand, type StateLike } from "./runnableGraph.ts";

/** How much of a question is shown, in bytes. */
const shownBytes = 16_000;

/** The longest schema that is shown, in characters of JSON: a part of one says something else. */
const longestSchema = 64_000;

/** How questions are named: LangGraph's id, and before LangGraph 1.7 how many answers came before. */
const idForm = /^[0-9a-f]{32}(#\d+)?$/;

/** A question of a node that waits for an answer. */
export interface ShownInterrupt {
  readonly id: string;
  readonly node: string;
  readonly value: ValueView;
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly schemaFault?: string;
}

/** The questions that wait at a state. */
export async function interruptsOf(
  saver: TierSaver,
  state: StateLike,
  redaction: Redaction,
): Promise<ShownInterrupt[]> {
  const found: ShownInterrupt[] = [];
  for (const { id, node, value, schema } of await openInterrupts(saver, state)) {
    const shown = shownValue(INTERRUPT, await saver.serde.dumpsTyped(value), redaction)!;
    found.push({ id, node, value: viewOf(shown, shownBytes), ...shownSchema(schema, redaction) });
  }
  return found;
}

function shownSchema(schema: unknown, redaction: Redaction): Pick<ShownInterrupt, "schema" | "schemaFault"> {
  if (schema === undefined || redaction.hides(INTERRUPT)) return {};
  const fault = schemaFault(schema);
  if (fault !== undefined) return { schemaFault: fault };
  return isObject(schema) && JSON.stringify(schema).length <= longestSchema ? { schema } : {};
}

/** An answer as it was given. */
interface GivenAnswer {
  readonly threadId: string;
  /** JSON of the serde: the answer to the only question, or an object of answers by the ids of questions. */
  readonly resume: string;
  /** Whether it is taken even if it doesn't fit its question's schema. */
  readonly unchecked: boolean;
}

/**
 * Turns an answer into the input of the graph, if it answers what waits and fits its schema. Nothing has run by then.
 * @throws StratigraphError "NOT_WAITING" if no question waits, or the answer names one that doesn't; "INVALID_OPTION" if it isn't clear
 * which one is answered, or the answer doesn't fit
 */
export async function answersOf(
  saver: TierSaver,
  state: StateLike,
  { threadId, resume, unchecked }: GivenAnswer,
): Promise<ResumeCommand> {
  const given = await givenValue(saver, "resume", resume);
  const json: unknown = JSON.parse(resume);
  const open = await openInterrupts(saver, state);
  const ids = open.map(({ id }) => id);
  const named = namedIn(threadId, json, ids);
  if (named.length === 0 && open.length > 1)
    throw new StratigraphError(
      "INVALID_OPTION",
      `Invalid option resume: found one answer. ${open.length} questions wait: pass an object of answers by their ids, ${ids.join(", ")}.`,
      { field: "resume", waiting: ids },
    );
  const answered = named.length === 0 ? open : open.filter(({ id }) => named.includes(id));
  const part = (from: unknown, id: string): unknown =>
    named.length === 0 ? from : (from as Readonly<Record<string, unknown>>)[id];
  if (!unchecked) refuseUnfit(answered, (id) => part(json, id));
  return new ResumeCommand(
    Object.fromEntries(answered.map(({ id, interrupt }) => [interrupt, part(given, id)])),
  );
}

/**
 * The questions that an answer names; none if it is the answer itself. LangGraph, too, takes an object for answers by id if all its keys
 * have the form of ids, and otherwise gives the whole object to the only question.
 */
function namedIn(threadId: string, answer: unknown, waiting: readonly string[]): readonly string[] {
  if (waiting.length === 0) throw notWaiting(threadId, waiting);
  const keys = isObject(answer) ? Object.keys(answer) : [];
  const unknown = keys.filter((key) => !waiting.includes(key));
  const isById = keys.length > 0 && (unknown.length < keys.length || keys.every((key) => idForm.test(key)));
  if (!isById) return [];
  if (unknown.length > 0) throw notWaiting(threadId, waiting, unknown);
  return keys;
}

/** @param named the questions that were answered and don't wait */
export function notWaiting(
  threadId: string,
  waiting: readonly string[],
  named: readonly string[] = [],
): StratigraphError {
  const data = { threadId, field: "resume", waiting: [...waiting], named: [...named] };
  const left =
    waiting.length === 0
      ? "No question waits for an answer. Leave it out, and the run continues."
      : `These wait: ${waiting.join(", ")}.`;
  if (named.length === 0) return new StratigraphError("NOT_WAITING", `Nothing was run. ${left}`, data);
  const instead =
    waiting.length === 0
      ? ""
      : ` If this object is itself the answer to a question, name that: {"${waiting[0]}": {…}}.`;
  return new StratigraphError(
    "NOT_WAITING",
    `Nothing was run: ${named.join(", ")} doesn't wait for an answer. It was answered, or its step was run anew. ${left}${instead}`,
    data,
  );
}

/** @throws StratigraphError "INVALID_OPTION" with `issues`, if an answer doesn't fit the schema of its question */
function refuseUnfit(answered: readonly OpenInterrupt[], answerTo: (id: string) => unknown): void {
  const wrong = answered.flatMap(({ id, node, schema }) => {
    if (schema === undefined || schemaFault(schema) !== undefined) return [];
    return answerProblems(schema, answerTo(id)).map((problem) => ({ id, node, ...problem }));
  });
  if (wrong.length === 0) return;
  const issues = wrong.map(({ id, path, expected }) => ({ path: `resume/${id}${under(path)}`, expected }));
  const told = wrong.map(({ node, path, expected }) => `${node}${under(path)}: expected ${expected}`);
  throw new StratigraphError(
    "INVALID_OPTION",
    `Nothing was run: the answer doesn't fit what the question asks for. ${told.join("; ")}. With \`unchecked\` it is taken as it is.`,
    { field: "resume", issues },
  );
}

function under(path: AnswerProblem["path"]): string {
  return path === "" ? "" : `/${path}`;
}
