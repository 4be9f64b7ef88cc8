import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { StratigraphError } from "@stratigraph/core";
import { testDifferential, testGraphs, testTier } from "@stratigraph/testing";
import { Cluster } from "ioredis";
import { waitUntil } from "../../../../test/servers/process.ts";
import { startRedisCluster } from "../../../../test/servers/redis.ts";
import { RedisSaver, redis } from "../src/index.ts";
import { testStore } from "../../../tools/testing/src/store/testStore.ts";
import { testWorkspaceTier } from "../../../tools/testing/src/store/testWorkspaceTier.ts";
import { blob, put } from "./fixtures.ts";
import { testShrinking } from "./shrinking.ts";
import { allRounds, sparser } from "../../../../test/rounds.ts";

// Three masters and three replicas: every thread in its slot, the indexes of all threads in others.

const cluster = await startRedisCluster();
const connect = () => {
  const client = new Cluster(
    cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
    { clusterRetryStrategy: () => 50, retryDelayOnFailover: 50, slotsRefreshTimeout: 2000 },
  );
  client.on("error", () => undefined);
  return client;
};
const client = connect();
let prefixes = 0;
const options = () => ({ client, prefix: `p${(prefixes += 1)}:` });

afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

const initializer = {
  checkpointerName: "RedisSaver on a cluster",
  createCheckpointer: () => new RedisSaver(options()),
};
if (allRounds) {
  specTest(initializer);
  deltaChannelHistoryTests(initializer);
}

testTier(
  "redis cluster",
  async () => {
    const shared = options();
    return { tier: redis(shared), reopen: async () => redis(shared), close: async () => undefined };
  },
  sparser,
);

const onCluster = async () => {
  const shared = options();
  return {
    saver: new RedisSaver(shared),
    second: async () => new RedisSaver(shared),
    close: async () => undefined,
  };
};
testGraphs("RedisSaver on a cluster", onCluster, sparser);
testDifferential("RedisSaver on a cluster", onCluster, sparser);

testStore("Redis Cluster", async () => {
  const saver = new RedisSaver(options());
  return { store: saver.store(), other: saver.store() };
});

testWorkspaceTier("Redis Cluster", async () => {
  const shared = options();
  return { tier: redis(shared), other: redis(shared) };
});

testShrinking(options);

test("fromCluster opens a client of its own, which end() closes", async () => {
  const prefix = `from ${(prefixes += 1)}:`;
  const saver = await RedisSaver.fromCluster(
    cluster.nodes.slice(0, 1).map(({ port }) => ({ url: `redis://127.0.0.1:${port}` })),
    { prefix, ttl: "1h" },
  );
  const ids = Array.from({ length: 20 }, (_, n) => `thread ${n}`);
  for (const threadId of ids) await saver.tier.append(put(threadId, "c1"));
  await saver.end();
  const others = redis({ client, prefix });
  for (const threadId of ids) expect((await others.peek({ threadId, namespace: "" })).head).toBe("c1");
});

// Last: it takes a master away.
describe("failover", () => {
  test("a killed master costs errors for a while, and no thread", async () => {
    const tier = redis({ ...options(), commandTimeout: "10s" });
    const ids = Array.from({ length: 60 }, (_, n) => `thread ${n}`);
    for (const threadId of ids) await tier.append(put(threadId, "c1", undefined, [blob(threadId)]));
    // Replication is asynchronous: what a replica doesn't have goes with its master.
    await Promise.all(cluster.nodes.slice(0, 3).map((node) => node.command("wait", 1, 5000)));
    await cluster.killMaster(0);
    await waitUntil("a thread of every slot to be written again", async () => {
      for (const threadId of ids) {
        await tier.append(put(threadId, "c2", "c1")).catch((error: unknown) => {
          if (!StratigraphError.is(error, "UNAVAILABLE")) throw error;
          return undefined;
        });
      }
      const heads = await Promise.all(
        ids.map(async (threadId) => (await tier.peek({ threadId, namespace: "" })).head),
      );
      return heads.every((head) => head === "c2");
    });
    for (const threadId of ids) {
      const { checkpoint } = await tier.read({ threadId, namespace: "", checkpointId: "c1" });
      expect([...checkpoint!.blobs.keys()]).toEqual([blob(threadId).hash]);
    }
  });
});
