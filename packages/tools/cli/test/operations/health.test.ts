import { MemoryTier } from "@stratigraph/core";
import type { OutputOf } from "../../src/operations/index.ts";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, onTestFinished, test } from "vitest";
import { ran } from "./support/ran.ts";
import { putValues } from "./support/threads.ts";

test("health tells of the queue of copies to a hot tier: what waits, is in flight and was dropped", async () => {
  const hot = new FaultyTier(new MemoryTier());
  const saver = new TieredSaver({
    hot,
    warm: new MemoryTier(),
    queue: { maxCopies: 2, parallel: 1 },
    breaker: { timeout: "1h" },
  });
  onTestFinished(() => saver.end());
  await saver.setup();
  const health = async () => {
    const { output, text } = await ran<OutputOf<"health">>("health", {}, saver);
    expect(output.items.map(({ role, copies }) => [role, copies !== undefined])).toEqual([
      ["hot", true],
      ["warm", false],
    ]);
    return { copies: output.items[0]!.copies!, text };
  };
  expect((await health()).text).toContain("0 copies wait");
  const hold = hot.hold("append");
  for (const thread of ["a", "b", "c", "d"]) await putValues(saver, thread, { title: "x".repeat(2000) });
  await hold.reached;
  const held = await health();
  expect(held.copies.running).toBe(1);
  for (const count of [held.copies.waiting, held.copies.dropped]) expect(count).toBeGreaterThan(0);
  expect(held.copies.waitingBytes).toBeGreaterThan(0);
  expect(held.text).toMatch(/\d copies wait \(.*\), 1 under way, \d dropped/);
  hold.release();
  await saver.tier.idle();
  for (const thread of ["a", "d"]) await saver.getTuple({ configurable: { thread_id: thread } });
  await saver.tier.idle();
  const { copies, text } = await health();
  expect(copies).toMatchObject({ waiting: 0, waitingBytes: 0, running: 0, dropped: held.copies.dropped });
  expect(copies.hits + copies.misses).toBeGreaterThan(0);
  expect(text).toMatch(/reads hit/);
});
