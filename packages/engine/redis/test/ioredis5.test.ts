import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { testTier } from "@stratigraph/testing";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { allRounds, sparser } from "../../../../test/rounds.ts";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { RedisSaver, redis } from "../src/index.ts";
import { blob, put } from "./fixtures.ts";

// All other tests are with ioredis 6, which talks RESP3; version 5 talks RESP2.

const { url, prefix } = await sharedRedis();
const client = new Redis5(url);
let prefixes = 0;
const options = () => ({ client, prefix: `${prefix}five ${(prefixes += 1)}:` });

afterAll(() => client.disconnect());

testTier(
  "redis through ioredis 5",
  async () => {
    const shared = options();
    return { tier: redis(shared), reopen: async () => redis(shared), close: async () => undefined };
  },
  sparser,
);

const initializer = {
  checkpointerName: "RedisSaver through ioredis 5",
  createCheckpointer: () => new RedisSaver(options()),
};
if (allRounds) {
  specTest(initializer);
  deltaChannelHistoryTests(initializer);
}

test("what ioredis 5 wrote, ioredis 6 reads, and the other way round", async () => {
  const shared = options();
  const six = new Redis(url);
  const tiers = [redis(shared), redis({ ...shared, client: six })] as const;
  const thread = "both \u{1F600}";
  const large = blob("large", 100_000);
  await tiers[0].append(put(thread, "c1", undefined, [blob("small"), large]));
  await tiers[1].append(put(thread, "c2", "c1", [blob("another")]));
  const readings = await Promise.all(
    tiers.flatMap((tier) =>
      ["c1", "c2"].map((checkpointId) => tier.read({ threadId: thread, namespace: "", checkpointId })),
    ),
  );
  for (const [n, reading] of readings.entries()) {
    expect(reading.head).toBe("c2");
    expect(reading).toEqual(readings[n % 2]);
  }
  expect(Buffer.compare(readings[0]!.checkpoint!.blobs.get(large.hash)!.bytes, large.bytes)).toBe(0);
  six.disconnect();
});
