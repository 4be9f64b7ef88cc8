import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { TraceEvent } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { randomNumbers } from "../randomNumbers.ts";
import { median } from "../stats.ts";
import { storedBytes } from "../storedBytes.ts";

/** Input of the job. */
export interface LayeredTurnsInput {
  url: string;
  turns: number;
  /** Size of the cache, in bytes of text. */
  cacheBytes: number;
}

/** For how long each turn waits for a model, in milliseconds. */
const modelMs = 1000;

/** One way to keep the cache. Times in milliseconds, medians of turns; of each turn, its longest put and putWrites. */
export interface LayeredWay {
  way: string;
  /** A turn, as its caller waits for it under durability "sync", without the time of the model. */
  turn: number;
  put: number;
  putWrites: number;
  /** The first getTuple of another process. */
  resume: number;
  /** Bytes sent to the database, all turns together. */
  sent: number;
  /** Bytes of the tables afterwards. */
  stored: number;
}

const State = Annotation.Root({
  messages: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  pages: Annotation<Record<string, string>>({ reducer: (_, b) => b, default: () => ({}) }),
});

/** Words that pages are made of. Text of them compresses to about a third, as prose does. */
const vocabulary = Array.from({ length: 4096 }, (_, n) =>
  createHash("sha256")
    .update(`${n}`)
    .digest("base64url")
    .slice(0, 3 + (n % 8)),
);

/** Pages of about 10 kB, other ones in each turn. */
function pagesOf(turn: number, bytes: number): Record<string, string> {
  const next = randomNumbers(turn + 2);
  const page = (): string =>
    Array.from({ length: 1300 }, () => vocabulary[Math.floor(next() * 4096)]).join(" ");
  const pages: Record<string, string> = {};
  for (let n = 0; n * 10_000 < bytes; n += 1) pages[`page ${n}`] = page();
  return pages;
}

/** Turns of an agent with a large cache in its state, which changes in every turn: stored with each step, or as best effort, or never. */
export async function job(input: LayeredTurnsInput): Promise<LayeredWay[]> {
  return [
    await measured("a channel like others", input, {}),
    await measured("bestEffort", input, { bestEffort: ["pages"] }),
    await measured("no cache in the state", { ...input, cacheBytes: 0 }, {}),
  ];
}

async function measured(
  way: string,
  { url, turns, cacheBytes }: LayeredTurnsInput,
  options: { readonly bestEffort?: readonly string[] },
): Promise<LayeredWay> {
  const schema = `layers_${way.replaceAll(/\W/g, "_").toLowerCase()}`;
  const config = { configurable: { thread_id: "t" }, durability: "sync" as const };
  const saver = PostgresSaver.fromConnString(url, { schema, ...options });
  await saver.setup();
  const took = { turn: [] as number[], put: [] as number[], putWrites: [] as number[] };
  const longest = { put: 0, putWrites: 0 };
  let pages: Record<string, string> = {};
  let sent = 0;
  const listen = (message: unknown): void => {
    const event = message as TraceEvent;
    if (event.type === "call") sent += event.sent ?? 0;
    if (event.type === "operation" && (event.method === "put" || event.method === "putWrites"))
      longest[event.method] = Math.max(longest[event.method], event.ms);
  };
  const graph = new StateGraph(State)
    .addNode("fetch", async ({ messages }) => {
      await sleep(modelMs);
      return { messages: [`answer ${messages.length}`], ...(cacheBytes === 0 ? {} : { pages }) };
    })
    .addEdge(START, "fetch")
    .compile({ checkpointer: saver });
  // The first turn only warms up.
  for (let turn = -1; turn < turns; turn += 1) {
    if (turn === 0) subscribe("stratigraph", listen);
    pages = pagesOf(turn, cacheBytes);
    Object.assign(longest, { put: 0, putWrites: 0 });
    const beganMs = performance.now();
    await graph.invoke({ messages: [`question ${turn}`] }, config);
    if (turn < 0) continue;
    took.turn.push(performance.now() - beganMs - modelMs);
    took.put.push(longest.put);
    took.putWrites.push(longest.putWrites);
  }
  await saver.end();
  unsubscribe("stratigraph", listen);
  const other = PostgresSaver.fromConnString(url, { schema, ...options });
  const beganMs = performance.now();
  await other.getTuple(config);
  const resume = performance.now() - beganMs;
  await other.end();
  const { tables } = await storedBytes(url, schema);
  const [turn, put, putWrites] = [median(took.turn), median(took.put), median(took.putWrites)];
  return { way, turn, put, putWrites, resume, sent, stored: tables };
}
