import type { BaseMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { checkFinalState } from "../checkFinalState.ts";
import { profiled } from "../cpuProfile.ts";
import { openFloor } from "../floorSaver.ts";
import { type Build, type Libraries, loadLibraries } from "../libraries.ts";
import { conversations } from "../recording.ts";
import { player, type Replay } from "../replay.ts";
import { type OpenSaver, openSaver, type Place } from "../savers.ts";
import { openStack } from "../stack.ts";
import { type StartLine, waitForAll } from "../startLine.ts";
import type { SaverId } from "../types.ts";

/** A saver that is measured, our stack of tiers, or "floor": what a run takes without any. */
export type GraphSaver = "floor" | SaverId | "redis>postgres";

/** Input of the job: one of several processes. */
export interface GraphThroughputInput extends Place, StartLine {
  build: Build;
  saver: GraphSaver;
  conversationsFile: string;
  /** Which of the processes this is, from 0. */
  process: number;
  /** Threads that run at the same time. */
  threads: number;
  forMs: number;
  /** Writes a .cpuprofile of all that is measured. */
  profile?: string;
}

export interface GraphThroughputResult {
  /** Milliseconds of every put that ended in time. */
  puts: number[];
  /** Milliseconds from the start until the first put was done. */
  firstPut: number;
  /** Puts that ended when time was up. */
  late: number;
  /** Milliseconds of this process's CPU time, for all of these. */
  cpu: number;
}

/**
 * Plays conversations through compiled graphs, one after another on each of several threads, until time is up. Nothing is
 * warmed up: the clock starts when every process has loaded its modules and opened its saver.
 */
export async function job(input: GraphThroughputInput): Promise<GraphThroughputResult> {
  const libraries = await loadLibraries(input.build);
  const { saver, close } = await open(input, libraries);
  const conversation = conversations(input.conversationsFile, libraries.messages);
  const { begin } = player(saver, libraries.langgraph);
  await waitForAll(input);
  const cpu = process.cpuUsage();
  const end = performance.now() + input.forMs;
  const times = timePuts(saver, end);
  const play = async (n: number): Promise<() => Promise<void>> => {
    const number = input.process * input.threads + n;
    for (let round = 0; ; round += 1) {
      const recording = conversation(number + round);
      const thread = begin(recording, `${number}, ${round}`);
      while (performance.now() < end && (await thread.turn()));
      if (performance.now() >= end) return () => check(thread, recording);
    }
  };
  const all = () => Promise.all(Array.from({ length: input.threads }, (_, n) => play(n)));
  const checks = input.profile === undefined ? await all() : await profiled(input.profile, all);
  const { user, system } = process.cpuUsage(cpu);
  // What was stored is checked afterwards, so that these reads don't count as CPU of the puts.
  for (const stored of checks) await stored();
  await close();
  return { ...times, cpu: (user + system) / 1000 };
}

/** Times `saver`'s puts from now on; those that are done after `end` are counted only. */
function timePuts(saver: BaseCheckpointSaver, end: number): Omit<GraphThroughputResult, "cpu"> {
  const begun = performance.now();
  const times = { puts: [] as number[], firstPut: Number.NaN, late: 0 };
  const put = saver.put.bind(saver);
  saver.put = async (...args) => {
    const start = performance.now();
    const config = await put(...args);
    const now = performance.now();
    if (Number.isNaN(times.firstPut)) times.firstPut = now - begun;
    if (now <= end) times.puts.push(now - start);
    else times.late += 1;
    return config;
  };
  return times;
}

/** What was played until time was up must be stored, if anything was. */
async function check(thread: Replay, recording: readonly BaseMessage[]): Promise<void> {
  if (thread.played() > 0) await checkFinalState(thread, recording.slice(0, thread.played()));
}

async function open(input: GraphThroughputInput, { checkpoint }: Libraries): Promise<OpenSaver> {
  if (input.saver === "floor") return openFloor(checkpoint);
  if (input.saver === "redis>postgres") return await openStack(input, input.build);
  return await openSaver(input.saver, input, input.build);
}
