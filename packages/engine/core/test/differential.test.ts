import { MemorySaver } from "@stratigraph/core";
import { testDifferential } from "@stratigraph/testing";
import { inRounds } from "../../../../test/rounds.ts";

testDifferential(
  "core MemorySaver",
  async () => ({ saver: new MemorySaver(), close: async () => undefined }),
  inRounds({ few: { durabilities: "in turn" }, all: {} } as const),
);
