import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import type { Redaction } from "../values/redaction.ts";
import { isObject } from "../values/records.ts";
import { shownValue, viewOf, type ValueView } from "../values/view.ts";
import { openQuestions, ResumeCommand, type StateLike } from "./runnableGraph.ts";

/** How much of a question is shown, in bytes. */
const shownBytes = 16_000;

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
  for (const { id, node, value } of openQuestions(state)) {
    const shown = shownValue(INTERRUPT, await saver.serde.dumpsTyped(value), redaction)!;
    found.push({ id, node, value: viewOf(shown, shownBytes) });
  }
  return found;
}

/**
 * An answer as what is given to the graph.
 * @param answer to the only question, or an object of answers by the ids of questions
 * @throws InvalidOptionError where nothing waits, or it isn't clear what is answered
 */
export function answersOf(state: StateLike, answer: unknown): ResumeCommand {
  const ids = new Set(openQuestions(state).map(({ id }) => id));
  if (ids.size === 0)
    throw new InvalidOptionError(
      "resume",
      "an answer",
      "Nothing waits for one. Leave it out, and the run goes on.",
    );
  const isById =
    isObject(answer) && Object.keys(answer).length > 0 && Object.keys(answer).every((key) => ids.has(key));
  if (isById) return new ResumeCommand(answer);
  const [only, ...others] = ids;
  if (others.length === 0) return new ResumeCommand({ [only!]: answer });
  throw new InvalidOptionError(
    "resume",
    "one answer",
    `${ids.size} questions wait: pass an object of answers by their ids, ${[...ids].join(", ")}.`,
  );
}
