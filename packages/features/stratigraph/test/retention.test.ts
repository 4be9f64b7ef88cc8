import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createCheckpointer, MemoryTier, type CheckpointerConfig, type TierSaver } from "stratigraph";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";

// Retention through the front door, on everything that owns threads. Servers have their own clocks: it is ours that runs ahead.

vi.setConfig({ testTimeout: 240_000 });

const day = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function databaseUrl(): Promise<string> {
  const { url, drop } = await freshDatabase();
  onTestFinished(drop);
  return url;
}

/** One turn of a chat: three checkpoints. */
async function chat(checkpointer: TierSaver, thread_id: string): Promise<number> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({
      messages: [{ role: "assistant", content: `${messages.length}` }],
    }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
  const config = { configurable: { thread_id }, durability: "sync" as const };
  const { messages } = await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
  return messages.length;
}

async function countOf(checkpointer: TierSaver, thread_id: string): Promise<number> {
  let count = 0;
  for await (const _ of checkpointer.list({ configurable: { thread_id } })) count += 1;
  return count;
}

describe.each<[string, boolean, () => Promise<CheckpointerConfig>]>([
  ["memory", true, async () => ({ memory: true })],
  ["folder", true, async () => ({ pglite: temporaryFolder() })],
  ["postgres", available.postgres, async () => ({ postgres: await databaseUrl() })],
  [
    "redis",
    available.redis,
    async () => ({ redis: (await sharedRedis()).url, prefix: (await sharedRedis()).prefix }),
  ],
  ["a stack without a cold tier", true, async () => ({ hot: new MemoryTier(), warm: new MemoryTier() })],
  [
    "Redis over PostgreSQL",
    available.redis && available.postgres,
    async () => ({ hot: `${(await sharedRedis()).url}?ttl=5m`, warm: await databaseUrl() }),
  ],
])("%s", (_name, isAvailable, configOf) => {
  test.skipIf(!isAvailable)("keepLast prunes, deleteAfter deletes, and threads in use go on", async () => {
    const config = {
      ...(await configOf()),
      keepLast: 2,
      deleteAfter: "90d",
      pause: "0ms",
    } as CheckpointerConfig;
    const checkpointer = await createCheckpointer(config);
    try {
      for (const thread of ["ada", "bob"])
        for (let turn = 0; turn < 2; turn += 1) await chat(checkpointer, thread);
      const pruned = await checkpointer.maintain();
      expect(pruned.steps.filter(({ what }) => what === "prune")).toEqual(
        expect.arrayContaining([
          { what: "prune", threadId: "ada", checkpoints: 4, freed: expect.any(Number), done: true },
          { what: "prune", threadId: "bob", checkpoints: 4, freed: expect.any(Number), done: true },
        ]),
      );
      expect(await countOf(checkpointer, "ada")).toBe(2);
      expect(await chat(checkpointer, "ada")).toBe(6);
      vi.setSystemTime(Date.now() + 80 * day);
      expect((await checkpointer.maintain()).steps).not.toContainEqual(
        expect.objectContaining({ what: "delete" }),
      );
      vi.setSystemTime(Date.now() + 11 * day);
      const threads = ["ada", "bob"];
      expect((await checkpointer.maintain({ dryRun: true })).steps).toHaveLength(2);
      for (const thread of threads) expect(await countOf(checkpointer, thread)).toBeGreaterThan(0);
      const { steps } = await checkpointer.maintain();
      expect(steps.map(({ what, threadId, done }) => [what, threadId, done])).toEqual(
        expect.arrayContaining(threads.map((thread) => ["delete", thread, true])),
      );
      for (const thread of threads) expect(await countOf(checkpointer, thread)).toBe(0);
      expect(await chat(checkpointer, "ada"), "begun anew").toBe(2);
    } finally {
      await checkpointer.end();
    }
  });
});
