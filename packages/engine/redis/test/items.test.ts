import { StratigraphError } from "@stratigraph/core";
import { Redis } from "ioredis";
import { startRedis } from "../../../../test/servers/redis.ts";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { testStore } from "../../../tools/testing/src/store/testStore.ts";
import { testStoreIndex } from "../../../tools/testing/src/store/testStoreIndex.ts";
import { testWorkspaceTier } from "../../../tools/testing/src/store/testWorkspaceTier.ts";
import { KeyNames } from "../src/keyNames.ts";
import { RedisSaver, redis } from "../src/index.ts";

// The suites of the store and of workspaces on Redis; searches that take several calls; what happens when a key was evicted.

const { url, prefix } = await sharedRedis();
const client = new Redis(url);
afterAll(() => client.disconnect());

let count = 0;
const fresh = () => `${prefix}${(count += 1)}:`;
const body = (n: number) => Buffer.from(`value ${n}`);

testStore("Redis", async () => {
  const open = () => new RedisSaver({ client, prefix }).store();
  return { store: open(), other: open() };
});

testStoreIndex("Redis", async () => {
  const saver = new RedisSaver({ client, prefix: fresh() });
  return (options) => saver.store(options);
});

testWorkspaceTier("Redis", async () => {
  const own = fresh();
  return { tier: redis({ client, prefix: own }), other: redis({ client, prefix: own }) };
});

describe("a search", () => {
  const many = 5000;
  // A server of its own, which counts the commands of scripts too.
  let server: Awaited<ReturnType<typeof startRedis>>;
  let alone: Redis;
  let tier: ReturnType<typeof redis>;
  const search = async (prefixes: string[][], limit: number, before?: number) => {
    const { items, more } = await tier.items.search({ prefixes, tests: [], limit, before });
    return { keys: items.map(({ key }) => key), more, items };
  };

  afterAll(async () => {
    alone.disconnect();
    await server.stop();
  });

  beforeAll(async () => {
    server = await startRedis();
    alone = new Redis(server.url);
    tier = redis({ client: alone });
    // 1,200 old items, one in the middle, 5,000 newer ones.
    const batch = (from: number, to: number, label: string) =>
      Array.from({ length: to - from }, (_, n) => ({
        ...{ namespace: [label], key: `k${from + n}`, value: body(n) },
      }));
    await tier.items.change(batch(0, 1200, "old"));
    await tier.items.change(batch(0, 1, "one"));
    await tier.items.change(batch(0, many, "new"));
  });

  test("goes on where the newest thousands aren't below the prefix", async () => {
    const found = await search([["old"]], 3);
    expect(found).toMatchObject({ keys: ["k1199", "k1198", "k1197"], more: true });
    const rest = await search([["old"]], 2000, found.items.at(-1)!.version);
    expect(rest.keys).toEqual(Array.from({ length: 1197 }, (_, n) => `k${1196 - n}`));
    expect(rest.more).toBe(false);
    expect((await search([["one"], ["old"]], 1)).keys).toEqual(["k0"]);
  });

  test("looks at few items where the prefix holds few, or few are wanted", async () => {
    const calls = async (command: string, work: () => Promise<unknown>): Promise<number> => {
      await alone.config("RESETSTAT");
      await work();
      const stats = await alone.info("commandstats");
      return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    };
    expect(await calls("zrevrangebyscore", () => search([["one"]], 10))).toBe(0);
    expect(await calls("zrangebylex", () => search([[]], 10))).toBe(0);
    expect(await calls("zrevrangebyscore", () => search([[]], 10))).toBe(1);
  });

  test("all() has the items of every workspace, page by page", async () => {
    const tags = ["x", "y", "z"];
    const each = redis({ client, prefix: fresh() });
    const expected = new Set<string>();
    for (const name of tags) {
      const changes = Array.from({ length: 40 }, (_, n) => {
        expected.add(`${name} k${n}`);
        return { namespace: ["", "a"], key: `k${n}`, value: body(n), note: Buffer.from("n") };
      });
      await each.workspaces.commit(name, [{ id: "0".repeat(32), checks: [], changes }]);
    }
    await each.items.change([{ namespace: ["s"], key: "k", value: body(0) }]);
    expected.add("s k");
    const found: string[] = [];
    for (let before: number | undefined, more = true; more;) {
      const page = await each.items.all({ before, limit: 7 });
      for (const { namespace, key } of page.items)
        found.push(`${namespace[0] === "" ? namespace[1] : namespace[0]} ${key}`);
      ({ more } = page);
      before = page.items.at(-1)?.version;
    }
    expect(found.toSorted()).toEqual([...expected].toSorted());
  });
});

describe("an evicted key", () => {
  const note = Buffer.from("note");
  const kinds = ["s", "so", "sn", "se", "sl", "sh", "sc"];
  test.each(kinds)("%s: every call says that the space is damaged", async (kind) => {
    const own = fresh();
    const tier = redis({ client, prefix: own });
    const put = (key: string) => ({ namespace: ["a"], key, value: body(1), note, ttlMs: 1e6 });
    const commit = async (id: string) =>
      await tier.workspaces.commit("w", [{ id: id.repeat(32), checks: [], changes: [put(id)] }]);
    await commit("a");
    const keys = new KeyNames(own).space("w");
    expect(await client.exists(...keys)).toBe(kinds.length);
    expect(await client.del(keys[kinds.indexOf(kind)]!)).toBe(1);
    const calls = [
      () => tier.items.read([{ namespace: ["", "w", "a"], key: "a" }]),
      () => tier.items.search({ prefixes: [["", "w"]], tests: [], limit: 1 }),
      () => tier.items.namespaces({ prefixes: [["", "w"]], limit: 1 }),
      () => commit("b"),
      () => tier.workspaces.log("w", { prefixes: [[]], limit: 1 }),
      () => tier.workspaces.itemsAt("w", { version: 1e15, prefixes: [[]], limit: 1 }),
      () => tier.workspaces.trim("w", 1e15),
    ];
    for (const call of calls) {
      const error: unknown = await call().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(StratigraphError.is(error, "CORRUPT")).toBe(true);
      expect(String(error)).toContain("evicted");
    }
    // It can still be deleted, and begun anew.
    const version = kind === "s" ? 0 : Number(await client.hget(keys[0]!, "w"));
    expect(await tier.workspaces.delete("w", version)).toBe(true);
    await commit("c");
    expect((await tier.workspaces.log("w", { prefixes: [[]], limit: 9 })).entries).toHaveLength(1);
  });
});

test("items whose time has passed are removed by a sweep, those of workspaces too", async () => {
  const own = fresh();
  const tier = redis({ client, prefix: own });
  const change = { namespace: ["a"], key: "k", value: body(1), ttlMs: 1 };
  await tier.items.change([change, { ...change, key: "stays", ttlMs: undefined }]);
  await tier.workspaces.commit("w", [{ id: "a".repeat(32), checks: [], changes: [change] }]);
  await expect
    .poll(() => tier.items.read([{ namespace: ["", "w", "a"], key: "k" }]), { timeout: 20_000 })
    .toEqual([undefined]);
  expect(await tier.sweep(0)).toBe(2);
  const keys = new KeyNames(own);
  expect(await client.zcard(keys.space(undefined)[1]!)).toBe(1);
  expect(await client.zcard(keys.space("w")[1]!)).toBe(0);
});

test("a sweep goes on past damaged spaces, and tells of one", async () => {
  const own = fresh();
  const tier = redis({ client, prefix: own });
  const change = { namespace: ["a"], key: "k", value: body(1), ttlMs: 1 };
  await tier.items.change([change]);
  for (const name of ["damaged", "whole"])
    await tier.workspaces.commit(name, [{ id: "a".repeat(32), checks: [], changes: [change] }]);
  await expect
    .poll(() => tier.items.read([{ namespace: ["", "whole", "a"], key: "k" }]), { timeout: 20_000 })
    .toEqual([undefined]);
  const keys = new KeyNames(own);
  for (const name of [undefined, "damaged"]) await client.del(keys.space(name)[1]!);
  await expect(tier.sweep(0)).rejects.toMatchObject({ code: "CORRUPT" });
  expect(await client.zcard(keys.space("whole")[1]!)).toBe(0);
});

test("a read lets an item stay only once a tenth of its time has passed, in the call that reads it", async () => {
  const own = fresh();
  const saver = new RedisSaver({ client, prefix: own });
  const minutes = (ttl: number) =>
    saver.store({ ttl: [{ namespace: [], ttl: `${ttl}m`, refreshOnRead: true }] });
  await minutes(90).put(["a"], "k", { n: 1 });
  const [, , , expiring] = new KeyNames(own).space(undefined) as [string, string, string, string];
  const endsAt = async (): Promise<number> =>
    Number((await client.zrange(expiring, "0", "0", "WITHSCORES"))[1]);
  const begun = await endsAt();
  expect((await minutes(95).get(["a"], "k"))!.value).toEqual({ n: 1 });
  expect(await endsAt()).toBe(begun);
  const read = await minutes(101).get(["a"], "k");
  const ends = await endsAt();
  expect(ends - begun).toBeGreaterThanOrEqual(11 * 60_000);
  // Nothing but its end has changed.
  expect(await saver.store({ ttl: "30h" }).get(["a"], "k")).toEqual(read);
  expect(await endsAt()).toBe(ends);
});
