import {
  type BaseCheckpointSaver,
  type Checkpoint,
  emptyCheckpoint,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { openSaver, type Place } from "../savers.ts";
import { SCENARIOS } from "../scenarios.ts";
import { openStack } from "../stack.ts";
import { type StartLine, waitForAll } from "../startLine.ts";

/** Input of the job: one of several processes. */
export interface ThroughputInput extends Place, StartLine {
  saver: "official-postgres" | "postgres" | "redis>postgres";
  /** Tells threads of different processes apart. */
  name: string;
  /** Threads written at the same time. */
  threads: number;
  forMs: number;
}

/** Durations of every put, in milliseconds. */
export interface ThroughputResult {
  puts: number[];
}

/** Conversations that every saver puts before the measurement begins: after fewer, much of what is measured is compiling. */
const WARM_UP = 50;

/** Puts a growing conversation on every thread, one put after another per thread, until time is up. */
export async function job(input: ThroughputInput): Promise<ThroughputResult> {
  const { saver, close } = await (input.saver === "redis>postgres"
    ? openStack(input)
    : openSaver(input.saver, input));
  const states = [...SCENARIOS.growing({ startTurns: 2, puts: 19 })];
  // Loading codecs and compiling functions isn't part of what is measured.
  for (let round = 0; round < WARM_UP && input.forMs > 0; round += 1) {
    let parent: string | undefined;
    const thread = `${input.name} warm up ${round}`;
    for (const [step, values] of states.entries()) parent = await put(saver, thread, parent, values, step);
  }
  await waitForAll(input);
  const end = Date.now() + input.forMs;
  const puts: number[] = [];
  const thread = async (n: number): Promise<void> => {
    for (let round = 0; ; round += 1) {
      const thread_id = `${input.name} ${n} ${round}`;
      let last: string | undefined;
      for (const [step, values] of states.entries()) {
        if (Date.now() >= end) return;
        const start = performance.now();
        last = await put(saver, thread_id, last, values, step);
        puts.push(performance.now() - start);
      }
    }
  };
  await Promise.all(Array.from({ length: input.threads }, (_, n) => thread(n)));
  await close();
  return { puts };
}

async function put(
  saver: BaseCheckpointSaver,
  thread_id: string,
  parent: string | undefined,
  channel_values: Record<string, unknown>,
  step: number,
): Promise<string> {
  const versions = { messages: step + 1 };
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values,
    channel_versions: versions,
  };
  const at = { thread_id, checkpoint_ns: "", ...(parent === undefined ? {} : { checkpoint_id: parent }) };
  await saver.put({ configurable: at }, checkpoint, { source: "loop", step, parents: {} }, versions);
  return checkpoint.id;
}
