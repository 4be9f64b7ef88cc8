import { setImmediate as turn } from "node:timers/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { MemoryTier, StratigraphError } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { waitUntil } from "../../../../test/servers/process.ts";
import { available } from "../../../../test/servers/available.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { configOf, put, stepsOf, text, valueOf } from "./support.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";

function opened(options: Partial<TieredSaverOptions> = {}, now?: () => number) {
  const [hot, warm, replica, cold] = ["hot", "warm", "replica", "cold"].map(
    (name) => new FaultyTier(new MemoryTier(), name),
  ) as [FaultyTier, FaultyTier, FaultyTier, FaultyTier];
  const saver = new TieredSaver({ hot, warm, replicas: [replica], cold, ...options }, now);
  return { saver, hot, warm, replica, cold };
}

test("every tier is ended once, also if one of them fails, however often end() is called", async () => {
  const { saver, ...tiers } = opened();
  tiers.hot.failNext("end", new Error("the hot tier doesn't end"));
  const ends = await Promise.allSettled([saver.end(), saver.end(), saver.tier.end()]);
  ends.push(...(await Promise.allSettled([saver.end()])));
  for (const end of ends)
    expect(end).toMatchObject({ status: "rejected", reason: new Error("the hot tier doesn't end") });
  for (const tier of Object.values(tiers)) expect(tier.count("end")).toBe(1);
});

test("calls that come afterwards are refused, and reach no tier", async () => {
  const { saver, warm, hot } = opened();
  await put(saver, "t", 1, text("one"));
  await saver.end();
  const { tier } = saver;
  const before = warm.calls.length + hot.calls.length;
  const at = { threadId: "t", namespace: "" };
  const calls: (() => Promise<unknown>)[] = [
    () => put(saver, "t", 2, text("two")),
    () => saver.putWrites(configOf("t", 1), [["value", 1]], "task"),
    () => valueOf(saver, "t"),
    () => stepsOf(saver, "t"),
    () => saver.deleteThread("t"),
    () => saver.prune(["t"], { strategy: "delete" }),
    () => saver.copyThread("t", "copy"),
    () => saver.listThreads(),
    () => saver.setup(),
    () => tier.peek(at),
    () => tier.ping(),
    () => tier.blobs("t"),
    () => tier.evict("t", 1),
    () => tier.lease!("name", "holder", 1000),
    () => tier.ancestry!({ ...at, checkpointId: "c" }, [], 1),
  ];
  for (const call of calls)
    await expect(call(), String(call)).rejects.toMatchObject({ code: "CLOSED", retryable: false });
  expect(warm.calls.length + hot.calls.length).toBe(before);
  const health = await saver.health();
  expect(health.ok).toBe(false);
  expect(health.tiers.find(({ role }) => role === "warm")).toMatchObject({ error: { code: "CLOSED" } });
});

test("calls under way are waited for, and their copies are made", async () => {
  const { saver, hot, warm } = opened();
  const hold = warm.hold("append");
  const putting = put(saver, "t", 1, text("one"));
  await hold.reached;
  const ending = saver.end();
  await expect(valueOf(saver, "t")).rejects.toMatchObject({ code: "CLOSED" });
  expect(warm.count("end")).toBe(0);
  hold.release();
  await putting;
  await ending;
  expect(hot.calls.map(({ method }) => method)).toEqual(["append", "end"]);
});

test("copies that can't be made within drainFor are dropped and reported, and a copy that hangs delays nobody", async () => {
  const { saver, hot } = opened({ drainFor: "30ms", breaker: { timeout: "1h" } });
  const hold = hot.hold("append");
  const events = await tracedWhile(async () => {
    for (let n = 1; n <= 20; n += 1) await put(saver, "t", n, text(`value ${n}`));
    await hold.reached;
    await saver.end();
  });
  expect(hot.count("end")).toBe(1);
  expect(hot.count("append")).toBe(1);
  expect(events).toContainEqual({ type: "dropped", tier: "hot", what: "copies", count: 19 });
  hold.release();
});

test("a tier that hangs in its end() is an error after endFor, and the others are ended", async () => {
  const { saver, warm, ...others } = opened({ drainFor: "10ms", endFor: "50ms" });
  const hold = warm.hold("end");
  await expect(saver.end()).rejects.toMatchObject({
    code: "UNAVAILABLE",
    data: { tier: "warm", endForMs: 50 },
  });
  for (const tier of Object.values(others))
    expect(tier.calls.at(-1)).toMatchObject({ method: "end", outcome: "returned" });
  hold.release();
});

test("maintenance under way ends before the tiers do", async () => {
  const { saver, warm } = opened({ archiveAfter: "1h", pause: "0ms" }, () => Date.now() + 86_400_000);
  await put(saver, "t", 1, text("one"));
  const hold = warm.hold("evict");
  const maintenance = saver.startMaintenance({ every: "1ms" });
  await hold.reached;
  const ending = saver.end();
  expect(warm.count("end")).toBe(0);
  hold.release();
  await ending;
  await maintenance.stop();
  expect(warm.calls.at(-1)).toMatchObject({ method: "end" });
});

describe.skipIf(!available.redis || !available.postgres)("with runs under way", () => {
  test.each(["async", "sync", "exit"] as const)(
    "durability %s: each run ends well or is rejected with CLOSED; nothing is unhandled",
    async (durability) => {
      const database = await freshDatabase();
      const { url, prefix } = await sharedRedis();
      const unhandled: unknown[] = [];
      const listen = (error: unknown): void => void unhandled.push(error);
      process.on("unhandledRejection", listen);
      const saver = new TieredSaver({
        hot: redis({ url, prefix, ttl: "5m" }),
        warm: postgres({ url: database.url }),
      });
      try {
        await saver.setup();
        const State = Annotation.Root({
          steps: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
        });
        let waiting = 0;
        let goOn = (): void => undefined;
        const isEnding = new Promise<void>((resolve) => (goOn = resolve));
        const graph = new StateGraph(State)
          .addNode("step", async ({ steps }) => {
            if (steps === 5) {
              waiting += 1;
              await isEnding;
            }
            return { steps: 1 };
          })
          .addEdge(START, "step")
          .addConditionalEdges("step", ({ steps }) => (steps < 40 ? "step" : END))
          .compile({ checkpointer: saver });
        const runs = Array.from({ length: 10 }, (_, n) =>
          graph.invoke(
            { steps: 0 },
            { configurable: { thread_id: `t${n}` }, durability, recursionLimit: 100 },
          ),
        );
        await waitUntil("all runs in a step", () => waiting === runs.length);
        goOn();
        const [ended, ...outcomes] = await Promise.allSettled([saver.end(), ...runs]);
        expect(ended.status).toBe("fulfilled");
        const refused = outcomes.filter(({ status }) => status === "rejected");
        expect(refused.length).toBeGreaterThan(0);
        for (const outcome of refused)
          expect(StratigraphError.is((outcome as PromiseRejectedResult).reason, "CLOSED")).toBe(true);
        // Node tells of them after the turn in which they were rejected.
        await turn();
        expect(unhandled).toEqual([]);
      } finally {
        process.off("unhandledRejection", listen);
        await saver.end();
        await database.drop();
      }
    },
  );
});
