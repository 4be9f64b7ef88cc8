import { MemorySaver } from "@stratigraph/core";
import { testDifferential } from "@stratigraph/testing";
import { sparse } from "../../../test/rounds.ts";

testDifferential(
  "core MemorySaver",
  async () => ({ saver: new MemorySaver(), close: async () => undefined }),
  sparse,
);
