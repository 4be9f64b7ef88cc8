/**
 * Official serializer against ours, in one process: `npx tsx packages/core/bench/serde.ts`.
 * Needs the recorded conversations in ../shared/data and says so where they are missing.
 */
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer } from "../src/serde/index.ts";
import { IncrementalWriter } from "../src/incremental/incrementalWriter.ts";
import { recordedMessages } from "./recorded.ts";

const CONVERSATIONS = 20;
const WARM_UP_RUNS = 50;

const median = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN;

/** Median milliseconds of each work, run in turns so that a busy machine is busy for both. */
async function medians(works: readonly (() => unknown)[], runs: number): Promise<number[]> {
  const times = works.map((): number[] => []);
  for (let run = -WARM_UP_RUNS; run < runs; run++) {
    for (const [index, work] of works.entries()) {
      const start = performance.now();
      await work();
      if (run >= 0) times[index]?.push(performance.now() - start);
    }
  }
  return times.map(median);
}

async function compare(name: string, value: unknown, runs: number): Promise<void> {
  const official = new MemorySaver().serde;
  const ours = new StratigraphSerializer();
  const [type, bytes] = await official.dumpsTyped(value);
  const [, ourBytes] = ours.dumps(value);
  const rows: [string, () => unknown, () => unknown][] = [
    ["dumps", () => official.dumpsTyped(value), () => ours.dumps(value)],
    ["loads", () => official.loadsTyped(type, bytes), () => ours.loads(type, bytes)],
  ];
  const same = Buffer.compare(bytes, ourBytes) === 0 ? "same bytes" : "DIFFERENT BYTES";
  console.log(`${name}: ${bytes.length} bytes, ${same}`);
  for (const [label, theirs, mine] of rows) {
    const [theirMs = Number.NaN, ourMs = Number.NaN] = await medians([theirs, mine], runs);
    const ratio = (theirMs / ourMs).toFixed(1);
    console.log(
      `  ${label}  official ${theirMs.toFixed(4)} ms  ours ${ourMs.toFixed(4)} ms  ${ratio} times faster`,
    );
  }
}

/** A list that grows by its last item: what serialising it takes that remembers the list before. */
async function growing(messages: readonly unknown[], runs: number): Promise<void> {
  const serde = new StratigraphSerializer();
  const writer = new IncrementalWriter();
  const head = new Uint8Array(0);
  const shorter = messages.slice(0, -1);
  const [, ms = Number.NaN] = await medians(
    [
      () => serde.dumpsIncremental(shorter, writer, head),
      () => serde.dumpsIncremental(messages, writer, head),
    ],
    runs,
  );
  console.log(`${messages.length} messages, the last one new: ${ms.toFixed(4)} ms`);
}

const messages = recordedMessages()?.slice(0, CONVERSATIONS).flat();
if (messages !== undefined) {
  await compare(`${messages.length} messages`, messages, 100);
  await growing(messages, 100);
  await compare("1 message", messages[3], 5000);
  await compare("plain state", { messages: messages.map((message) => message.toDict()), step: 3 }, 100);
}
