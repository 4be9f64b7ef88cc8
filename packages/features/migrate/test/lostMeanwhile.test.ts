import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver as OfficialMemory, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import type { AppendRequest } from "@stratigraph/core/tier";
import { importThreads, saverSource } from "@stratigraph/migrate";
import { beforeAll, expect, test } from "vitest";
import { history, say } from "./support/conversation.ts";

// A storage that loses a thread while it is imported, as Redis may by an expiry, and a database with a failover.

/** A storage that loses all once, before an append with heads, or before the look at the thread that comes before its second part. */
function losing(before: "its heads" | "its second part"): MemoryTier {
  let [tier, appends, isLost] = [new MemoryTier(), 0, false];
  const lose = (): void => {
    if (!isLost) [tier, isLost] = [new MemoryTier(), true];
  };
  return new Proxy(tier, {
    get: (_, name) => {
      if (name === "append")
        return async (request: AppendRequest) => {
          if (before === "its heads" && request.heads.length > 0) lose();
          appends += 1;
          return await tier.append(request);
        };
      if (name === "peek" && before === "its second part" && appends === 1) lose();
      const member = Reflect.get(tier, name, tier) as unknown;
      return typeof member === "function" ? (member.bind(tier) as unknown) : member;
    },
  });
}

const official = new OfficialMemory();

beforeAll(async () => {
  await say(official, "short", "hello");
  // Checkpoints that have no value in common, so that none relies on another.
  let config: RunnableConfig = { configurable: { thread_id: "long", checkpoint_ns: "" } };
  for (let n = 1; n <= 300; n += 1) {
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(n), channel_values: { n }, channel_versions: { n } };
    config = await official.put(config, checkpoint, { source: "loop", step: n, parents: {} });
  }
});

test.each([
  ["short", true, "its heads"],
  ["long", true, "its heads"],
  ["long", false, "its second part"],
  ["long", false, "its heads"],
] as const)(
  "%s, verified: %s, lost before %s: all of it is imported all the same",
  async (threadId, verify, before) => {
    const saver = new TierSaver(losing(before));
    const imported = await importThreads(saverSource(official), saver, { verify, threadIds: [threadId] });
    expect(imported).toMatchObject({ differences: [], diverged: [] });
    expect(await history(saver, threadId)).toEqual(await history(official, threadId));
  },
);
