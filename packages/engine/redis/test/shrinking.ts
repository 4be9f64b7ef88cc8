import type { Cluster, Redis } from "ioredis";
import { redis } from "../src/index.ts";
import { expireKeys, put } from "./fixtures.ts";

/** Tests that the indexes shrink with the threads. @param open a client, and a prefix that nobody else has */
export function testShrinking(open: () => { client: Redis | Cluster; prefix: string }): void {
  test("indexes shrink to nothing when all threads have expired", async () => {
    const { client, prefix } = open();
    const tier = redis({ client, prefix });
    const left = async (): Promise<string[]> => {
      const nodes = "nodes" in client ? client.nodes("master") : [client];
      const keys = await Promise.all(nodes.map((node) => node.keys(`${prefix}*`)));
      return keys.flat().sort();
    };
    const ended = async (threadId: string): Promise<void> =>
      await expireKeys(client, [`${prefix}t:{${threadId}}`, `${prefix}i:{${threadId}}`]);
    // More tags, and more threads of a tag, than are looked at at once.
    const ids = Array.from({ length: 250 }, (_, n) => `t${n}`);
    for (const threadId of ids) {
      const request = put(threadId, "c1");
      await tier.tagThread(threadId, [
        { key: "user", value: threadId },
        { key: "tenant", value: "red" },
      ]);
      await tier.append({
        ...request,
        records: request.records.map((record) => ({ ...record, runId: `run of ${threadId}` })),
      });
    }
    await Promise.all(ids.slice(1).map(ended));
    expect(await tier.sweep(3_600_000), "what is young stays").toBe(0);
    expect((await left()).length).toBeGreaterThan(500);
    // Moments are whole seconds.
    expect(await tier.sweep(-2000)).toBe(5 * 249);
    const names = (await left()).map((key) => key.slice(prefix.length).split(":")[0]);
    expect(names).toEqual(["i", "open", "run", "runs", "t", "tag", "tag", "tags", "threads"]);
    const found: string[] = [];
    for await (const { threadId } of tier.threads({ tags: [{ key: "tenant", value: "red" }] }))
      found.push(threadId);
    expect(found).toEqual(["t0"]);
    await ended("t0");
    await tier.sweep(-2000);
    expect(await left()).toEqual([]);
  });
}
