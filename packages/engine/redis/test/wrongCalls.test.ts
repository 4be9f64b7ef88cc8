import { MemorySaver as OfficialMemorySaver } from "@langchain/langgraph-checkpoint";
import { redis, RedisSaver, RedisTier } from "@stratigraph/redis";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { put } from "./fixtures.ts";
import { expectRefused } from "../../../../test/expectRefused.ts";

// Constructors and factories, called wrongly: refused with an error that names the field, says what was found and what to do, before
// a connection is opened or a command sent. And right calls, LangGraph's own among them.

const server = await sharedRedis();
const url = "redis://:hunter2@127.0.0.1:1";
let sent = 0;
const client = {
  callBuffer: async () => {
    sent += 1;
    return null;
  },
};
/** As the package `redis` makes them. */
const nodeRedis = { sendCommand: async () => null, connect: async () => null };

function make(...args: unknown[]): unknown {
  return Reflect.construct(RedisSaver, args) as unknown;
}
function call(method: (...args: never[]) => unknown, ...args: unknown[]): unknown {
  return Reflect.apply(method, RedisSaver, args) as unknown;
}
const fromUrl = (...args: unknown[]) => call(RedisSaver.fromUrl, ...args);
const fromCluster = (...args: unknown[]) => call(RedisSaver.fromCluster, ...args);

const rows: readonly (readonly [name: string, work: () => unknown, field: string, says: string])[] = [
  [
    "fromUrl: defaultTTL, LangGraph's",
    () => fromUrl(url, { defaultTTL: 60, refreshOnRead: true }),
    "defaultTTL",
    'Write ttl: "60m"',
  ],
  [
    "fromUrl: defaultTTL, of half an hour",
    () => fromUrl(url, { defaultTTL: 30 }),
    "defaultTTL",
    'Write ttl: "30m"',
  ],
  ["fromUrl: tll", () => fromUrl(url, { tll: "1h" }), "tll", "Did you mean ttl?"],
  ["fromUrl: a number for a duration", () => fromUrl(url, { ttl: 60 }), "ttl", "units"],
  ["fromUrl: a ttl of nothing", () => fromUrl(url, { ttl: "0s" }), "ttl", "at least 1ms"],
  ["fromUrl: the name of ioredis", () => fromUrl(url, { keyPrefix: "a:" }), "keyPrefix", "Write prefix"],
  ["fromUrl: a prefix that is no text", () => fromUrl(url, { prefix: 5 }), "prefix", "Pass a string"],
  ["fromUrl: text for true", () => fromUrl(url, { refreshOnRead: "no" }), "refreshOnRead", "true or false"],
  [
    "fromUrl: a password beside the URL",
    () => fromUrl(url, { password: "hunter2" }),
    "password",
    "belongs to the client",
  ],
  ["fromUrl: nothing", () => fromUrl(), "url", 'found "undefined"'],
  ["fromUrl: host and port", () => fromUrl("127.0.0.1:6379"), "url", "redis://user:password@host"],
  ["fromUrl: a password with a bare %", () => fromUrl("redis://:hunter2%zz@h"), "url", "encodeURIComponent"],
  ["fromUrl: another scheme", () => fromUrl("https://:hunter2@host"), "url", "rediss://"],
  ["fromUrl: options as text", () => fromUrl(url, "1h"), "options", "takes an object of ttl"],
  ["fromUrl: a client", () => fromUrl(url, { client }), "client", "no such option"],
  [
    "a URL with a parameter of no one",
    () => fromUrl(`${url}?maxmemory=1gb`),
    "url, maxmemory",
    "nothing listens to",
  ],
  ["a URL with a misspelt parameter", () => fromUrl(`${url}?TLL=15m`), "url, TLL", "Did you mean ttl?"],
  ["a URL whose ttl has no unit", () => fromUrl(`${url}?ttl=15`), "ttl", "units"],
  [
    "a URL whose refreshOnRead is neither",
    () => fromUrl(`${url}?refreshOnRead=1`),
    "url, refreshOnRead",
    "true or false",
  ],
  [
    "a URL whose database is a name",
    () => fromUrl("redis://127.0.0.1/agents"),
    "url",
    "numbers its databases",
  ],
  ["new: nothing", () => make(), "client", "ioredis client"],
  ["new: a URL", () => make(url), "client", 'found "string"'],
  ["new: LangGraph's client", () => make(nodeRedis, { defaultTTL: 60 }), "defaultTTL", 'Write ttl: "60m"'],
  ["new: LangGraph's client alone", () => make(nodeRedis), "client", "Pass one of ioredis"],
  [
    "new: { client } of the package redis",
    () => make({ client: nodeRedis }),
    "client",
    "Pass one of ioredis",
  ],
  ["new: an option after a client", () => make(client, { keyPrefix: "a:" }), "keyPrefix", "Write prefix"],
  ["new: a client and a URL", () => make({ client, url }), "url", "one of client, url and cluster"],
  ["new: conflcit", () => make({ client, conflcit: "throw" }), "conflcit", "Did you mean conflict?"],
  ["redis(): nothing", () => call(redis), "client", "ioredis client"],
  ["redis(): a URL as text", () => call(redis, url), "options", "takes an object of ttl"],
  ["redis(): host", () => call(redis, { host: "127.0.0.1" }), "host", "Write url"],
  [
    "redis(): the saver's options",
    () => call(redis, { client, conflict: "throw" }),
    "conflict",
    "redis has no such option",
  ],
  [
    "RedisTier: defaultTTL",
    () => Reflect.construct(RedisTier, [{ client, defaultTTL: 5 }]) as unknown,
    "defaultTTL",
    'ttl: "5m"',
  ],
  ["fromCluster: nothing", () => fromCluster(), "cluster", "Pass a list of nodes"],
  ["fromCluster: one URL", () => fromCluster(url), "cluster", "Pass a list of nodes"],
  ["fromCluster: no nodes", () => fromCluster([]), "cluster", "an empty list"],
  ["fromCluster: URLs alone", () => fromCluster([url]), "cluster[0]", "Pass a list of nodes"],
  ["fromCluster: a database", () => fromCluster([{ url: `${url}/3` }]), "cluster[0]", "one database"],
  [
    "fromCluster: defaultTTL",
    () => fromCluster([{ url }], { defaultTTL: 60 }),
    "defaultTTL",
    'Write ttl: "60m"',
  ],
];

test.each(rows.map(([name, ...row]) => ({ name, row })))(
  "refuses $name",
  async ({ row: [work, field, says] }) => {
    await expectRefused(work, field, says);
    expect(sent).toBe(0);
  },
);

describe("right calls", () => {
  const direct = new Redis(server.url);
  afterAll(() => direct.disconnect());
  const ttlOf = async (prefix: string): Promise<number[]> => {
    const keys = await direct.keys(`${prefix.replaceAll(/[*?[\]\\]/g, "\\$&")}*`);
    return await Promise.all(
      keys.filter((key) => key.includes("thread-of-the-url")).map((key) => direct.pttl(key)),
    );
  };

  test("options in a URL count, and those beside it count more", async () => {
    const prefix = `${server.prefix}url:`;
    const tier = redis({ url: `${server.url}/0?ttl=15m&prefix=${encodeURIComponent(prefix)}&family=4` });
    await tier.append(put("thread-of-the-url", "c1"));
    await tier.end();
    const ttls = await ttlOf(prefix);
    expect(ttls.length).toBeGreaterThan(0);
    for (const ttl of ttls) expect(ttl).toBeGreaterThan(14 * 60_000);
    for (const ttl of ttls) expect(ttl).toBeLessThanOrEqual(15 * 60_000);
    const other = `${server.prefix}beside:`;
    const saver = await RedisSaver.fromUrl(`${server.url}?ttl=15m&prefix=x`, {
      prefix: other,
      ttl: "1h",
    });
    await saver.tier.append(put("thread-of-the-url", "c1"));
    await saver.end();
    const others = await ttlOf(other);
    expect(others.length).toBeGreaterThan(0);
    for (const ttl of others) expect(ttl).toBeGreaterThan(59 * 60_000);
  });

  test("a database that the server doesn't have is an error, and nothing goes into another one", async () => {
    const keyPrefix = `${server.prefix}nowhere:`;
    await expect(RedisSaver.fromUrl(`${server.url}/99`, { prefix: keyPrefix })).rejects.toMatchObject({
      code: "MISCONFIGURED",
      message: expect.stringContaining("names a database that isn't there") as string,
    });
    const tier = redis({ url: `${server.url}/99`, prefix: keyPrefix });
    for (let attempt = 0; attempt < 2; attempt += 1)
      await expect(tier.append(put("t", "c1"))).rejects.toMatchObject({ code: "MISCONFIGURED" });
    await tier.end();
    expect(await direct.keys(`${keyPrefix}*`)).toEqual([]);
  });

  test("a database that it has is used", async () => {
    const keyPrefix = `${server.prefix}third:`;
    const tier = redis({ url: `${server.url}/3`, prefix: keyPrefix });
    await tier.append(put("t", "c1"));
    expect((await tier.peek({ threadId: "t", namespace: "" })).head).toBe("c1");
    await tier.deleteThread("t");
    await tier.end();
    expect(await direct.keys(`${keyPrefix}*`)).toEqual([]);
  });

  test("a client first, as LangGraph's saver has it; undefined is as good as absent", () => {
    const { serde } = new OfficialMemorySaver();
    expect(new RedisSaver(direct, { ttl: "1h", serde }).serde).toBe(serde);
    expect(new RedisSaver(direct)).toBeInstanceOf(RedisSaver);
    expect(
      make({ client: direct, url: undefined, ttl: undefined, defaultTTL: undefined }, undefined),
    ).toBeInstanceOf(RedisSaver);
    expect(new RedisSaver({ url: "rediss://user:password@host:6380/2" })).toBeInstanceOf(RedisSaver);
    expect(new RedisSaver({ url: "/tmp/redis.sock" })).toBeInstanceOf(RedisSaver);
  });
});
