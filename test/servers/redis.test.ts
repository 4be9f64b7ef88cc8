import { Cluster } from "ioredis";
import { expect, test } from "vitest";
import { available } from "./available.ts";
import { isAlive, waitUntil } from "./process.ts";
import { startRedis, startRedisCluster } from "./redis.ts";
import { sharedRedis } from "./shared.ts";

test.skipIf(!available.redis)(
  "Redis starts with a password and a limit, pauses, and comes back empty after a kill",
  async () => {
    const server = await startRedis({ password: "s3cret", maxmemory: "16mb" });
    const pid = server.pid;
    try {
      expect(await server.command("set", "key", "value")).toBe("OK");
      expect(await server.command("config", "get", "maxmemory")).toEqual([
        "maxmemory",
        String(16 * 1024 * 1024),
      ]);

      server.pause();
      const answer = server.command("get", "key");
      const first = await Promise.race([
        answer,
        new Promise((resolve) => setTimeout(resolve, 200, "silence")),
      ]);
      expect(first).toBe("silence");
      server.resume();
      expect(await answer).toBe("value");

      await server.kill();
      await expect(server.command("ping")).rejects.toThrow();
      await server.start();
      expect(await server.command("get", "key")).toBe(null);
    } finally {
      await server.stop();
    }
    expect(isAlive(pid)).toBe(false);
    await expect(server.command("ping")).rejects.toThrow();
  },
);

test.skipIf(!available.redis)("with appendonly a killed Redis keeps its data", async () => {
  const server = await startRedis({ appendonly: true, extraArgs: ["--appendfsync", "always"] });
  try {
    await server.command("set", "key", "value");
    await server.kill();
    await server.start();
    expect(await server.command("get", "key")).toBe("value");
  } finally {
    await server.stop();
  }
});

test.skipIf(!available.redis)("a Redis Cluster spreads keys and survives the loss of a master", async () => {
  const cluster = await startRedisCluster();
  const client = new Cluster(
    cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
    { clusterRetryStrategy: () => 50, retryDelayOnFailover: 50 },
  );
  client.on("error", () => undefined);
  try {
    for (let i = 0; i < 30; i++) await client.set(`key${i}`, i);
    const sizes = await Promise.all(cluster.nodes.slice(0, 3).map((node) => node.command("dbsize")));
    expect(sizes.every((size) => Number(size) > 0)).toBe(true);
    expect(sizes.reduce((sum: number, size) => sum + Number(size), 0)).toBe(30);
    // Replication is asynchronous. Without WAIT a key could be lost with its master.
    await Promise.all(cluster.nodes.slice(0, 3).map((node) => node.command("wait", 1, 5000)));

    await cluster.killMaster(0);
    await waitUntil("the replica to take over", async () =>
      String(await cluster.nodes[3]?.command("info", "replication")).includes("role:master"),
    );
    for (let i = 0; i < 30; i++) expect(await client.get(`key${i}`)).toBe(String(i));
  } finally {
    client.disconnect();
    await cluster.stop();
  }
  await expect(cluster.nodes[1]?.command("ping")).rejects.toThrow();
});

const shared = available.redis || process.env["STRATIGRAPH_TEST_REDIS_URL"] !== undefined;
test.skipIf(!shared)("the shared Redis gives each caller a prefix of its own", async () => {
  const [one, two] = [await sharedRedis(), await sharedRedis()];
  expect(one.url).toBe(two.url);
  expect(one.prefix).not.toBe(two.prefix);
});
