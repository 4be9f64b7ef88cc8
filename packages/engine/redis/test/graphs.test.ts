import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { testGraphs, testPromises, testSaver } from "@stratigraph/testing";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { RedisSaver } from "../src/index.ts";
import { sparse } from "../../../../test/rounds.ts";

/** A saver on keys of its own; every further one opens a client of its own. */
const open = async (serde?: SerializerProtocol) => {
  const { url, prefix } = await sharedRedis();
  const savers: RedisSaver[] = [];
  const second = async () => {
    const saver = await RedisSaver.fromUrl(url, { prefix, serde });
    savers.push(saver);
    return saver;
  };
  const close = async () => {
    for (const saver of savers) await saver.end();
  };
  return { saver: await second(), second, close };
};

testGraphs(
  "RedisSaver",
  Object.assign(() => open(), { withSerde: open }),
  sparse,
);
testPromises("RedisSaver", () => open(), sparse);
testSaver("RedisSaver", () => open());
