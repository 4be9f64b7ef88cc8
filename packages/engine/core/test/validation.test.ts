import { specTest, deltaChannelHistoryTests } from "@langchain/langgraph-checkpoint-validation";
import { MemorySaver } from "@stratigraph/core";

const initializer = {
  checkpointerName: "@stratigraph/core MemorySaver",
  createCheckpointer: () => new MemorySaver(),
};

specTest(initializer);
deltaChannelHistoryTests(initializer);
