import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import type { Redaction } from "../values/redaction.ts";
import { isObject } from "../values/records.ts";
import { shownValue, viewOf, type ValueView } from "../values/view.ts";
import { openInterrupts } from "./openInterrupts.ts";
import { ResumeCommand, type StateLike } from "./runnableGraph.ts";

/** How much of a question is shown, in bytes. */
const shownBytes = 16_000;

/** How LangGraph writes the id of a question. LangGraph, too, takes an object for answers by id if all its keys have this form. */
const idForm = /^[0-9a-f]{32}$/;

/** A question of a node that waits for an answer. */
export interface ShownInterrupt {
  readonly id: string;
  readonly node: string;
  readonly value: ValueView;
}

/** The questions that wait at a state. */
export async function interruptsOf(
  saver: TierSaver,
  state: StateLike,
  redaction: Redaction,
): Promise<ShownInterrupt[]> {
  const found: ShownInterrupt[] = [];
  for (const { id, node, value } of await openInterrupts(saver, state)) {
    const shown = shownValue(INTERRUPT, await saver.serde.dumpsTyped(value), redaction)!;
    found.push({ id, node, value: viewOf(shown, shownBytes) });
  }
  return found;
}

/**
 * Turns an answer into the input of the graph.
 * @param answer to the only question, or an object of answers by the ids of questions
 * @throws InvalidOptionError if no question waits, if it isn't clear which one is answered, or if the answer names one that doesn't
 * wait
 */
export async function answersOf(saver: TierSaver, state: StateLike, answer: unknown): Promise<ResumeCommand> {
  const ids = new Set((await openInterrupts(saver, state)).map(({ id }) => id));
  if (ids.size === 0)
    throw new InvalidOptionError(
      "resume",
      "an answer",
      "No question waits for an answer. Leave it out, and the run continues.",
    );
  const byId = isObject(answer) ? answer : {};
  const keys = Object.keys(byId);
  if (keys.length > 0 && keys.every((key) => ids.has(key) || idForm.test(key))) {
    const unknown = keys.filter((key) => !ids.has(key));
    if (unknown.length === 0) return new ResumeCommand(byId);
    throw new InvalidOptionError(
      "resume",
      `an answer to ${unknown.join(", ")}`,
      `No such question waits: it was answered, or its step was run anew. These wait: ${[...ids].join(", ")}.`,
    );
  }
  const [only, ...others] = ids;
  if (others.length === 0) return new ResumeCommand({ [only!]: answer });
  throw new InvalidOptionError(
    "resume",
    "one answer",
    `${ids.size} questions wait: pass an object of answers by their ids, ${[...ids].join(", ")}.`,
  );
}
