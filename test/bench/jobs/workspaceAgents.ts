import { subscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import type { TraceEvent } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { createWorkspace } from "@stratigraph/workspace";
import { percentile } from "../stats.ts";

/** Input of the job: one process with some of the agents, or the one that publishes for them. */
export interface WorkspaceAgentsInput {
  url: string;
  processes: number;
  /** Of each process. */
  agents: number;
  /** Published one after another, with pauses. */
  calm: number;
  /** Published together. */
  burst: number;
  /** Of each agent, of one item that all change. */
  updates: number;
  as: "subscriber" | "publisher";
}

/** Times in milliseconds. */
export interface WorkspaceAgentsResult {
  /** From the call of publish to the message in an agent's loop. */
  calm: readonly number[];
  burst: readonly number[];
  /** Reads of the log that this process sent while all was calm, per message. */
  readsPerMessage: number;
  /** Of the publisher: until all of a burst were acknowledged. */
  publishedMs: number;
  /** Of the publisher: from the first update of an agent to the last. */
  updatedMs: number;
  /** Of the publisher: what the counter shows in the end. */
  count: number;
}

const now = (): number => performance.timeOrigin + performance.now();

/** Agents of several processes on one topic: how soon each gets a message. Then all of them change one item. */
export async function job(input: WorkspaceAgentsInput): Promise<WorkspaceAgentsResult> {
  const { url, processes, agents, calm, burst, updates } = input;
  const saver = url.startsWith("redis") ? await RedisSaver.fromUrl(url) : PostgresSaver.fromConnString(url);
  await saver.setup();
  const workspace = createWorkspace(saver, "bench");
  const topic = workspace.topic("tasks");
  const result = { calm: [], burst: [], readsPerMessage: 0, publishedMs: 0, updatedMs: 0, count: 0 };
  try {
    if (input.as === "publisher") return { ...result, ...(await published()) };
    return { ...result, ...(await received()) };
  } finally {
    await saver.end();
  }

  async function told(key: string): Promise<void> {
    const all = async (): Promise<number> => (await workspace.search([key], { limit: 1000 })).length;
    while ((await all()) < processes) await sleep(20);
  }

  async function published(): Promise<Partial<WorkspaceAgentsResult>> {
    await told("ready");
    for (let n = 0; n < calm; n += 1) {
      await topic.publish({ phase: "calm", sent: now() });
      await sleep(100);
    }
    const begun = performance.now();
    await Promise.all(Array.from({ length: burst }, () => topic.publish({ phase: "burst", sent: now() })));
    const publishedMs = performance.now() - begun;
    await told("done");
    const start = performance.now();
    await workspace.put(["start"], "updates", {});
    await told("updated");
    const counter = await workspace.get(["counter"], "c");
    return { publishedMs, updatedMs: performance.now() - start, count: Number(counter!.value["n"]) };
  }

  async function received(): Promise<Partial<WorkspaceAgentsResult>> {
    let reads = 0;
    subscribe("stratigraph", (message) => {
      const event = message as TraceEvent;
      if (event.type === "call" && /log/i.test(event.method)) reads += 1;
    });
    const times = { calm: [] as number[], burst: [] as number[] };
    let readsInCalm = 0;
    const agent = async (n: number): Promise<void> => {
      let seen = 0;
      for await (const { body } of topic.subscribe(`${process.pid} ${n}`, { from: "first" })) {
        const phase = body["phase"] as "calm" | "burst";
        times[phase].push(now() - Number(body["sent"]));
        if (times.calm.length === calm * agents && readsInCalm === 0) readsInCalm = reads;
        if (++seen === calm + burst) return;
      }
    };
    const all = Promise.all(Array.from({ length: agents }, (_, n) => agent(n)));
    await sleep(1000);
    reads = 0;
    await workspace.put(["ready"], String(process.pid), {});
    await all;
    await workspace.put(["done"], String(process.pid), {});
    while ((await workspace.get(["start"], "updates")) === null) await sleep(5);
    const update = async (): Promise<void> => {
      for (let n = 0; n < updates; n += 1)
        await workspace.update(["counter"], "c", (value) => ({ n: Number(value?.["n"] ?? 0) + 1 }));
    };
    await Promise.all(Array.from({ length: agents }, update));
    await workspace.put(["updated"], String(process.pid), {});
    return { ...times, readsPerMessage: readsInCalm / calm };
  }
}

/** The p50 and p99 of times. */
export function spread(times: readonly number[]): { readonly p50: number; readonly p99: number } {
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}
