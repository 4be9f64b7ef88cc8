import { MemorySaver } from "@stratigraph/core";
import { testDifferential } from "@stratigraph/testing";

testDifferential("core MemorySaver", async () => ({
  saver: new MemorySaver(),
  close: async () => undefined,
}));
