import { RedisSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-redis";
import { MemorySaver } from "@stratigraph/core";
import { exportThreads, importThreads, saverTarget } from "@stratigraph/migrate";
import { redisSource } from "@stratigraph/migrate/internal";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { startRedis } from "../../../../test/servers/redis.ts";
import { counting, say } from "./support/conversation.ts";
import { plainCommand, plainRedisJson } from "./support/plainRedisJson.ts";

let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let official: OfficialSaver;

beforeAll(async () => {
  if (!available.redis) return;
  // A server of its own: the official saver's keys have no prefix.
  server = await startRedis();
  redis = new Redis(server.url);
  official = new OfficialSaver(plainRedisJson(redis) as never);
});

afterAll(async () => {
  await redis?.quit();
  await server?.stop();
});

const ids = ["ada", "a:b", "a", "émoji 🎉"];

test.skipIf(!available.redis)(
  "keys come over, more than ten checkpoints, colons in ids too, and go on",
  async () => {
    for (const id of ids) for (const text of ["1", "2", "3", "4", "5"]) await say(official, id, text);
    const saver = new MemorySaver();
    const source = redisSource({ command: plainCommand(redis) });
    expect(await source.plan()).toMatchObject({ threads: 4, checkpoints: 60 });
    const report = await importThreads(source, saver);
    expect(report).toMatchObject({ threads: 4, checkpoints: 60, differences: [], mixedUp: [] });
    for (const id of ids) {
      const config = { configurable: { thread_id: id } };
      for await (const { config: at, checkpoint, metadata, parentConfig } of saver.list(config)) {
        const original = (await official.getTuple(at))!;
        expect(checkpoint).toEqual(original.checkpoint);
        expect(metadata).toEqual(original.metadata);
        expect(parentConfig).toEqual(original.parentConfig);
      }
      expect((await say(saver, id, "6")).length).toBe((await say(official, id, "6")).length);
    }
    expect((await importThreads(source, saver)).diverged).toEqual([...ids].sort());
  },
);

test.skipIf(!available.redis)("branches that share keys are reported; and back, without them", async () => {
  const config = { configurable: { thread_id: "forked", checkpoint_ns: "" } };
  await say(official, "forked", "One");
  const first = (await official.getTuple(config))!;
  await say(official, "forked", "Two");
  await counting(official).invoke({ messages: ["Other"] }, first.config);
  const saver = new MemorySaver();
  const source = redisSource({ command: plainCommand(redis) });
  const report = await importThreads(source, saver, { threadIds: ["forked"] });
  expect(report.mixedUp.flatMap(({ channels }) => channels)).toContain("messages");

  await say(saver, "back", "One");
  await say(saver, "back", "Two");
  const target = saverTarget(official, { source });
  const exported = await exportThreads(saver, target, { threadIds: ["back"] });
  expect(exported).toMatchObject({ threads: 1, checkpoints: 6, differences: [] });
  expect((await say(official, "back", "Three")).length).toBe(6);
});
