import { setTimeout as sleep } from "node:timers/promises";
import * as langchain from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import { type Checkpoint, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { postgres } from "@stratigraph/postgres";
import { TieredSaver } from "@stratigraph/tiered";
import { query } from "../../servers/postgres.ts";
import { countedS3, type S3Place } from "../countedS3.ts";
import { readRecording } from "../recording.ts";
import { replay } from "../replay.ts";
import type { Place } from "../savers.ts";
import { SCENARIOS } from "../scenarios.ts";
import { percentile } from "../stats.ts";

/** Input of the job. */
export interface ForegroundInput extends Place {
  s3: S3Place;
  conversationsFile: string;
  /** Idle threads of one conversation each, for maintenance to archive. */
  backlog: number;
  /** Threads that are written, each `everyMs`. */
  threads: number;
  everyMs: number;
  /** Length of a window, and how many there are with maintenance and without. */
  windowMs: number;
  windows: number;
}

/** Durations in milliseconds. */
export interface ForegroundResult {
  without: { p50: number; p99: number; puts: number };
  during: { p50: number; p99: number; puts: number };
  /** Archived meanwhile. */
  archived: number;
  archivedPerSecond: number;
}

/** Puts at a steady rate, with maintenance running in the same process and without, in turns. */
export async function job(input: ForegroundInput): Promise<ForegroundResult> {
  const cold = countedS3(input.s3);
  const saver = new TieredSaver({
    warm: postgres({ url: input.url, schema: input.schema }),
    cold: cold.tier,
    archiveAfter: "7d",
  });
  await saver.setup();
  await makeBacklog(saver, input);
  const threads = Array.from({ length: input.threads }, (_, n) => new Foreground(saver, `foreground ${n}`));
  // A process that serves, or archives, has its codecs, plans and connections already.
  await window(threads, { ...input, windowMs: 1500 });
  await saver.maintain({ signal: AbortSignal.abort() });
  const times = { without: [] as number[], during: [] as number[] };
  let archived = 0;
  let maintainedMs = 0;
  for (let round = 0; round < input.windows; round += 1) {
    times.without.push(...(await window(threads, input)));
    const ending = new AbortController();
    const begin = performance.now();
    const maintaining = maintainUntil(saver, ending.signal);
    times.during.push(...(await window(threads, input)));
    maintainedMs += performance.now() - begin;
    ending.abort();
    archived += await maintaining;
  }
  await saver.end();
  cold.close();
  const summary = (puts: number[]) => ({
    p50: percentile(puts, 0.5),
    p99: percentile(puts, 0.99),
    puts: puts.length,
  });
  return {
    without: summary(times.without),
    during: summary(times.during),
    archived,
    archivedPerSecond: archived / (maintainedMs / 1000),
  };
}

/** One conversation, copied to many threads that were last written a month ago. */
async function makeBacklog(saver: TieredSaver, input: ForegroundInput): Promise<void> {
  const one = replay(readRecording(input.conversationsFile, 1, langchain), saver, langgraph);
  while (await one.turn()) continue;
  for (let n = 0; n < input.backlog; n += 1) await saver.copyThread("recorded", `idle ${n}`);
  await query(input.url, `update "${input.schema}".threads set written_at = now() - interval '30 days'`);
  await query(input.url, "checkpoint");
}

async function maintainUntil(saver: TieredSaver, signal: AbortSignal): Promise<number> {
  let archived = 0;
  while (!signal.aborted) {
    const { steps } = await saver.maintain({ signal });
    for (const { error, done } of steps) if (!done) throw error ?? new Error("not archived");
    archived += steps.length;
    if (steps.length === 0) throw new Error("the backlog is too small");
  }
  return archived;
}

/** Durations of all puts of a window. Each thread puts at fixed times, however long its last put took. */
async function window(
  threads: readonly Foreground[],
  { everyMs, windowMs }: Pick<ForegroundInput, "everyMs" | "windowMs">,
): Promise<number[]> {
  const times: number[] = [];
  const begin = performance.now();
  await Promise.all(
    threads.map(async (thread, n) => {
      for (let due = begin + (n * everyMs) / threads.length; due < begin + windowMs; due += everyMs) {
        await sleep(Math.max(0, due - performance.now()));
        const start = performance.now();
        await thread.put();
        times.push(performance.now() - start);
      }
    }),
  );
  return times;
}

/** A conversation that grows by a turn per put, and begins anew after twenty. */
class Foreground {
  readonly #saver: TieredSaver;
  readonly #name: string;
  readonly #states = [...SCENARIOS.growing({ startTurns: 2, puts: 19 })];
  #puts = 0;
  #parent: string | undefined;

  constructor(saver: TieredSaver, name: string) {
    this.#saver = saver;
    this.#name = name;
  }

  async put(): Promise<void> {
    const step = this.#puts % this.#states.length;
    const thread_id = `${this.#name} ${Math.floor(this.#puts / this.#states.length)}`;
    this.#puts += 1;
    const versions = { messages: step + 1 };
    const checkpoint: Checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: this.#states[step]!,
      channel_versions: versions,
    };
    const parent = step === 0 ? {} : { checkpoint_id: this.#parent! };
    const configurable = { thread_id, checkpoint_ns: "", ...parent };
    await this.#saver.put({ configurable }, checkpoint, { source: "loop", step, parents: {} }, versions);
    this.#parent = checkpoint.id;
  }
}
