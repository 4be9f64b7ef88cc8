import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { Redis } from "ioredis";
import { createCache, redis, type TierCache, type TierSaver } from "stratigraph";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allRounds } from "../../../../test/rounds.ts";
import { runChild } from "../../../../test/servers/children.ts";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { silentProxy } from "../../../../test/servers/silentProxy.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { createCheckpointer } from "../src/createCheckpointer.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let login: Awaited<ReturnType<typeof sharedRedis>>;
let warm: TierSaver;

beforeAll(async () => {
  database = await freshDatabase();
  login = await sharedRedis();
  warm = await createCheckpointer(database.url);
});

afterAll(async () => {
  await warm.end();
  await database.drop();
});

type Key = [string[], string];
const key: Key = [["docs"], "summary"];
const valueOf = async (cache: TierCache): Promise<unknown> => (await cache.get([key]))[0]?.value;

function counting(cache: TierCache) {
  const State = Annotation.Root({ topic: Annotation<string>, ran: Annotation<number> });
  let ran = 0;
  return new StateGraph(State)
    .addNode("count", async () => ({ ran: ++ran }), { cachePolicy: true })
    .addEdge(START, "count")
    .compile({ cache });
}

function results(events: Awaited<ReturnType<typeof tracedWhile>>): string[] {
  return events.flatMap((event) => (event.type === "cache" ? [event.result] : []));
}

async function proxied() {
  const url = new URL(login.url);
  const proxy = await silentProxy(Number(url.port));
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}

test.runIf(allRounds)("a cache in a folder is there when it is opened again", async () => {
  const folder = await embeddedFolder();
  {
    await using cache = await createCache({ pglite: folder });
    await cache.set([{ key, value: "kept" }]);
  }
  await using cache = await createCache({ pglite: folder });
  expect(await valueOf(cache)).toBe("kept");
  const missing = (): Key => [["docs"], "missing"];
  expect(await cache.get([missing()])).toEqual([]);
  const waiting = Array.from({ length: 100 }, () => cache.get([missing()]));
  await cache.set([{ key: missing(), value: "computed" }]);
  for (const found of await Promise.all(waiting)) expect(found).toMatchObject([{ value: "computed" }]);
});

test("a storage that keeps no caches, and wrong options, are refused by name", async () => {
  const field = (name: string) => ({ code: "INVALID_OPTION", data: { field: name } });
  const folder = await mkdtemp(join(fastFolder(), "stratigraph-cache-"));
  await expect(createCache({ warm: `file:${folder}` })).rejects.toMatchObject(field("cache"));
  await rm(folder, { recursive: true });
  for (const [name, value] of Object.entries({
    ...{ ttl: "0s", maxEntries: 0, maxBytes: 0, wait: 5, timeout: "0s", name: 1, size: 1 },
  }))
    expect(() => warm.cache({ [name]: value }), name).toThrow(`Invalid option ${name}:`);
});

test("damaged values, and those of a newer version, count as missing, and are traced", async () => {
  const name = randomUUID();
  const cache = warm.cache({ name, wait: "0s" });
  for (const [damage, code] of [
    ["set_byte(value, 9, get_byte(value, 9) # 1)", "CORRUPT"],
    ["set_byte(value, 0, 250)", "NEWER_FORMAT"],
  ]) {
    await cache.set([{ key, value: "a".repeat(100) }]);
    await query(database.url, `update stratigraph.cache_entries set value = ${damage}`);
    const events = await tracedWhile(async () => expect(await cache.get([key])).toEqual([]));
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "cache",
        result: "unreadable",
        error: expect.objectContaining({ code }),
      }),
    );
  }
});

test("a server that falls silent costs runs a bounded wait once, and then it isn't asked", async () => {
  const { proxy, url } = await proxied();
  const saver = await createCheckpointer({ redis: url, prefix: login.prefix, commandTimeout: "500ms" });
  const cache = saver.cache({ name: randomUUID(), timeout: "100ms" });
  const graph = counting(cache);
  proxy.silence();
  const events = await tracedWhile(async () => {
    for (const ran of [1, 2, 3]) expect(await graph.invoke({ topic: "tea" })).toMatchObject({ ran });
    await expect(cache.clear([])).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
  expect(results(events)).toEqual(["failed", "miss", "miss", "miss"]);
  proxy.speak();
  await saver.end();
  await proxy.close();
});

test("in a stack the hot tier is filled from the warm one, and may fail", async () => {
  const { proxy, url } = await proxied();
  const saver = await createCheckpointer({
    hot: [redis({ url, prefix: login.prefix, commandTimeout: "500ms" })],
    warm: database.url,
  });
  const name = randomUUID();
  const cache = saver.cache({ name, timeout: "300ms", wait: "0s" });
  await warm.cache({ name }).set([{ key, value: "warm", ttl: 100 }]);
  expect(await valueOf(cache)).toBe("warm");
  await using hot = await createCache({ redis: login.url, prefix: login.prefix }, { name, wait: "0s" });
  await expect.poll(() => valueOf(hot)).toBe("warm");
  await warm.cache({ name }).set([{ key, value: "newer" }]);
  expect(await valueOf(cache), "the hot tier answers first").toBe("warm");
  await cache.clear([]);
  expect([await valueOf(hot), await valueOf(cache)]).toEqual([undefined, undefined]);
  await cache.set([{ key, value: "both" }]);
  proxy.silence();
  expect(await valueOf(cache)).toBe("both");
  await saver.end();
  await proxy.close();
});

test("a Redis that evicted a part of a cache begins it anew", async () => {
  await using cache = await createCache(
    { redis: login.url, prefix: login.prefix },
    { name: randomUUID(), wait: "0s" },
  );
  const client = new Redis(login.url);
  for (const kind of ["ce", "cu", "cx", "cn", "cm"]) {
    await cache.set([{ key, value: kind }]);
    expect(await valueOf(cache)).toBe(kind);
    await client.del(...(await client.keys(`${login.prefix}${kind}:*`)));
    expect(await valueOf(cache)).toBeUndefined();
  }
  client.disconnect();
  await cache.set([{ key, value: "again" }]);
  expect(await valueOf(cache)).toBe("again");
});

test("a cache on PostgreSQL stays within its limits, though each write looks at a part of it", async () => {
  const cache = warm.cache({ name: randomUUID(), maxEntries: 130, wait: "0s" });
  const keys = Array.from({ length: 200 }, (_, n) => [["docs"], String(n)] as Key);
  const events = await tracedWhile(async () => {
    const sets = keys.map((at, value) => ({ key: at, value }));
    await Promise.all([0, 50, 100, 150].map((from) => cache.set(sets.slice(from, from + 50))));
    await cache.set(sets.slice(-40));
  });
  expect(results(events)).toEqual([]);
  const left = (await cache.get(keys)).map(({ value }) => value as number);
  expect(left.length).toBeGreaterThan(90);
  expect(left.length).toBeLessThanOrEqual(130);
  expect(left, "the newest are there").toEqual(
    expect.arrayContaining(Array.from({ length: 40 }, (_, n) => 160 + n)),
  );
});

test("maintenance removes expired entries from PostgreSQL", async () => {
  const count = async (): Promise<number> =>
    (
      (await query(
        database.url,
        "select id from stratigraph.cache_entries where expires_at <= now()",
      )) as unknown[]
    ).length;
  await warm.cache({ name: randomUUID() }).set([{ key, value: 1, ttl: 0.001 }]);
  await expect.poll(count).toBe(1);
  await warm.maintain();
  expect(await count()).toBe(0);
});

test("a task that failed and was collected wakes those who wait", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const name = randomUUID();
  const failed = warm.cache({ name, wait: "1h" });
  const other = warm.cache({ name, wait: "1h" });
  expect(await failed.get([[["a"], "k"]])).toEqual([]);
  const waiting = other.get([[["a"], "k"]]);
  const timer = setInterval(collect, 20);
  expect(await waiting).toEqual([]);
  clearInterval(timer);
});

describe.runIf(allRounds)("processes", () => {
  const script = join(import.meta.dirname, "cacheChild.ts");
  const childOn = (orders: object) => runChild<string>(script, [JSON.stringify(orders)]);

  test.each(["postgres", "redis", "stack"])("two processes at once compute once on %s", async (kind) => {
    const config = configs(kind);
    const orders = { config, name: randomUUID(), wait: "30s" };
    const [one, other] = [childOn(orders), childOn(orders)];
    for (const child of [one, other]) await child.message((said) => said === "ready");
    for (const child of [one, other]) child.send("go");
    await Promise.race([one, other].map((child) => child.message((said) => said === "computing")));
    await expect
      .poll(() => [one, other].flatMap(({ messages }) => messages).filter((said) => said === "asked").length)
      .toBe(2);
    for (const child of [one, other]) child.send("finish");
    await Promise.all([one, other].map((child) => child.message((said) => said.startsWith("got"))));
    const said = [one, other].flatMap(({ messages }) => messages);
    expect(said.filter((each) => each === "computing")).toHaveLength(1);
    for (const child of [one, other]) await child.kill();
  });

  test.each(["postgres", "redis", "stack"])(
    "a process that is killed while it computes is followed by the next on %s",
    async (kind) => {
      const orders = { config: configs(kind), name: randomUUID(), wait: "1s" };
      const [one, other] = [childOn(orders), childOn(orders)];
      for (const child of [one, other]) await child.message((said) => said === "ready");
      one.send("go");
      await one.message((said) => said === "computing");
      other.send("go");
      await other.message((said) => said === "asked");
      await one.kill();
      await other.message((said) => said === "computing");
      other.send("finish");
      await other.message((said) => said.startsWith("got"));
      await other.kill();
    },
  );

  function configs(kind: string): object {
    const hot = { redis: login.url, prefix: login.prefix };
    if (kind === "redis") return hot;
    return kind === "postgres"
      ? { postgres: database.url }
      : { hot: [`${login.url}?prefix=${login.prefix}`], warm: database.url };
  }
});
