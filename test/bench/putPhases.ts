/**
 * Where the time of a put goes: `node --import tsx --conditions=@stratigraph/source test/bench/putPhases.ts`. The recording of
 * `pnpm bench` on PostgreSQL with fsync; milliseconds of the calls that a put is made of, each within the one before.
 */
import { CheckpointCoder } from "../../packages/core/src/checkpointCoder.ts";
import { WriteCoder } from "../../packages/core/src/writeCoder.ts";
import { PoolExecutor } from "../../packages/postgres/src/poolExecutor.ts";
import { PostgresSaver, PostgresTier } from "@stratigraph/postgres";
import { startPostgres } from "../servers/postgres.ts";
import { readRecording } from "./recording.ts";
import { replay } from "./replay.ts";
import { percentile } from "./stats.ts";

const times: { readonly name: string; samples: number[] }[] = [];

/** Times a method of a class; where it answers with a promise, until that is settled. */
function timed<T extends object>(prototype: T, method: keyof T & string, name: string): void {
  const time = { name, samples: [] as number[] };
  times.push(time);
  const original = prototype[method] as (...args: unknown[]) => unknown;
  prototype[method] = function (this: T, ...args: unknown[]): unknown {
    const start = performance.now();
    const taken = (): void => void time.samples.push(performance.now() - start);
    const result = original.apply(this, args);
    if (result instanceof Promise) return result.finally(taken);
    taken();
    return result;
  } as T[typeof method];
}

timed(PostgresSaver.prototype, "put", "put");
timed(CheckpointCoder.prototype, "capture", "  capturing");
timed(CheckpointCoder.prototype, "encodeCaptured", "  encoding");
timed(PostgresTier.prototype, "append", "  tier.append");
timed(PoolExecutor.prototype, "send", "    a statement, of any kind");
timed(PostgresSaver.prototype, "putWrites", "putWrites");
timed(WriteCoder.prototype, "capture", "  capturing of writes");
timed(WriteCoder.prototype, "encode", "  encoding of writes");
timed(PostgresTier.prototype, "appendWrites", "  tier.appendWrites");

const file = new URL("../../../shared/data/agent-conversations.json", import.meta.url).pathname;
const recording = readRecording(file, 20);
const server = await startPostgres({ fsync: true, version: 15 });
const saver = PostgresSaver.fromConnString(server.url);
await saver.setup();
// The first rounds warm up.
for (let round = 0; round < 3; round += 1) {
  await saver.deleteThread("recorded");
  for (const time of times) time.samples = [];
  const thread = replay(recording, saver);
  while (await thread.turn()) continue;
}
for (const { name, samples } of times) {
  const [p10, p50, p90] = [0.1, 0.5, 0.9].map((at) => percentile(samples, at).toFixed(2));
  process.stdout.write(`${name.padEnd(28)} ${samples.length} calls: p10 ${p10}, p50 ${p50}, p90 ${p90} ms\n`);
}
await saver.end();
await server.stop();
