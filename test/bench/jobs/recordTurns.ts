import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { TraceEvent } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { loadLibraries } from "../libraries.ts";
import { readConversation } from "../recording.ts";
import { player } from "../replay.ts";
import type { ThreadUse } from "../traffic/trace.ts";

/** What one turn of a conversation did to its thread in the hot tier, in order. */
export type Turn = readonly Pick<ThreadUse, "use" | "bytes">[];

/** Input of the job. */
export interface RecordInput {
  url: string;
  schema: string;
  redisUrl: string;
  /** The conversations, and how many of them are played. Each is a user with a thread of its own. */
  conversationsFile: string;
  conversations: number;
  /** How many instances of the application there are. Each turn is served by the next one, as behind a load balancer. */
  instances: number;
}

/** What a record takes beside its values, in bytes, about. */
const recordBytes = 600;

/** Turns by conversation. */
export type RecordedTurns = readonly (readonly Turn[])[];

/**
 * Plays conversations at the same time through compiled graphs over Redis and PostgreSQL, and records each turn's calls to Redis
 * from the diagnostics channel. The model answers at once, so that order, kinds and sizes are real, and times are not.
 */
export async function job(input: RecordInput): Promise<RecordedTurns> {
  const { langgraph, messages } = await loadLibraries("esm");
  const savers = Array.from(
    { length: input.instances },
    () =>
      new TieredSaver({
        // A busy machine must not look like a dead Redis: every call is to be recorded.
        breaker: { timeout: "10s" },
        hot: redis({ url: input.redisUrl, ttl: "1h" }),
        warm: postgres({ url: input.url, schema: input.schema }),
      }),
  );
  for (const saver of savers) await saver.setup();
  const calls = new Map<string, ThreadUse["use"][]>();
  const listen = (event: unknown): void => {
    const call = useOf(event as TraceEvent);
    if (call !== undefined) calls.set(call.thread, [...(calls.get(call.thread) ?? []), call.use]);
  };
  const play = async (user: number): Promise<Turn[]> => {
    const thread = `user ${user}`;
    const recording = readConversation(input.conversationsFile, user, messages);
    const conversation = player(savers[0]!, langgraph).begin(recording, thread);
    const turns: Turn[] = [];
    let stored = 0;
    for (;;) {
      const saver = savers[(user + turns.length) % savers.length]!;
      conversation.graph.checkpointer = saver;
      calls.delete(thread);
      if (!(await conversation.turn())) return turns;
      await saver.tier.idle();
      const uses = calls.get(thread) ?? [];
      const before = stored;
      stored = (await saver.tier.blobs(thread)).reduce((sum, { size }) => sum + size, 0);
      const writes = uses.filter((use) => use === "write").length;
      turns.push(
        uses.map((use) => ({ use, bytes: use === "read" ? 0 : (stored - before) / writes + recordBytes })),
      );
    }
  };
  subscribe("stratigraph", listen);
  try {
    return await Promise.all(Array.from({ length: input.conversations }, (_, user) => play(user)));
  } finally {
    unsubscribe("stratigraph", listen);
    for (const saver of savers) await saver.end();
  }
}

function useOf(event: TraceEvent): { thread: string; use: ThreadUse["use"] } | undefined {
  if (event.type !== "call" || event.tier !== "redis" || event.threadId === undefined) return undefined;
  const { threadId: thread, method } = event;
  if (method === "read") return { thread, use: "read" };
  return method === "append" || method === "appendWrites" ? { thread, use: "write" } : undefined;
}
