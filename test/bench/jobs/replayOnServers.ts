import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import type { TraceEvent } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TierStack } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import { generateTrace, type TraceShape } from "../traffic/generateTrace.ts";
import type { ReplayResult } from "./replayTrace.ts";
import type { ThreadUse } from "../traffic/trace.ts";
import { writeCheckpoint } from "../traffic/writeCheckpoint.ts";

/** Input of the job. */
export interface ServersInput {
  url: string;
  schema: string;
  /** A Redis that nothing else uses. */
  redisUrl: string;
  policy: "fixed" | "adaptive";
  ttlMs: number;
  trace: TraceShape;
  /** How many times faster than the trace it is replayed; the ttl is as many times shorter. */
  speed: number;
}

/** How often Redis is asked for its memory, in milliseconds. */
const sampleMs = 100;

/** Replays a trace on Redis and PostgreSQL, in a small part of its time. The uses of one thread keep their order. */
export async function job({ trace, speed, policy, ttlMs, ...place }: ServersInput): Promise<ReplayResult> {
  const uses = generateTrace(trace);
  const client = new Redis(place.redisUrl);
  const stack = new TierStack({
    // A busy machine must not look like a dead Redis.
    breaker: { timeout: "10s" },
    hot: redis({ url: place.redisUrl, ttl: `${ttlMs / speed}ms` }),
    warm: postgres({ url: place.url, schema: place.schema }),
    adaptiveTtl: policy === "adaptive",
  });
  await stack.setup();
  /** Threads whose bytes PostgreSQL was asked for since they were last looked at: misses. */
  const missed = new Set<string>();
  const listen = (event: unknown): void => {
    const call = event as TraceEvent;
    if (call.type === "call" && call.tier === "postgres" && call.method === "read")
      missed.add(call.threadId!);
  };
  subscribe("stratigraph", listen);
  const heads = new Map<string, number>();
  const last = new Map<string, Promise<void>>();
  const learnedMs = (trace.days * 86_400_000) / 3;
  let [reads, hits, byteMs] = [0, 0, 0];
  const use = async (each: ThreadUse, before: Promise<void> | undefined): Promise<void> => {
    await before;
    if (each.use === "write") {
      await writeCheckpoint(stack, each, heads);
      // The copy is made within milliseconds, which are seconds of the trace: the next use must find it.
      return await stack.idle();
    }
    missed.delete(each.thread);
    await stack.read({ threadId: each.thread, namespace: "" });
    if (each.scan === true || each.atMs < learnedMs || !heads.has(each.thread)) return;
    reads += 1;
    if (!missed.has(each.thread)) hits += 1;
  };
  const emptyBytes = await usedMemory(client);
  const beganMs = performance.now();
  const wallMs = (): number => performance.now() - beganMs;
  let sampledMs = 0;
  const sample = async (): Promise<void> => {
    const bytes = (await usedMemory(client)) - emptyBytes;
    const nowMs = wallMs();
    if (nowMs * speed >= learnedMs) byteMs += bytes * (nowMs - sampledMs);
    sampledMs = nowMs;
  };
  for (const each of uses) {
    for (let waitMs = each.atMs / speed - wallMs(); waitMs > 1; waitMs = each.atMs / speed - wallMs()) {
      await sleep(Math.min(waitMs, sampleMs));
      if (wallMs() > sampledMs + sampleMs) await sample();
    }
    last.set(each.thread, use(each, last.get(each.thread)));
  }
  await Promise.all(last.values());
  await sample();
  unsubscribe("stratigraph", listen);
  await stack.end();
  client.disconnect();
  return { policy, ttlMs, reads, hits, megabyteHours: (byteMs * speed) / 1e6 / 3_600_000 };
}

async function usedMemory(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
}
