import { INTERRUPT, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import type { Address } from "../contract/tier.ts";
import type { DecodedWrite } from "../encode/writeCoder.ts";
import { noWrites } from "../langgraph/channelNames.ts";
import { NULL_TASK } from "../langgraph/taskIds.ts";
import { called, convertInput, convertSends, copyOf, isRecord, updated } from "./applied.ts";
import { inputChannel, type Stage, type StateVersions } from "./stateVersions.ts";

/** An interrupted task's questions: one, or a list, by LangGraph's version. */
async function convertInterrupts(stage: Stage, at: Address, asked: unknown): Promise<unknown> {
  if (stage.interrupts === undefined) return asked;
  if (Array.isArray(asked)) return await Promise.all(asked.map((each) => convertInterrupts(stage, at, each)));
  if (!isRecord(asked) || !("value" in asked)) return asked;
  return copyOf(asked, {
    value: await called(stage, stage.interrupts, at, "interrupt", INTERRUPT, asked["value"]),
  });
}

/** What was answered: to a task, a list, and to the thread, an answer. */
async function convertAnswers(
  stage: Stage,
  at: Address,
  taskId: string,
  answered: unknown,
): Promise<unknown> {
  const { answers } = stage;
  if (answers === undefined) return answered;
  const convert = (answer: unknown): Promise<unknown> => called(stage, answers, at, "answer", RESUME, answer);
  return taskId !== NULL_TASK && Array.isArray(answered)
    ? await Promise.all(answered.map(convert))
    : await convert(answered);
}

/**
 * Pending writes as this application's version of the state has them. A task all of whose writes are dropped counts as done all the same.
 * @throws StratigraphError "STATE_VERSION", "STATE_STEP_FAILED"
 */
export async function convertWrites(
  versions: StateVersions,
  at: Address,
  writes: readonly DecodedWrite[],
): Promise<readonly DecodedWrite[]> {
  if (writes.every(({ stateVersion }) => stateVersion === versions.current)) return writes;
  const converted: DecodedWrite[] = [];
  for (const [place, write] of writes.entries()) {
    const made = await convertWrite(versions, at, write);
    converted.push(...made);
    const isLast = writes[place + 1]?.taskId !== write.taskId;
    if (isLast && !converted.some(({ taskId }) => taskId === write.taskId))
      converted.push({ ...write, channel: noWrites, value: null });
  }
  return converted;
}

async function convertWrite(
  versions: StateVersions,
  at: Address,
  write: DecodedWrite,
): Promise<DecodedWrite[]> {
  let pairs: (readonly [channel: string, value: unknown])[] = [[write.channel, write.value]];
  for (const stage of versions.path(at, write.stateVersion)) {
    const next: typeof pairs = [];
    for (const [channel, value] of pairs) {
      const move = stage.moves.find(({ from }) => from.includes(channel));
      if (move !== undefined)
        next.push(...Object.entries(await updated(stage, move, at, { [channel]: value })));
      else if (channel === INTERRUPT) next.push([channel, await convertInterrupts(stage, at, value)]);
      else if (channel === RESUME) next.push([channel, await convertAnswers(stage, at, write.taskId, value)]);
      else if (channel === TASKS) next.push([channel, await convertSends(stage, at, value)]);
      else if (channel === inputChannel && isRecord(value))
        next.push([channel, await convertInput(stage, at, value)]);
      else next.push([channel, value]);
    }
    pairs = next;
  }
  return pairs.map(([channel, value]) => ({ ...write, channel, value, stateVersion: versions.current }));
}
