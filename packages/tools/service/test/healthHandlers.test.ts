import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { healthHandlers } from "@stratigraph/service";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, test } from "vitest";

const get = (path: string, init?: RequestInit): Request => new Request(`http://agents.internal${path}`, init);

async function told(answer: Promise<Response>): Promise<[status: number, body: unknown]> {
  const response = await answer;
  expect(response.headers.get("cache-control")).toBe("no-store");
  return [response.status, await response.json()];
}

function stack() {
  const [hot, warm, cold, replica] = ["hot", "warm", "cold", "replica"].map(
    (name) => new FaultyTier(new MemoryTier(), name),
  ) as [FaultyTier, FaultyTier, FaultyTier, FaultyTier];
  return { saver: new TieredSaver({ hot, warm, cold, replicas: [replica] }), hot, warm, cold, replica };
}

test("livez asks no storage", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const { livez } = healthHandlers(new TierSaver(tier));
  expect(await told(livez(get("/livez")))).toEqual([200, { status: "alive" }]);
  expect(tier.calls).toEqual([]);
});

test("readyz: every tier answers; then hot, cold and replica down are degraded, and the warm tier down is 503", async () => {
  const { saver, hot, warm, cold, replica } = stack();
  const { readyz } = healthHandlers(saver);
  expect(await told(readyz(get("/readyz")))).toEqual([200, { status: "ready" }]);
  for (const tier of [hot, cold, replica]) {
    tier.failNext("ping", new Error("down: password hunter2"));
    expect(await told(readyz(get("/readyz")))).toEqual([200, { status: "degraded" }]);
  }
  cold.failNext("ping", new Error("down: password hunter2"));
  const tiers = [
    { name: "hot", role: "hot", ok: true, ms: expect.any(Number) },
    { name: "warm", role: "warm", ok: true, ms: expect.any(Number) },
    { name: "cold", role: "cold", ok: false, ms: expect.any(Number), code: "ERROR" },
    { name: "replica", role: "replica", ok: true, ms: expect.any(Number) },
  ];
  expect(await told(readyz(get("/readyz?verbose")))).toEqual([200, { status: "degraded", tiers }]);
  warm.failNext("peek", new Error("down"));
  expect(await told(readyz(get("/readyz")))).toEqual([503, { status: "unavailable" }]);
  expect(await told(readyz(get("/readyz")))).toEqual([200, { status: "ready" }]);
});

test("readyz over several databases: one that is down is degraded, all of them are 503", async () => {
  const parts = ["one", "two"].map((name) => new FaultyTier(new MemoryTier(), name));
  const { readyz } = healthHandlers(new TierSaver(Object.assign(new MemoryTier(), { parts })));
  expect(await told(readyz(get("/readyz")))).toEqual([200, { status: "ready" }]);
  for (const part of parts) {
    part.failNext("peek", new Error("down"));
    expect(await told(readyz(get("/readyz")))).toEqual([200, { status: "degraded" }]);
  }
  for (const part of parts) part.failNext("peek", new Error("down"));
  expect(await told(readyz(get("/readyz")))).toEqual([503, { status: "unavailable" }]);
  const nowhere = postgres({
    shards: ["postgresql://127.0.0.1:1/a", "postgresql://127.0.0.1:1/b"],
    retryFor: "0ms",
  });
  const [status, body] = await told(healthHandlers({ tier: nowhere }).readyz(get("/readyz?verbose")));
  expect([status, body]).toMatchObject([503, { tiers: [{ name: "postgres#1" }, { name: "postgres#2" }] }]);
  await nowhere.end();
});

test("probes that come together share one question, and a tier that hangs is asked three times at most", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const { readyz } = healthHandlers(new TierSaver(tier), { timeout: "40ms" });
  await Promise.all(Array.from({ length: 50 }, () => readyz(get("/readyz"))));
  expect(tier.count("peek")).toBe(1);
  const holds = [1, 2, 3].map(() => tier.hold("peek"));
  for (let n = 0; n < 6; n += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => readyz(get("/readyz"))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  }
  expect(tier.count("peek")).toBe(4);
  for (const hold of holds) hold.release();
  await expect.poll(async () => (await readyz(get("/readyz"))).status, { timeout: 20_000 }).toBe(200);
});

test("a service that drains, and a checkpointer that was ended, aren't ready", async () => {
  const service = { draining: false };
  const { saver } = stack();
  const { readyz, livez, readiness } = healthHandlers(saver, { service });
  service.draining = true;
  expect(await told(readyz(get("/readyz")))).toEqual([503, { status: "draining" }]);
  expect((await livez(get("/livez"))).status).toBe(200);
  service.draining = false;
  expect((await readiness()).status).toBe("ready");
});

test("a service that begins to drain while the tiers are asked isn't ready", async () => {
  const service = { draining: false };
  const { saver, warm } = stack();
  const hold = warm.hold("peek");
  const answer = told(healthHandlers(saver, { service, timeout: "1m" }).readyz(get("/readyz")));
  await hold.reached;
  service.draining = true;
  hold.release();
  expect(await answer).toEqual([503, { status: "draining" }]);
});

test("metrics: rendered once for all who ask; 404 where there are none; a failure tells nobody why", async () => {
  const saver = new MemorySaver();
  expect((await healthHandlers(saver).metrics(get("/metrics"))).status).toBe(404);
  let rendered = 0;
  const render = async () => {
    rendered += 1;
    return { contentType: "text/plain; version=0.0.4", body: `rendered ${rendered}\n` };
  };
  const { metrics } = healthHandlers(saver, { metrics: render });
  const answers = await Promise.all([metrics(get("/metrics")), metrics(get("/metrics"))]);
  for (const answer of answers) {
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    expect(await answer.text()).toBe("rendered 1\n");
  }
  expect(await (await metrics(get("/metrics"))).text()).toBe("rendered 2\n");
  const failing = healthHandlers(saver, { metrics: () => Promise.reject(new Error("password hunter2")) });
  const failed = await failing.metrics(get("/metrics"));
  expect(failed.status).toBe(500);
  expect(await failed.text()).not.toContain("hunter2");
  for (const wrong of ["password hunter2", { body: "text" }, undefined]) {
    const text = healthHandlers(saver, { metrics: async () => wrong as never });
    const told = await text.metrics(get("/metrics"));
    expect([told.status, await told.text()]).toEqual([500, expect.stringContaining("{ contentType, body }")]);
  }
});

test("handle() finds them under any prefix, and leaves other paths to others; methods other than GET and HEAD are refused", async () => {
  const { handle } = healthHandlers(new MemorySaver());
  expect((await handle(get("/internal/readyz?verbose")))?.status).toBe(200);
  expect((await handle(get("/livez")))?.status).toBe(200);
  for (const path of ["/", "/threads", "/readyz/x", "/constructor"])
    expect(await handle(get(path))).toBeUndefined();
  const head = await handle(get("/readyz", { method: "HEAD" }));
  expect([head?.status, await head?.text()]).toEqual([200, ""]);
  const post = await handle(get("/readyz", { method: "POST" }));
  expect([post?.status, post?.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("options that can't be used are refused", () => {
  const saver = new MemorySaver();
  for (const wrong of [{ timeout: "0ms" }, { timeout: 5 }, { metrics: "text" }, { metric: () => undefined }])
    expect(() => healthHandlers(saver, wrong as object)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
});
