import { MemoryTier, StratigraphError, type TierSaver } from "@stratigraph/core";
import { TieredSaver } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import { waitUntil } from "../../../../test/servers/process.ts";
import { startRedisSentinel, type RedisSentinel } from "../../../../test/servers/redisSentinel.ts";
import { put, text, valueOf } from "../../tiered/test/support.ts";
import { redis, RedisSaver } from "../src/index.ts";

// The code and the statements of docs/guides/redis-sentinel.md.

/** A client as in the guide. */
function connect({ sentinel }: RedisSentinel): Redis {
  const client = new Redis({ sentinels: [sentinel], name: "agents", failoverDetector: true });
  client.on("error", () => undefined);
  return client;
}

/** Puts a thread again and again until that is acknowledged. */
async function putAtLast(saver: TierSaver, threadId: string): Promise<void> {
  await waitUntil(threadId, async () => {
    try {
      await put(saver, threadId, 1, text(threadId));
      return true;
    } catch (error) {
      if (!StratigraphError.is(error, "UNAVAILABLE")) throw error;
      return false;
    }
  });
}

test("a master that hangs is left for its replica; a stack over it goes on meanwhile", async () => {
  const site = await startRedisSentinel();
  const [client, hot] = [connect(site), connect(site)];
  const saver = new RedisSaver({ client, ttl: "7d" });
  const stack = new TieredSaver({
    hot: [redis({ client: hot, prefix: "hot:", ttl: "15m" })],
    warm: new MemoryTier(),
  });
  try {
    await saver.setup();
    await put(saver, "before", 1, text("before"));
    await put(stack, "before", 1, text("before"));
    // Replication is asynchronous: what the replica doesn't have goes with its master.
    expect(await site.nodes[0].command("wait", 1, 10_000)).toBe(1);
    site.nodes[0].pause();
    await put(stack, "meanwhile", 1, text("meanwhile"));
    expect(await valueOf(stack, "before")).toBe(text("before"));
    await putAtLast(saver, "after");
    expect(String(await site.nodes[1].command("role"))).toMatch(/^master/);
    for (const id of ["before", "after"]) expect(await valueOf(saver, id)).toBe(text(id));
    for (const id of ["before", "meanwhile"]) expect(await valueOf(stack, id)).toBe(text(id));
  } finally {
    client.disconnect();
    hot.disconnect();
    await stack.end();
    await site.stop();
  }
});

test("min-replicas-to-write: a master that has lost its replica refuses writes, and reads that restart the ttl", async () => {
  const site = await startRedisSentinel(["--min-replicas-to-write", "1", "--min-replicas-max-lag", "10"]);
  const client = connect(site);
  const saver = new RedisSaver({ client, ttl: "7d" });
  try {
    await put(saver, "before", 1, text("before"));
    await site.nodes[1].kill();
    await waitUntil("the master to know it", async () =>
      String(await site.nodes[0].command("info", "replication")).includes("min_slaves_good_slaves:0"),
    );
    const refused = { code: "UNAVAILABLE", message: expect.stringContaining("NOREPLICAS") as string };
    await expect(put(saver, "after", 1, text("after"))).rejects.toMatchObject(refused);
    await expect(valueOf(saver, "before")).rejects.toMatchObject(refused);
    const reader = new RedisSaver({ client, ttl: "7d", refreshOnRead: false });
    expect(await valueOf(reader, "before")).toBe(text("before"));
  } finally {
    client.disconnect();
    await site.stop();
  }
});
