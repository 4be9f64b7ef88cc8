import { MemoryTier, TierSaver } from "@stratigraph/core";
import { ttlOf } from "@stratigraph/core/internal";
import { createWorkspace } from "@stratigraph/workspace";
import { expect, test } from "vitest";
import { isCollected } from "../../../../test/collected.ts";
import { partsOf } from "../src/parts.ts";
import { testWorkspace } from "./suite.ts";

testWorkspace("memory", async () => {
  const tier = new MemoryTier();
  return { saver: new TierSaver(tier), other: new TierSaver(tier) };
});

test("a workspace refuses times that a read begins anew: it is a store's option", () => {
  const ttl = [{ namespace: [], ttl: "1h", refreshOnRead: true }] as const;
  expect(() => createWorkspace(new TierSaver(new MemoryTier()), "trip", { ttl })).toThrow(
    expect.objectContaining({ data: expect.objectContaining({ field: "ttl" }) }),
  );
});

test("handles of a workspace share what they need; without one, nothing of it stays in memory", async () => {
  const saver = new TierSaver(new MemoryTier());
  const open = (name: string) => partsOf(saver, name, { ttl: ttlOf(undefined), freezes: false });
  const kept = open("kept");
  expect(open("kept").own).toBe(kept.own);
  const ref = new WeakRef(open("left").own);
  expect(await isCollected(ref)).toBe(true);
  expect(open("kept").own).toBe(kept.own);
});
