import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { TraceEvent } from "@stratigraph/core";
import { Redis } from "ioredis";
import { startRedis, startRedisCluster } from "../../../../test/servers/redis.ts";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { RedisSaver, redis } from "../src/index.ts";
import { at, blob, put } from "./fixtures.ts";

// What an operator meets: settings that are wrong, what is left behind, what is traced, values of a hundred megabytes.

const { url, prefix: keyPrefix } = await sharedRedis();
const client = new Redis(url);
let prefixes = 0;
const fresh = () => `${keyPrefix}ops ${(prefixes += 1)}:`;
afterAll(() => client.disconnect());

describe("what can't heal by itself fails at open, and says what to do", () => {
  test("a server that lacks a command, and a user that may only read", async () => {
    const old = await startRedis({ extraArgs: ["--rename-command", "ZRANDMEMBER", ""] });
    const server = await startRedis();
    try {
      await expect(RedisSaver.fromUrl(old.url)).rejects.toMatchObject({
        code: "MISCONFIGURED",
        message: expect.stringContaining("Redis 6.2 or later") as string,
      });
      const read = ["~*", "+@read", "+@connection", "+eval", "+evalsha", "+info"];
      await server.command("acl", "setuser", "reader", "on", ">pw", ...read);
      await expect(RedisSaver.fromUrl(`redis://reader:pw@127.0.0.1:${server.port}`)).rejects.toMatchObject({
        code: "ACCESS_DENIED",
        retryable: false,
      });
    } finally {
      await old.stop();
      await server.stop();
    }
  });

  test("a cluster taken for a server, and a server taken for a cluster", async () => {
    const cluster = await startRedisCluster();
    try {
      const [node] = cluster.nodes;
      const tiers = Array.from({ length: 12 }, (_, n) => redis({ url: node!.url, prefix: `${n}:` }));
      const ends = await Promise.allSettled(tiers.map((tier) => tier.setup()));
      const failed = ends.filter((end) => end.status === "rejected");
      expect(failed.length).toBeGreaterThan(0);
      for (const end of failed)
        expect(end.reason).toMatchObject({
          code: "MISCONFIGURED",
          message: expect.stringContaining("pass a Cluster client") as string,
        });
      for (const tier of tiers) await tier.end();
    } finally {
      await cluster.stop();
    }
    await expect(RedisSaver.fromCluster([{ url }])).rejects.toMatchObject({
      code: "MISCONFIGURED",
      message: expect.stringContaining("single server") as string,
    });
  });

  // What Redis, ioredis and Node say; these can't be had of a server on demand.
  test.each([
    ["LOADING Redis is loading the dataset in memory", "UNAVAILABLE"],
    ["CLUSTERDOWN The cluster is down", "UNAVAILABLE"],
    ["READONLY You can't write against a read only replica.", "UNAVAILABLE"],
    ["self-signed certificate in certificate chain", "MISCONFIGURED"],
    ["ERR unknown command 'eval', with args beginning with:", "MISCONFIGURED"],
  ])("%s: %s", async (said, code) => {
    const callBuffer = async () => {
      throw new Error(said);
    };
    await expect(redis({ client: { callBuffer } }).setup()).rejects.toMatchObject({
      code,
      retryable: code === "UNAVAILABLE",
    });
  });
});

test("a wire of a cluster's node that hangs: errors in time, and other nodes serve", async () => {
  const cluster = await startRedisCluster();
  const nodes = cluster.nodes.map((node) => ({ url: node.url }));
  const tier = redis({ cluster: nodes, commandTimeout: "400ms" });
  try {
    const ids = Array.from({ length: 30 }, (_, n) => `thread ${n}`);
    for (const id of ids) await tier.append(put(id, "c1"));
    cluster.nodes[0]!.pause();
    const ends = await Promise.allSettled(ids.map((threadId) => tier.peek({ threadId, namespace: "" })));
    const failed = ends.filter((end) => end.status === "rejected");
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThan(ids.length);
    for (const end of failed) expect(end.reason).toMatchObject({ code: "UNAVAILABLE" });
    cluster.nodes[0]!.resume();
    await expect
      .poll(
        async () =>
          await Promise.all(
            ids.map(async (threadId) => (await tier.peek({ threadId, namespace: "" })).head),
          ).catch(() => []),
        { timeout: 20_000 },
      )
      .toEqual(ids.map(() => "c1"));
  } finally {
    await tier.end();
    await cluster.stop();
  }
});

test("a value of 100 MB gets the time that its bytes take, on its way there and back", async () => {
  const keyPrefix = fresh();
  const large = blob("large", 100_000_000);
  const sizes: number[] = [];
  // A server that takes a second for 40 MB: what the limit is for.
  const slow = {
    callBuffer: async (command: string, args: (string | Buffer | number)[]) => {
      const reply = await client.callBuffer(command, args);
      const bytes = ([args, reply].flat() as unknown[]).reduce<number>(
        (sum, part) => sum + ((part as Buffer)?.length ?? 0),
        0,
      );
      sizes.push(bytes);
      if (bytes > 1e6) await new Promise((resolve) => setTimeout(resolve, bytes / 40_000));
      return reply;
    },
  };
  const tier = redis({ client: slow, prefix: keyPrefix, commandTimeout: "1s" });
  await tier.append(put("t", "c1", undefined, [large]));
  const { checkpoint } = await tier.read(at("t", "c1"));
  expect(checkpoint?.blobs.get(large.hash)?.bytes.length).toBe(100_000_000);
  expect(Math.max(...sizes)).toBeGreaterThanOrEqual(100_000_000);
  const hung = { callBuffer: async () => await new Promise(() => undefined) };
  const stuck = redis({ client: hung, commandTimeout: "50ms" });
  await expect(stuck.append(put("t", "c1", undefined, [blob("few", 2_000_000)]))).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/a command of 2 MB within \d+ ms/) as string,
  });
  await tier.deleteThread("t");
});

test("each call is traced once, with its method, thread and error", async () => {
  const events: TraceEvent[] = [];
  const listen = (event: unknown) => events.push(event as TraceEvent);
  subscribe("stratigraph", listen);
  try {
    const tier = redis({ client, prefix: fresh() });
    await tier.append(put("t", "c1"));
    await tier.peek(at("t", "c1"));
    for await (const _ of tier.list({ threadId: "t" })) continue;
    for await (const _ of tier.threads({})) continue;
    await tier.append(put("t", "c1", "other")).catch(() => undefined);
    await tier.append(put("t", "c3", "other")).catch(() => undefined);
    await tier.end();
    await tier.read(at("t", "c1")).catch(() => undefined);
  } finally {
    unsubscribe("stratigraph", listen);
  }
  const calls = events.filter((event) => event.type === "call" && event.tier === "redis");
  const told = calls.map(({ type, tier, method, threadId }: Record<string, unknown>) => ({
    type,
    tier,
    method,
    ...(threadId === undefined ? {} : { threadId }),
  }));
  expect(told).toEqual(
    ["append", "peek", "list", "threads", "append", "append", "read"].map((method) => ({
      type: "call",
      tier: "redis",
      method,
      ...(method === "threads" ? {} : { threadId: "t" }),
    })),
  );
  expect(
    calls.map((event) => (event.type === "call" ? (event.error as { code?: string })?.code : "")),
  ).toEqual([
    ...[undefined, undefined, undefined, undefined, undefined],
    ...["CHECKPOINT_CONFLICT", "CLOSED"],
  ]);
  for (const event of calls) expect(event).toMatchObject({ ms: expect.any(Number) as number });
});
