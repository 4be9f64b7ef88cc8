import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { testDifferential } from "../src/differential/testDifferential.ts";

// Two of the same: what differs here differs from run to run, and could not be compared.
testDifferential("official MemorySaver", async () => ({ saver: new MemorySaver(), close: async () => {} }));
