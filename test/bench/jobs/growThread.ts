import * as langchain from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import { readRecording } from "../recording.ts";
import { replay } from "../replay.ts";
import { openSaver, type Place } from "../savers.ts";
import { percentile } from "../stats.ts";
import { type StoredBytes, storedBytes } from "../storedBytes.ts";
import { timeCalls } from "../timers.ts";
import type { SaverId } from "../types.ts";

/** Input of the job. */
export interface GrowthInput extends Place {
  saver: SaverId;
  conversationsFile: string;
  conversations: number;
  /** Checkpoints of the first and of the last stretch that are compared. */
  stretch: number;
}

/** Stored bytes after a number of checkpoints. */
export interface GrowthPoint {
  checkpoints: number;
  stored: StoredBytes;
}

/** Times in milliseconds; those of calls are of the last stretch. */
export interface GrowthResult {
  messages: number;
  afterFirst: GrowthPoint;
  beforeLast: GrowthPoint;
  end: GrowthPoint;
  wall: number;
  putP50: number;
  getTupleP50: number;
}

/** Replays everything on one thread, and measures the schema after the first and around the last stretch. */
export async function job(input: GrowthInput): Promise<GrowthResult> {
  const recording = readRecording(input.conversationsFile, input.conversations, langchain);
  const total = countCheckpoints(recording.map((message) => message.getType()));
  const { saver, close } = await openSaver(input.saver, input);
  const times = timeCalls(saver);
  const thread = replay(recording, saver, langgraph);
  const pointAt = async (checkpoints: number): Promise<GrowthPoint> => {
    while (thread.checkpoints() < checkpoints) {
      const start = performance.now();
      await thread.turn();
      wall += performance.now() - start;
    }
    const stored = await storedBytes(input.url, input.schema);
    return { checkpoints: thread.checkpoints(), stored };
  };
  let wall = 0;
  const afterFirst = await pointAt(input.stretch);
  const beforeLast = await pointAt(total - input.stretch);
  const before = { put: times.put.length, getTuple: times.getTuple.length };
  const end = await pointAt(total);
  await close();
  return {
    messages: recording.length,
    afterFirst,
    beforeLast,
    end,
    wall,
    putP50: percentile(times.put.slice(before.put), 0.5),
    getTupleP50: percentile(times.getTuple.slice(before.getTuple), 0.5),
  };
}

/** Two per turn, one per message that a node returns. */
function countCheckpoints(types: string[]): number {
  return types.reduce((sum, type) => sum + (type === "ai" || type === "tool" ? 1 : 2), 0);
}
