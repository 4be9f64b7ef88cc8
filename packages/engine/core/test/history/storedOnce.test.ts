import { MemoryTier, TierSaver } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { text } from "../contract/support.ts";
import { configOf, idOf, put } from "./chain.ts";

async function blobCount(tier: MemoryTier): Promise<number> {
  return (await tier.blobs("t")).length;
}

describe("equal bytes are stored once per thread", () => {
  const [one, two] = [text("one", 3), text("two", 3)];

  test("in two channels, two checkpoints, two namespaces, two tasks' pending writes and a channel", async () => {
    const tier = new MemoryTier();
    const saver = new TierSaver(tier);
    await put(saver, 1, { a: one, b: one });
    expect(await blobCount(tier)).toBe(1);
    await put(saver, 2, { a: two, b: one });
    await put(saver, 3, { a: one, b: two });
    expect(await blobCount(tier)).toBe(2);
    await saver.putWrites(configOf(idOf(3)), [["a", one]], "task 1");
    await saver.putWrites(configOf(idOf(3)), [["b", two]], "task 2");
    expect(await blobCount(tier)).toBe(2);
    const three = text("three", 3);
    await saver.putWrites(configOf(idOf(3)), [["a", three]], "task 3");
    expect(await blobCount(tier)).toBe(3);
    await put(saver, 4, { a: three, b: three });
    expect(await blobCount(tier)).toBe(3);
    const tuple = await new TierSaver(tier).getTuple(configOf(idOf(3)));
    expect(tuple?.checkpoint.channel_values).toEqual({ a: one, b: two });
    expect(tuple?.pendingWrites).toEqual([
      ["task 1", "a", one],
      ["task 2", "b", two],
      ["task 3", "a", three],
    ]);
  });

  test("by a saver that doesn't hold them: the tier keeps the one it has", async () => {
    const tier = new MemoryTier();
    await put(new TierSaver(tier), 1, { a: one });
    await put(new TierSaver(tier), 2, { a: two });
    const before = await tier.blobs("t");
    await put(new TierSaver(tier, { patchMemory: "0b" }), 3, { a: one });
    expect(await tier.blobs("t")).toEqual(before);
    expect((await new TierSaver(tier).getTuple(configOf()))?.checkpoint.channel_values).toEqual({ a: one });
  });

  test("a short pending write is a reference where its bytes are stored, and else in its batch", async () => {
    const tier = new MemoryTier();
    const saver = new TierSaver(tier);
    // As JSON: 70, 64 and 300 bytes.
    const [short, shortest, fresh] = ["s".repeat(68), "t".repeat(62), text("fresh").slice(0, 298)];
    await put(saver, 1, { a: short, b: shortest });
    const config = configOf(idOf(1));
    expect(await blobCount(tier)).toBe(1);
    await saver.putWrites(
      config,
      [
        ["a", short],
        ["b", shortest],
        ["c", fresh],
      ],
      "task",
    );
    const { writes } = await tier.peek({ threadId: "t", namespace: "" });
    expect(writes[0]!.blobs).toEqual((await tier.blobs("t")).map(({ hash }) => hash));
    expect(await blobCount(tier)).toBe(1);
    expect((await new TierSaver(tier).getTuple(config))?.pendingWrites).toEqual([
      ["task", "a", short],
      ["task", "b", shortest],
      ["task", "c", fresh],
    ]);
  });

  test("but nothing is shared between threads", async () => {
    const tier = new MemoryTier();
    const saver = new TierSaver(tier);
    await put(saver, 1, { a: one });
    await saver.copyThread("t", "copy");
    await saver.deleteThread("t");
    const tuple = await new TierSaver(tier).getTuple({ configurable: { thread_id: "copy" } });
    expect(tuple?.checkpoint.channel_values).toEqual({ a: one });
  });
});
