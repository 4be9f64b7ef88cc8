import * as langchain from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { checkFinalState } from "../checkFinalState.ts";
import { probeMemory } from "../memory.ts";
import { readRecording } from "../recording.ts";
import { type Replay, replay } from "../replay.ts";
import { openSaver, type Place, SAVERS } from "../savers.ts";
import { type StoredBytes, storedBytes } from "../storedBytes.ts";
import type { SaverId } from "../types.ts";
import { countWire, resetWire, type WireCounts } from "../wire.ts";

/** Input of the job. */
export interface ReplayInput extends Place {
  saver: SaverId;
  conversationsFile: string;
  conversations: number;
  /** Also list the whole history once more with forced collections, to see what stays referenced. */
  liveMemoryOfAll: boolean;
}

/** Sizes in bytes. */
export interface ReplayResult {
  turns: number;
  checkpoints: number;
  messages: number;
  finalStateBytes: number;
  threeNodeRun: WireCounts;
  history: {
    peakHeap: number;
    liveOfQuarter: number;
    liveOfAll: number | undefined;
  };
  /** Undefined where the saver keeps nothing in PostgreSQL. */
  stored: StoredBytes | undefined;
}

/** Replays the recording on one thread, then lists the thread's history. */
export async function job(input: ReplayInput): Promise<ReplayResult> {
  const wire = countWire();
  const threeNodeRun = await countThreeNodeRun(input, wire);
  const recording = readRecording(input.conversationsFile, input.conversations, langchain);
  const { saver, close } = await openSaver(input.saver, input);
  const thread = replay(recording, saver, langgraph);
  let turns = 0;
  while (await thread.turn()) turns++;
  const finalStateBytes = await stateBytes(await checkFinalState(thread, recording));
  const stored = SAVERS[input.saver].postgres ? await storedBytes(input.url, input.schema) : undefined;

  const all = await listHistory(thread);
  if (all.checkpoints !== thread.checkpoints())
    throw new Error(`${all.checkpoints} checkpoints were listed, ${thread.checkpoints()} were made`);
  const quarter = Math.ceil(all.checkpoints / 4);
  const liveOfQuarter = await liveWhileListing(thread, quarter);
  const liveOfAll = input.liveMemoryOfAll ? await liveWhileListing(thread, all.checkpoints) : undefined;
  await close();
  return {
    turns,
    checkpoints: all.checkpoints,
    messages: recording.length,
    finalStateBytes,
    threeNodeRun,
    history: { peakHeap: all.peakHeap, liveOfQuarter, liveOfAll },
    stored,
  };
}

/** Bytes of the state as the official serializer writes it. */
async function stateBytes(messages: readonly BaseMessage[]): Promise<number> {
  const [, bytes] = await new MemorySaver().serde.dumpsTyped(messages);
  return bytes.length;
}

async function listHistory(thread: Replay) {
  const memory = probeMemory();
  let checkpoints = 0;
  for await (const _ of thread.graph.getStateHistory(thread.config)) {
    checkpoints++;
    memory.sample();
  }
  return { checkpoints, peakHeap: memory.stop().peakHeap };
}

/** The most that stays referenced while the newest `limit` checkpoints are listed. */
async function liveWhileListing(thread: Replay, limit: number): Promise<number> {
  const memory = probeMemory();
  let checkpoints = 0;
  for await (const _ of thread.graph.getStateHistory(thread.config, { limit }))
    if (checkpoints++ % 40 === 0) memory.sampleLive();
  return memory.stop().peakLive;
}

/** One run of a graph of three nodes in a row, on a thread of its own and with warm connections. */
async function countThreeNodeRun(input: ReplayInput, wire: WireCounts): Promise<WireCounts> {
  const { saver, close } = await openSaver(input.saver, { ...input, schema: `${input.schema}_three` });
  const { Annotation, END, START, StateGraph } = langgraph;
  const State = Annotation.Root({ steps: Annotation<string[]>({ reducer: (a, b) => [...a, ...b] }) });
  const graph = new StateGraph(State)
    .addNode("one", () => ({ steps: ["one"] }))
    .addNode("two", () => ({ steps: ["two"] }))
    .addNode("three", () => ({ steps: ["three"] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .addEdge("three", END)
    .compile({ checkpointer: saver });
  const run = (thread_id: string) =>
    graph.invoke({ steps: ["start"] }, { configurable: { thread_id }, durability: "sync" });
  await run("warm-up");
  resetWire(wire);
  await run("counted");
  const counted = { ...wire };
  await close();
  return counted;
}
