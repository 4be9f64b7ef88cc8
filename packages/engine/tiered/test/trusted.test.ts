import { MemoryTier } from "@stratigraph/core";
import { reservedNamespaces, type CheckpointRecord } from "@stratigraph/core/tier";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { setBackTier } from "../../../../test/setBack/setBackTier.ts";
import { configOf, idOf, put, text, valueOf } from "./support.ts";

/** Two processes' savers over one hot and one warm tier; each its own view, so that faults hit one of them. */
function pair(options: Partial<TieredSaverOptions> = {}, now?: () => number) {
  const shared = { hot: new MemoryTier(), warm: new MemoryTier() };
  return [0, 1].map(() => {
    const hot = new FaultyTier(shared.hot, "hot");
    const warm = new FaultyTier(shared.warm, "warm");
    const saver = new TieredSaver({ hot, warm, consistency: "trusted", ...options }, now);
    return { hot, warm, saver };
  }) as [Opened, Opened];
}

interface Opened {
  readonly hot: FaultyTier;
  readonly warm: FaultyTier;
  readonly saver: TieredSaver;
}

test("a hot thread is read without asking the warm tier", async () => {
  const [a, b] = pair();
  await put(a.saver, "t", 1, text("one"));
  await a.saver.putWrites(configOf("t", 1), [["value", text("pending")]], "task");
  await a.saver.tier.idle();
  for (const { saver, warm, hot } of [a, b]) {
    warm.calls.length = 0;
    hot.calls.length = 0;
    const tuple = await saver.getTuple(configOf("t"));
    expect(tuple?.checkpoint.channel_values).toEqual({ value: text("one") });
    expect(tuple?.pendingWrites).toEqual([["task", "value", text("pending")]]);
    expect(warm.calls).toEqual([]);
    expect(hot.calls.map(({ method }) => method)).toEqual(["read"]);
  }
});

test("what was read once from the warm tier is believed from then on", async () => {
  const [{ saver, warm }] = pair();
  await put(new TieredSaver({ warm }), "t", 1, text("one"));
  expect(await valueOf(saver, "t")).toBe(text("one"));
  await saver.tier.idle();
  warm.calls.length = 0;
  expect(await valueOf(saver, "t")).toBe(text("one"));
  expect(warm.calls).toEqual([]);
});

test("a head that is lost isn't believed to be no thread", async () => {
  const [{ saver, warm }] = pair();
  await put(new TieredSaver({ warm }), "t", 1, text("one"));
  const { checkpoint } = await warm.read({ threadId: "t", namespace: "", checkpointId: idOf(1) });
  const whole = { namespace: reservedNamespaces.copy, to: "whole", expected: "any" as const };
  const records = [{ ...checkpoint!.record, threadId: "lost" }];
  await warm.append({ threadId: "lost", records, blobs: [], heads: [whole], onConflict: "branch" });
  for (let n = 0; n < 2; n += 1) {
    expect((await saver.tier.peek({ threadId: "lost", namespace: "" })).headless).toBe(true);
    expect((await saver.tier.read({ threadId: "lost", namespace: "" })).headless).toBe(true);
    await saver.tier.idle();
  }
});

test("what was read before a copy's parts came isn't believed afterwards", async () => {
  let now = Date.now();
  const [{ saver, hot, warm }] = pair({}, () => now);
  await put(new TieredSaver({ warm }), "t", 1, text("one"));
  const { checkpoint } = await warm.read({ threadId: "t", namespace: "", checkpointId: idOf(1) });
  const part = async (records: readonly CheckpointRecord[], to: string): Promise<void> => {
    const heads = [{ namespace: reservedNamespaces.copy, to, expected: "any" as const }];
    await saver.tier.append({ threadId: "lost", records, blobs: [], heads, onConflict: "branch" });
  };
  const root = { threadId: "lost", namespace: "" };
  const during = async (work: () => Promise<void>): Promise<void> => {
    now += 3_600_000;
    const hold = hot.hold("adopt");
    await saver.tier.read(root);
    await hold.reached;
    await work();
    hold.release();
    await saver.tier.idle();
  };
  await during(() => part([{ ...checkpoint!.record, threadId: "lost" }], "somebody"));
  await during(() => part([], "whole"));
  expect((await saver.tier.read(root)).headless).toBe(true);
});

test("a nearer tier has the bytes: the trusted one only tells the head", async () => {
  const [a, b] = pair();
  await put(a.saver, "t", 1, text("one"));
  await a.saver.tier.idle();
  const near = new TieredSaver({ hot: [boundedMemory(), b.hot], warm: b.warm, consistency: "trusted" });
  await valueOf(near, "t");
  await near.tier.idle();
  b.warm.calls.length = 0;
  b.hot.calls.length = 0;
  expect(await valueOf(near, "t")).toBe(text("one"));
  expect([b.hot.calls.map(({ method }) => method), b.warm.calls]).toEqual([["peek"], []]);
});

test("a process reads its own writes at once, also while the hot tier is slow", async () => {
  const [{ saver, hot }] = pair({ breaker: { timeout: "5s" } });
  hot.delay("append", 5);
  hot.delay("adopt", 5);
  for (let n = 1; n <= 40; n += 1) {
    await put(saver, "t", n, text(`value ${n}`));
    expect(await valueOf(saver, "t")).toBe(text(`value ${n}`));
    if (n % 10 === 0) await saver.tier.idle();
  }
});

test("two processes in turns: each sees the other's writes once they are renewed", async () => {
  const [a, b] = pair();
  await put(a.saver, "t", 1, text("value 1"));
  for (let n = 2; n <= 40; n += 1) {
    const [writer, reader] = n % 2 === 0 ? [b, a] : [a, b];
    await valueOf(writer.saver, "t");
    await put(writer.saver, "t", n, text(`value ${n}`));
    await writer.saver.tier.idle();
    expect(await valueOf(reader.saver, "t")).toBe(text(`value ${n}`));
  }
});

test("killed between commit and renewal: the copy was invalidated before, so nobody reads it", async () => {
  const [a, b] = pair();
  await put(a.saver, "t", 1, text("one"));
  await a.saver.tier.idle();
  expect(await valueOf(b.saver, "t")).toBe(text("one"));
  // From the acknowledgement of the commit on, nothing of A reaches the hot tier any more.
  a.hot.failWhen(({ method }) => method === "adopt" || method === "append");
  await put(a.saver, "t", 2, text("two"));
  expect(await valueOf(b.saver, "t")).toBe(text("two"));
});

test("cut off from the hot tier: others read what was before for at most trustFor, and can't write on it", async () => {
  const clock = { now: Date.now() };
  const [a, b] = pair({ trustFor: "30s", conflict: "throw" }, () => clock.now);
  await put(a.saver, "t", 1, text("one"));
  await a.saver.tier.idle();
  a.hot.failWhen(() => true);
  await put(a.saver, "t", 2, text("two"));
  expect(await valueOf(a.saver, "t")).toBe(text("two"));
  expect(await valueOf(b.saver, "t")).toBe(text("one"));
  await expect(put(b.saver, "t", 3, text("three"), 1)).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
  clock.now += 30_000;
  expect(await valueOf(b.saver, "t")).toBe(text("two"));
});

test("a copy loaded before a commit doesn't replace the one after it", async () => {
  const [a, b] = pair();
  await put(a.saver, "t", 1, text("one"));
  await a.saver.tier.idle();
  // B is about to renew with what it read before A commits.
  const hold = b.hot.hold("adopt");
  await b.saver.putWrites(configOf("t", 1), [["value", 1]], "task");
  await hold.reached;
  await put(a.saver, "t", 2, text("two"));
  await a.saver.tier.idle();
  hold.release();
  await b.saver.tier.idle();
  for (const { saver } of [a, b]) expect(await valueOf(saver, "t")).toBe(text("two"));
});

test("a deleted thread isn't adopted again by one who read it before", async () => {
  const [a, b] = pair();
  await put(a.saver, "t", 1, text("one"));
  await a.saver.tier.idle();
  const hold = b.hot.hold("adopt");
  await b.saver.putWrites(configOf("t", 1), [["value", 1]], "task");
  await hold.reached;
  await a.saver.deleteThread("t");
  hold.release();
  await b.saver.tier.idle();
  for (const { saver } of [a, b]) {
    expect(await valueOf(saver, "t")).toBeUndefined();
    expect(await saver.getTuple(configOf("t", 1))).toBeUndefined();
  }
});

test("with the hot tier down it is as verified", async () => {
  const [a, b] = pair();
  for (const { hot } of [a, b]) hot.failWhen(() => true);
  for (let n = 1; n <= 10; n += 1) {
    const [writer, reader] = n % 2 === 0 ? [b, a] : [a, b];
    await valueOf(writer.saver, "t");
    await put(writer.saver, "t", n, text(`value ${n}`));
    expect((await reader.saver.getTuple(configOf("t")))?.checkpoint.id).toBe(idOf(n));
  }
});

test("a prune of a thread in which 500 subgraphs ran asks the warm tier for its root, and not for all of them", async () => {
  const [{ saver, warm }] = pair();
  await put(saver, "t", 1, text("one"));
  for (let run = 0; run < 500; run += 1)
    await saver.putWrites(
      { configurable: { thread_id: "t", checkpoint_ns: `child:${run}`, checkpoint_id: idOf(1) } },
      [["value", run]],
      "task",
    );
  await put(saver, "t", 2, text("two"));
  await saver.tier.idle();
  warm.calls.length = 0;
  await saver.prune(["t"], { strategy: "keep_latest" });
  await saver.tier.idle();
  expect(warm.count("peek")).toBeLessThan(10);
  expect(await valueOf(saver, "t")).toBe(text("two"));
});

test("what is forgotten of a namespace written while the hot tier couldn't be told isn't believed for trustFor", async () => {
  const clock = { now: Date.now() };
  const [a, b] = pair({}, () => clock.now);
  for (const thread of ["t", "other", "third"]) {
    await put(b.saver, thread, 1, text("one"));
    await b.saver.tier.idle();
  }
  a.hot.failWhen(
    ({ method }) => method === "invalidate" || method === "adopt" || method.startsWith("append"),
  );
  await valueOf(a.saver, "t");
  await put(a.saver, "t", 2, text("two"));
  for (let n = 0; n < 10_500; n += 1)
    await a.saver.tier.appendWrites({
      threadId: `child ${n}`,
      namespace: "",
      checkpointId: "c",
      taskId: "task",
      blobs: [],
      body: new Uint8Array(),
      newBlobs: [],
    });
  expect(await valueOf(a.saver, "t")).toBe(text("two"));
  await a.saver.tier.idle();
  a.warm.calls.length = 0;
  await valueOf(a.saver, "other");
  await a.saver.tier.idle();
  expect(a.warm.count("peek")).toBe(1);
  // Copies of before have ended; who reads now may believe what others renewed meanwhile.
  clock.now += 60_001;
  await valueOf(b.saver, "third");
  await b.saver.tier.idle();
  a.warm.calls.length = 0;
  expect(await valueOf(a.saver, "third")).toBe(text("one"));
  expect(a.warm.calls).toEqual([]);
});

test("once the warm tier was set back, copies of what it lost are dropped, and those of what is there believed again", async () => {
  const storage = setBackTier();
  const [hot, warm] = [new MemoryTier(), new FaultyTier(storage, "warm")];
  let now = Date.now();
  const saver = new TieredSaver({ hot, warm, consistency: "trusted" }, () => now);
  const read = async (): Promise<unknown> => {
    const value = await valueOf(saver, "t");
    await saver.tier.idle();
    return value;
  };
  await put(saver, "t", 1, text("one"));
  const { mark } = storage;
  for (const step of [2, 3, 4]) await put(saver, "t", step, text(`step ${step}`));
  expect(await read()).toBe(text("step 4"));
  await storage.setBack(mark);
  now += 3_600_000;
  expect([await read(), await read(), await read()]).toEqual(Array(3).fill(text("one")));
  warm.calls.length = 0;
  expect(await read()).toBe(text("one"));
  expect(warm.calls).toEqual([]);
});
