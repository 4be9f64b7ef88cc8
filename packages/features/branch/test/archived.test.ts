import { MemoryTier } from "@stratigraph/core";
import { TieredSaver, boundedMemory } from "@stratigraph/tiered";
import { branches, compare, diff, fork, lineage, log, merge, mergeBase } from "@stratigraph/branch";
import { chat, human, on, textOf } from "./support/graphs.ts";

const day = 86_400_000;

/** A stack whose clock is a month ahead, so that everything in it counts as idle. */
function stack(): TieredSaver {
  return new TieredSaver(
    {
      hot: boundedMemory(),
      warm: new MemoryTier(),
      cold: new MemoryTier(),
      archiveAfter: "7d",
      pause: "0ms",
    },
    () => Date.now() + 30 * day,
  );
}

/** Archives every thread, and proves that it did. */
async function archive(saver: TieredSaver): Promise<void> {
  const { steps } = await saver.maintain();
  expect(steps.filter(({ what }) => what === "archive")).not.toHaveLength(0);
}

test("archived threads are forked, compared and merged as others are", async () => {
  const saver = stack();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("base")] }, on("a"));
  await archive(saver);
  const { threadId } = await fork(saver, { threadId: "a" }, { to: "b" });
  await graph.invoke({ messages: [human("from b")] }, on(threadId));
  await graph.invoke({ messages: [human("from a")] }, on("a"));
  await archive(saver);
  expect((await lineage(saver, "b")).map(({ threadId }) => threadId)).toEqual(["a"]);
  await archive(saver);
  expect((await mergeBase(saver, { threadId: "a" }, { threadId: "b" }))?.checkpointId).toBe(
    (await lineage(saver, "b"))[0]!.checkpointId,
  );
  await archive(saver);
  expect((await diff(saver, { threadId: "a" }, { threadId: "b" })).channels.map(({ name }) => name)).toEqual([
    "messages",
  ]);
  await archive(saver);
  // Both are counted from the fork.
  expect((await compare(saver, ["a", "b"])).threads.map(({ steps }) => steps)).toEqual([2, 2]);
  await archive(saver);
  expect((await log(saver, "b")).entries).not.toHaveLength(0);
  await archive(saver);
  expect(await merge(graph, "a", { threadId: "b" }, { strategy: { sum: "reducer" } })).toMatchObject({
    status: "merged",
  });
  await archive(saver);
  const { values } = await graph.getState(on("a"));
  expect(values.sum).toBe(3);
  expect(new Set(textOf(values.messages))).toEqual(
    new Set(["base", "re: base", "from b", "re: from b", "from a", "re: from a"]),
  );
  expect((await branches(saver, "a"))[0]).toMatchObject({ kind: "main", threadId: "a" });
});
