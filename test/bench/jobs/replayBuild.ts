import type { BaseMessage } from "@langchain/core/messages";
import { checkFinalState } from "../checkFinalState.ts";
import { profiled } from "../cpuProfile.ts";
import { openFloor } from "../floorSaver.ts";
import { type Build, type Libraries, loadLibraries } from "../libraries.ts";
import { measured, type Spent } from "../measured.ts";
import { readRecording } from "../recording.ts";
import { type Replay, replay } from "../replay.ts";
import { type OpenSaver, openSaver, type Place } from "../savers.ts";
import { percentile } from "../stats.ts";
import { type CallTimes, timeCalls } from "../timers.ts";
import type { SaverId } from "../types.ts";

/** A saver that is measured, or "floor": what a run takes without any. */
export type BuildSaver = "floor" | SaverId;

/** Input of the job. */
export interface BuildInput extends Place {
  /** How the application loads LangGraph, LangChain and the savers. */
  build: Build;
  saver: BuildSaver;
  conversationsFile: string;
  conversations: number;
  /** Writes a .cpuprofile of the measured run, or of listing the history. */
  profile?: { of: "run" | "history"; file: string };
}

/** Times in milliseconds. */
export interface BuildResult {
  putP50: number;
  putP99: number;
  putWritesP50: number;
  putWritesP99: number;
  getTupleP50: number;
  getTupleP99: number;
  run: Spent;
  history: Spent;
}

/** Replays the recording on one thread and lists its history, in a process that has replayed all of it once before. */
export async function job(input: BuildInput): Promise<BuildResult> {
  const libraries = await loadLibraries(input.build);
  const warmUp = await begin(input, libraries, `${input.schema}_warm`);
  await play(warmUp.thread);
  await warmUp.close();
  globalThis.gc?.();

  const { recording, saver, thread, close } = await begin(input, libraries, input.schema);
  const times = timeCalls(saver);
  const under = (of: "run" | "history", work: () => Promise<void>): Promise<Spent> =>
    input.profile?.of === of ? profiled(input.profile.file, () => measured(work)) : measured(work);
  const run = await under("run", () => play(thread));
  const calls = percentiles(times);
  await checkFinalState(thread, recording);
  globalThis.gc?.();
  const history = await under("history", () => listHistory(thread, input.saver));
  await close();
  return { ...calls, run, history };
}

function percentiles({ put, putWrites, getTuple }: CallTimes): Omit<BuildResult, "run" | "history"> {
  return {
    putP50: percentile(put, 0.5),
    putP99: percentile(put, 0.99),
    putWritesP50: percentile(putWrites, 0.5),
    putWritesP99: percentile(putWrites, 0.99),
    getTupleP50: percentile(getTuple, 0.5),
    getTupleP99: percentile(getTuple, 0.99),
  };
}

interface Begun extends OpenSaver {
  recording: BaseMessage[];
  thread: Replay;
}

async function begin(input: BuildInput, libraries: Libraries, schema: string): Promise<Begun> {
  const recording = readRecording(input.conversationsFile, input.conversations, libraries.messages);
  const opened = await open(input, libraries, schema);
  return { ...opened, recording, thread: replay(recording, opened.saver, libraries.langgraph) };
}

async function open(
  { saver, build, url }: BuildInput,
  { checkpoint }: Libraries,
  schema: string,
): Promise<OpenSaver> {
  return saver === "floor" ? openFloor(checkpoint) : await openSaver(saver, { url, schema }, build);
}

async function play(thread: Replay): Promise<void> {
  while (await thread.turn());
}

async function listHistory(thread: Replay, saver: BuildSaver): Promise<void> {
  let checkpoints = 0;
  for await (const _ of thread.graph.getStateHistory(thread.config)) checkpoints++;
  if (saver !== "floor" && checkpoints !== thread.checkpoints())
    throw new Error(`${checkpoints} checkpoints were listed, ${thread.checkpoints()} were made`);
}
