import { MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { asking, chat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { savers } from "./support/savers.ts";
import { hostileId, ran } from "./support/ran.ts";

interface Pruned {
  readonly looked: number;
  readonly threads: number;
  readonly checkpoints: number;
  readonly bytes: number;
  readonly failed: number;
  readonly cursor?: string;
  readonly complete: boolean;
  readonly items: readonly { readonly thread: string; readonly kept: number; readonly error?: string }[];
}

async function fill(saver: TierSaver, id: string, turns: number): Promise<void> {
  const graph = chat(saver);
  for (let n = 0; n < turns; n += 1)
    await graph.invoke({ messages: [human(`${n} ${crypto.randomUUID().repeat(50)}`)] }, on(id));
}

/** Bytes of a thread as the tier lists them. */
async function sizeOf({ tier }: TierSaver, threadId: string): Promise<number> {
  let bytes = (await tier.blobs(threadId)).reduce((sum, { size }) => sum + size, 0);
  for await (const { record, writes } of tier.list({ threadId, recordsOnly: true }))
    bytes += writes.reduce((sum, { body }) => sum + body.length, record.body.length);
  return bytes;
}

async function count(saver: TierSaver, threadId: string): Promise<number> {
  let found = 0;
  for await (const _ of saver.list(on(threadId))) found += 1;
  return found;
}

describe.each(savers)("prune on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  test("tells to the byte what it would remove, and removes no more", async () => {
    await fill(saver, hostileId, 4);
    const before = await sizeOf(saver, hostileId);
    const { values } = await chat(saver).getState(on(hostileId));
    const plan = await ran<Pruned>("prune", { thread: hostileId, keepLast: "2", dryRun: true }, saver);
    expect(plan.output).toMatchObject({ looked: 1, threads: 1, checkpoints: 10, items: [{ kept: 2 }] });
    expect(plan.text).toContain("Nothing was removed.");
    expect(await sizeOf(saver, hostileId)).toBe(before);
    const { output, text } = await ran<Pruned>("prune", { thread: hostileId, keepLast: 2 }, saver);
    expect(output).toMatchObject({ checkpoints: 10, bytes: plan.output.bytes });
    expect(text).toContain("Pruned 1 thread, 10 checkpoints");
    expect(before - (await sizeOf(saver, hostileId))).toBe(output.bytes);
    expect(await count(saver, hostileId)).toBe(2);
    expect((await chat(saver).getState(on(hostileId))).values).toEqual(values);
    await fill(saver, hostileId, 1);
    expect((await ran("prune", { thread: "nobody", keepLast: 1 }, saver)).text).toBe(
      "Nothing to prune of 1 thread looked at.",
    );
  });

  test("all threads, or those that carry a tag; interrupts that wait stay", async () => {
    await Promise.all(["p1", "p2"].map((id) => fill(saver, id, 2)));
    await asking(saver).invoke({ log: ["start"] }, on("waits"));
    await saver.tagThread("p1", { team: "sales" });
    const tagged = await ran<Pruned>("prune", { tag: "team=sales", keepLast: 1 }, saver);
    expect(tagged.output).toMatchObject({ looked: 1, threads: 1, complete: true });
    expect([await count(saver, "p1"), await count(saver, "p2")]).toEqual([1, 6]);
    const all = await ran<Pruned>("prune", { all: true, keepLast: 1 }, saver);
    expect(all.output.items.map(({ thread }) => thread)).toContain("p2");
    expect(await count(saver, "p2")).toBe(1);
    expect((await asking(saver).getState(on("waits"))).tasks[0]!.interrupts).toHaveLength(1);
  });

  test("by the age of checkpoints, together with a number to keep", async () => {
    await fill(saver, "aged", 3);
    const { output } = await ran<Pruned>("prune", { thread: "aged", olderThan: "1h" }, saver);
    expect(output).toMatchObject({ looked: 1, checkpoints: 0 });
    const now = Date.now();
    await waitUntil("their age", () => Date.now() > now + 1, { everyMs: 1 });
    await ran("prune", { thread: "aged", olderThan: "1ms", keepLast: 4 }, saver);
    expect(await count(saver, "aged")).toBe(4);
    await ran("prune", { thread: "aged", olderThan: "1ms" }, saver);
    expect(await count(saver, "aged")).toBe(1);
  });

  test("says what is missing", async () => {
    await expect(ran("prune", { thread: "a" }, saver)).rejects.toThrow("Say what stays");
    await expect(ran("prune", { keepLast: 1 }, saver)).rejects.toThrow("thread, tag, all");
    await expect(ran("prune", { all: true, cursor: "x", keepLast: 1 }, saver)).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });
});

test("an interrupted prune continues where it stopped, each thread once", async () => {
  const saver = new TierSaver(new MemoryTier());
  for (let n = 0; n < 5; n += 1) await fill(saver, `t${n}`, 2);
  const abort = new AbortController();
  const given = {
    signal: abort.signal,
    onProgress: ({ done }: { done: number }) => done === 2 && abort.abort(),
  };
  const first = await ran<Pruned>("prune", { all: true, keepLast: 1 }, saver, given as never);
  expect(first.output).toMatchObject({ complete: false, looked: 2 });
  const rest = await ran<Pruned>("prune", { all: true, keepLast: 1, cursor: first.output.cursor }, saver);
  expect(rest.output).toMatchObject({ complete: true, looked: 3, threads: 3 });
});

test("a thread that fails doesn't stop the others, an outage does", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  for (const id of ["a", "b"]) await fill(saver, id, 2);
  tier.failNext("remove", new Error("broken"));
  const { output, found, text } = await ran<Pruned>("prune", { thread: ["a", "b"], keepLast: 1 }, saver);
  expect(output).toMatchObject({ failed: 1, threads: 1 });
  expect(found).toBe(true);
  expect(text).toContain("NOT PRUNED a: broken");
  await saver.end();
  const { StratigraphError } = await import("@stratigraph/core");
  tier.failNext("list", new StratigraphError("UNAVAILABLE", "away"));
  await expect(ran("prune", { thread: ["a", "b"], keepLast: 1 }, saver)).rejects.toMatchObject({
    code: expect.stringMatching(/UNAVAILABLE|CLOSED/),
  });
});
