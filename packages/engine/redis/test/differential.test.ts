import { testDifferential } from "@stratigraph/testing";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { RedisSaver } from "../src/index.ts";
import { sparse } from "../../../../test/rounds.ts";

testDifferential(
  "RedisSaver",
  async () => {
    const { url, prefix } = await sharedRedis();
    const savers = [
      await RedisSaver.fromUrl(url, { prefix }),
      await RedisSaver.fromUrl(url, { prefix }),
    ] as const;
    let opened = 0;
    return {
      saver: savers[0],
      second: async () => savers[opened++ % 2 === 0 ? 0 : 1],
      close: async () => {
        for (const saver of savers) await saver.end();
      },
    };
  },
  sparse,
);
