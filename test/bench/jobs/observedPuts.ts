import { AsyncLocalStorage } from "node:async_hooks";
import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { setTracer } from "@stratigraph/core/internal";
import { PostgresSaver } from "@stratigraph/postgres";
import { observe } from "@stratigraph/service";
import * as prometheus from "prom-client";
import { median } from "../stats.ts";

/** Input of the job. */
export interface ObservedPutsInput {
  url: string;
  schema: string;
  /** Puts, each with a getTuple, in one round. */
  puts: number;
  /** Rounds of each way, in turns. */
  rounds: number;
}

/** Of one put and one getTuple together, medians of rounds: time and CPU in microseconds. */
export interface ObservedWay {
  way: string;
  memory: { took: number };
  postgres: { took: number; cpu: number };
}

/** The ways in which nobody, or somebody, watches. */
const ways: Readonly<Record<string, () => () => void>> = {
  "nobody watches": () => () => undefined,
  "metrics (prom-client)": () => {
    const telemetry = observe({ prometheus, register: new prometheus.Registry() });
    return () => telemetry.stop();
  },
  "a tracer with an asynchronous context": () => {
    const active = new AsyncLocalStorage<object>();
    setTracer({ begin: (event) => ({ run: (work) => active.run(event, work), end: () => undefined }) });
    return () => setTracer(undefined);
  },
};

/** What it costs to be watched: the same puts and reads with nobody listening, with metrics, and with a tracer. */
export async function job(input: ObservedPutsInput): Promise<ObservedWay[]> {
  const postgres = PostgresSaver.fromConnString(input.url, { schema: input.schema });
  await postgres.setup();
  const samples = new Map(Object.keys(ways).map((way) => [way, { memory: [0], took: [0], cpu: [0] }]));
  for (let round = -1; round < input.rounds; round += 1) {
    for (const [way, watch] of Object.entries(ways)) {
      const stop = watch();
      const memory = await timed(new MemorySaver(), `${way} ${round}`, input.puts);
      const stored = await timed(postgres, `${way} ${round}`, Math.ceil(input.puts / 10));
      stop();
      // The first round only warms up.
      if (round < 0) continue;
      const found = samples.get(way)!;
      found.memory[round] = memory.took;
      found.took[round] = stored.took;
      found.cpu[round] = stored.cpu;
    }
  }
  await postgres.end();
  return [...samples].map(([way, { memory, took, cpu }]) => ({
    way,
    memory: { took: median(memory) },
    postgres: { took: median(took), cpu: median(cpu) },
  }));
}

async function timed(
  saver: TierSaver,
  threadId: string,
  puts: number,
): Promise<{ took: number; cpu: number }> {
  const thread = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  let config: Parameters<TierSaver["put"]>[0] = thread;
  const cpuBefore = process.cpuUsage();
  const beganMs = performance.now();
  for (let step = 0; step < puts; step += 1) {
    const checkpoint: Checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: { text: `step ${step} ${"and so on ".repeat(20)}` },
      channel_versions: { text: step },
    };
    config = await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, { text: step });
    await saver.getTuple(thread);
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return { took: ((performance.now() - beganMs) * 1000) / puts, cpu: (user + system) / puts };
}
