import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { RedisSaver } from "../src/index.ts";

const initializer = {
  checkpointerName: "@stratigraph/redis RedisSaver",
  createCheckpointer: async () => {
    const { url, prefix } = await sharedRedis();
    return await RedisSaver.fromUrl(url, { prefix });
  },
  destroyCheckpointer: async (saver: RedisSaver) => await saver.end(),
};

specTest(initializer);
deltaChannelHistoryTests(initializer);
