/**
 * Official serializer against ours, in one process: `npx tsx packages/core/bench/serde.ts`.
 * Needs the recorded conversations in ../shared/data and says so where they are missing.
 */
import { existsSync, readFileSync } from "node:fs";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer } from "../src/serde/index.ts";
import { SimilarWriter } from "../src/serde/SimilarWriter.ts";

interface RecordedMessage {
  readonly role: string;
  readonly content: string | null;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
}

const DATA = new URL("../../../../shared/data/agent-conversations.json", import.meta.url);
const CONVERSATIONS = 20;
const WARM_UP_RUNS = 50;

function toMessage(recorded: RecordedMessage, index: number): BaseMessage {
  const id = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
  const content = recorded.content ?? "";
  switch (recorded.role) {
    case "system":
      return new SystemMessage({ id, content });
    case "user":
      return new HumanMessage({ id, content });
    case "tool":
      return new ToolMessage({
        id,
        content,
        name: recorded.name ?? "",
        tool_call_id: recorded.tool_call_id ?? "",
      });
    default: {
      const calls = (recorded.tool_calls ?? []).map((call) => ({
        id: call.id,
        name: call.function.name,
        args: JSON.parse(call.function.arguments) as Record<string, unknown>,
        type: "tool_call" as const,
      }));
      return new AIMessage({ id, content, tool_calls: calls });
    }
  }
}

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
  const writer = new SimilarWriter();
  const head = new Uint8Array(0);
  const shorter = messages.slice(0, -1);
  const [, ms = Number.NaN] = await medians(
    [() => serde.dumpsSimilar(shorter, writer, head), () => serde.dumpsSimilar(messages, writer, head)],
    runs,
  );
  console.log(`${messages.length} messages, the last one new: ${ms.toFixed(4)} ms`);
}

if (existsSync(DATA)) {
  const recorded = JSON.parse(readFileSync(DATA, "utf8")) as { traj: RecordedMessage[] }[];
  const messages = recorded
    .slice(0, CONVERSATIONS)
    .flatMap((conversation) => conversation.traj)
    .map(toMessage);
  await compare(`${messages.length} messages`, messages, 100);
  await growing(messages, 100);
  await compare("1 message", messages[3], 5000);
  await compare("plain state", { messages: messages.map((message) => message.toDict()), step: 3 }, 100);
} else {
  console.log(`Skipped: no recorded conversations at ${DATA.pathname}`);
}
