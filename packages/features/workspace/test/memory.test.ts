import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createWorkspace } from "@stratigraph/workspace";
import { expect, test } from "vitest";
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
