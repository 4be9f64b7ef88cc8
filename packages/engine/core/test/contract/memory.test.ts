import { MemoryTier, type Tier } from "@stratigraph/core";
import { FaultyTier, testTier, type TierPart } from "@stratigraph/testing";
import { expect, test } from "vitest";
import { withoutFastPaths } from "./support.ts";

const opened = async (tier: Tier) => ({ tier, reopen: async () => tier, close: async () => {} });
const requires: readonly TierPart[] = [
  "reopen",
  "ancestry",
  "copyThread",
  "copies",
  "leases",
  "locks",
  "deleteUnchanged",
  "archiveSource",
  "inspect",
  "tags",
];

testTier("memory", () => opened(new MemoryTier()), { requires: [...requires, "status"] });

testTier("memory behind a FaultyTier without faults", () => opened(new FaultyTier(new MemoryTier())), {
  requires,
});

test("a FaultyTier has the optional parts of the tier behind it, and no others", () => {
  const parts = [
    "ping",
    "setup",
    "end",
    "ancestry",
    "copyThread",
    "adopt",
    "invalidate",
    "lease",
    "deleteUnchanged",
    "sweep",
    "tombstones",
    "strays",
    "tagThread",
  ];
  const had = (tier: Tier) => parts.filter((part) => part in tier && Reflect.get(tier, part) !== undefined);
  const memory = new MemoryTier();
  expect(had(new FaultyTier(memory))).toEqual(had(memory));
  const narrow = withoutFastPaths(memory);
  expect(had(new FaultyTier(narrow))).toEqual(had(narrow));
  expect(had(new FaultyTier(new FaultyTier(narrow)))).toEqual(had(narrow));
  expect(had(narrow)).not.toContain("copyThread");
});
