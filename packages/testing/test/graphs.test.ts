import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { testGraphs } from "../src/graphs/testGraphs.ts";

testGraphs("official MemorySaver", async () => ({ saver: new MemorySaver(), close: async () => {} }));
