import { StratigraphError } from "@stratigraph/core";
import { startRedis, type RedisServer } from "../../../../test/servers/redis.ts";
import { silentProxy, type SilentProxy } from "../../../../test/servers/silentProxy.ts";
import { expectRunsToSurviveSilence } from "../../../../test/silentRuns.ts";
import { RedisSaver, redis } from "../src/index.ts";
import { at, blob, put } from "./fixtures.ts";

// A wire that is cut without a word: nothing is closed, nothing answers, and what was open never speaks again.

let server: RedisServer;
let proxy: SilentProxy;
beforeEach(async () => {
  server = await startRedis();
  proxy = await silentProxy(server.port);
});
afterEach(async () => {
  await proxy.close();
  await server.stop();
});

const commandTimeout = "400ms";
const url = (): string => `redis://127.0.0.1:${proxy.port}`;

test.each(["sync", "async"] as const)(
  "12 runs at once (%s) end with a code, and the next ones run as soon as the wire is back",
  async (durability) => {
    const saver = await RedisSaver.fromUrl(url(), { commandTimeout: "1s" });
    await expectRunsToSurviveSilence(saver, proxy, "UNAVAILABLE", durability);
    await saver.end();
  },
);

test("opening, every method and end() come back while the wire is silent", async () => {
  const tier = redis({ url: url(), commandTimeout });
  await tier.append(put("t", "c1", undefined, [blob("large", 100_000)]));
  proxy.silence();
  const unavailable = { code: "UNAVAILABLE" };
  const late = redis({ url: `${url()}/3`, commandTimeout });
  await expect(late.setup()).rejects.toMatchObject(unavailable);
  await expect(RedisSaver.fromUrl(url(), { commandTimeout })).rejects.toMatchObject(unavailable);
  await Promise.all(
    [
      tier.peek(at("t", "c1")),
      tier.read(at("t", "c1")),
      tier.list({ threadId: "t" }).next(),
      tier.threads({}).next(),
      tier.blobs("t"),
      tier.append(put("t", "c2", "c1")),
      tier.evict("t", 1),
      tier.deleteThread("other"),
      tier.copyThread("t", "copy"),
      tier.sweep(0),
      tier.lease("name", "holder", 1000),
    ].map(async (call) => {
      await expect(call).rejects.toMatchObject(unavailable);
    }),
  );
  const under = tier.peek(at("t", "c1"));
  const [ended] = await Promise.allSettled([tier.end(), late.end()]);
  expect(ended.status).toBe("fulfilled");
  await expect(under).rejects.toSatisfy((error) => StratigraphError.is(error));
});

test("calls after end() are refused, twice ended is ended, calls under way finish, a client that was passed in stays open", async () => {
  for (const client of [undefined, new (await import("ioredis")).Redis(url())]) {
    const saver = client === undefined ? await RedisSaver.fromUrl(url()) : new RedisSaver({ client });
    const { tier } = saver;
    const under = Array.from({ length: 50 }, (_, n) => tier.append(put(`t${n}`, "c1")));
    const pages = tier.threads({});
    await Promise.all([saver.end(), saver.end()]);
    await saver.end();
    for (const call of under) expect((await call).heads[0]?.moved).toBe(true);
    const closed = { code: "CLOSED", retryable: false };
    await expect(tier.peek(at("t0", "c1"))).rejects.toMatchObject(closed);
    await expect(tier.append(put("t0", "c2", "c1"))).rejects.toMatchObject(closed);
    await expect(pages.next()).rejects.toMatchObject(closed);
    await expect(saver.setup()).rejects.toMatchObject(closed);
    // Each was put into the index of all threads as well, which is done after the append itself.
    const other = redis({ url: url() });
    const known = new Set<string>();
    for await (const { threadId } of other.threads({})) known.add(threadId);
    expect(known.size).toBe(50);
    await other.end();
    if (client === undefined) continue;
    expect(await client.ping()).toBe("PONG");
    client.disconnect();
  }
});
