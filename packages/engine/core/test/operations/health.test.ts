import { InvalidOptionError, MemorySaver, MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";

test("a saver over one tier: its owner answers, or it can't serve", async () => {
  const tier = new FaultyTier(new MemoryTier(), "storage");
  const saver = new TierSaver(tier);
  const { ok, tiers } = await saver.health();
  expect([ok, tiers]).toEqual([true, [{ name: "storage", role: "warm", ok: true, ms: expect.any(Number) }]]);
  expect(tier.calls.map(({ method }) => method)).toEqual(["ping"]);
  const away = new Error("away");
  tier.failNext("ping", away);
  const broken = await saver.health();
  expect(broken).toMatchObject({ ok: false, tiers: [{ ok: false, error: away }] });
});

test("a tier that is silent costs the timeout", async () => {
  const tier = new FaultyTier(new MemoryTier(), "storage");
  const hold = tier.hold("ping");
  const health = await new TierSaver(tier).health({ timeout: "20ms" });
  expect(health).toMatchObject({
    ok: false,
    tiers: [
      {
        name: "storage",
        ok: false,
        error: { code: "UNAVAILABLE", data: { tier: "storage", timeoutMs: 20 } },
      },
    ],
  });
  const { error } = health.tiers[0] as { error: Error };
  const logged = JSON.parse(JSON.stringify(health)) as typeof health;
  expect(logged.tiers[0]).toMatchObject({
    error: { name: "StratigraphError", code: "UNAVAILABLE", message: error.message, retryable: true },
  });
  hold.release();
});

test("a tier without ping is asked for a thread that nobody has", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const withoutPing: Tier = new Proxy(tier, {
    get: (target, name) => {
      const value: unknown = name === "ping" ? undefined : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  expect((await new TierSaver(withoutPing).health()).ok).toBe(true);
  expect(tier.calls.map(({ method }) => method)).toEqual(["peek"]);
  tier.failNext("peek");
  expect((await new TierSaver(withoutPing).health()).ok).toBe(false);
});

test("an answer that waits while this process is busy is in time", async () => {
  const tier = new FaultyTier(new MemoryTier());
  tier.delay("ping", 10);
  const asking = new TierSaver(tier).health({ timeout: "100ms" });
  process.nextTick(() => {
    const until = performance.now() + 300;
    while (performance.now() < until);
  });
  expect((await asking).ok).toBe(true);
});

test.each([{ timeout: "0s" }, { timeout: 5 }, { timeOut: "1s" }])("refuses %j", async (options) => {
  await expect(new MemorySaver().health(options as never)).rejects.toBeInstanceOf(InvalidOptionError);
});

test("end() may be called again, and ends the tier once; a saver in memory refuses calls afterwards", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  await Promise.all([saver.end(), saver.end()]);
  await saver.end();
  expect(tier.count("end")).toBe(1);
  const config = { configurable: { thread_id: "t" } };
  for (const call of [
    () => saver.getTuple(config),
    () => saver.deleteThread("t"),
    () => saver.list(config).next(),
  ])
    await expect(call()).rejects.toMatchObject({ code: "CLOSED", data: { tier: "memory" } });
  expect(await saver.health()).toMatchObject({ ok: false, tiers: [{ error: { code: "CLOSED" } }] });
});
