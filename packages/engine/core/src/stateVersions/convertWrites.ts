import { ERROR, INTERRUPT, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import type { Address } from "../contract/tier.ts";
import type { DecodedWrite } from "../encode/writeCoder.ts";
import { compareWrites } from "../encode/writeOrder.ts";
import { noWrites } from "../langgraph/channelNames.ts";
import { isExitTask, NULL_TASK, taskIdsOfNoTask } from "../langgraph/taskIds.ts";
import { called, convertSends, copyOf, isRecord } from "./applied.ts";
import { convertState, type State } from "./convertCheckpoint.ts";
import { convertInput, convertUpdates, type Held } from "./joins.ts";
import { inputChannel, type Move, type Stage, type StateVersions } from "./stateVersions.ts";

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

/** The checkpoint that writes are made to, and the version that it was written under. */
export interface WrittenTo {
  readonly stateVersion: number;
  readonly state: () => Promise<State>;
}

/**
 * Pending writes as this application's version of the state has them. A task all of whose writes are dropped counts as done all the same.
 * @throws StratigraphError "STATE_VERSION", "STATE_STEP_FAILED"
 */
export async function convertWrites(
  versions: StateVersions,
  at: Address,
  writes: readonly DecodedWrite[],
  to: WrittenTo,
): Promise<readonly DecodedWrite[]> {
  const { current } = versions;
  const found = writes.map(({ stateVersion }) => stateVersion);
  if (found.every((version) => version === current)) return writes;
  let converted = writes;
  // From the oldest and from the newest version on: writes of the versions between join on the way.
  for (const from of [Math.min(current, ...found), Math.max(current, ...found)])
    for (const stage of versions.path(at, from)) {
      const held = async (): Promise<Held | undefined> =>
        versions.knows(at, to.stateVersion, stage.from)
          ? await convertState(versions.path(at, to.stateVersion, stage.from), at, await to.state())
          : undefined;
      const here = converted.filter(({ stateVersion }) => stateVersion === stage.from);
      const others = converted.filter(({ stateVersion }) => stateVersion !== stage.from);
      converted = [...others, ...(await throughStage(stage, at, here, held))].sort(compareWrites);
    }
  const done = new Set(converted.filter(isUpdate).map(({ taskId }) => taskId));
  const dropped = new Map(
    writes.flatMap((write) => (isUpdate(write) && !done.has(write.taskId) ? [[write.taskId, write]] : [])),
  );
  const empty = [...dropped.values()].map((write) => ({ ...write, channel: noWrites, value: null }));
  return [...converted, ...empty].sort(compareWrites).map((write) => ({ ...write, stateVersion: current }));
}

/** Whether a write is work of its task, which is done then. */
function isUpdate({ channel }: DecodedWrite): boolean {
  return channel !== INTERRUPT && channel !== RESUME && channel !== ERROR;
}

async function throughStage(
  stage: Stage,
  at: Address,
  writes: readonly DecodedWrite[],
  held: () => Promise<Held | undefined>,
): Promise<DecodedWrite[]> {
  const made: DecodedWrite[] = [];
  const moved = new Map<Move, DecodedWrite[]>();
  for (const write of writes) {
    const move = stage.moves.find(({ from }) => from.includes(write.channel));
    if (move === undefined) made.push({ ...write, value: await convertOther(stage, at, write, held) });
    else moved.set(move, [...(moved.get(move) ?? []), write]);
  }
  // What none of the step's tasks wrote is an update for itself, and LangGraph applies the thread's own before the tasks'.
  const apart = taskIdsOfNoTask(at.checkpointId, writes.length);
  const updateOf = ({ taskId }: DecodedWrite): string =>
    taskId === NULL_TASK || isExitTask(taskId) || apart.has(taskId) ? taskId : "";
  for (const [move, all] of moved) {
    const own = all.filter(({ taskId }) => taskId === NULL_TASK);
    const first = Object.fromEntries(own.map(({ channel, value }) => [channel, value]));
    for (const update of new Set(all.map(updateOf))) {
      const updates = all.filter((write) => updateOf(write) === update);
      const before = async (): Promise<Held | undefined> => {
        const known = await held();
        return update === "" && known !== undefined ? { ...known, first } : known;
      };
      for (const { of, made: values } of await convertUpdates(stage, move, at, updates, before))
        for (const [channel, value] of Object.entries(values)) made.push({ ...of.at(-1)!, channel, value });
    }
  }
  return made.map((write) => ({ ...write, stateVersion: stage.to }));
}

async function convertOther(
  stage: Stage,
  at: Address,
  { channel, value, taskId }: DecodedWrite,
  held: () => Promise<Held | undefined>,
): Promise<unknown> {
  if (channel === INTERRUPT) return await convertInterrupts(stage, at, value);
  if (channel === RESUME) return await convertAnswers(stage, at, taskId, value);
  if (channel === TASKS) return await convertSends(stage, at, value);
  if (channel === inputChannel && isRecord(value)) return await convertInput(stage, at, value, held);
  return value;
}
