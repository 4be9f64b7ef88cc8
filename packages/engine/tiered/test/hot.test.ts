import { MemoryTier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { TierStack, TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { put, stepsOf, text, valueOf } from "./support.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { inRounds } from "../../../../test/rounds.ts";

/** A warm tier and a hot one, watched. */
function tiers(): { hot: FaultyTier; warm: FaultyTier } {
  return { hot: new FaultyTier(new MemoryTier(), "hot"), warm: new FaultyTier(new MemoryTier(), "warm") };
}

function open(options: TieredSaverOptions, now?: () => number): TieredSaver {
  return new TieredSaver(options, now);
}

test("a thread that this stack wrote is read without its bytes crossing from the warm tier", async () => {
  const { hot, warm } = tiers();
  const saver = open({ hot, warm });
  for (let n = 1; n <= 5; n += 1) await put(saver, "t", n, text(`value ${n}`));
  await saver.tier.idle();
  warm.calls.length = 0;
  expect(await valueOf(saver, "t")).toBe(text("value 5"));
  expect(await valueOf(saver, "t", 2)).toBe(text("value 2"));
  expect(warm.calls.map(({ method }) => method)).toEqual(["peek", "peek"]);
  expect(saver.tier.counters).toEqual([
    { tier: "hot", hits: 2, misses: 0, dropped: 0, waiting: 0, waitingBytes: 0, running: 0 },
  ]);
});

test("a cold start reads once from the warm tier, and then from the hot one", async () => {
  const { hot, warm } = tiers();
  const writer = open({ warm });
  await put(writer, "t", 1, text("one"));
  await put(writer, "t", 2, text("two"));
  const saver = open({ hot, warm });
  expect(await valueOf(saver, "t")).toBe(text("two"));
  await saver.tier.idle();
  expect(await valueOf(saver, "t")).toBe(text("two"));
  expect(saver.tier.counters[0]).toMatchObject({ hits: 1, misses: 1 });
});

test("data that is only in a farther hot tier is copied to the nearer one", async () => {
  const { hot, warm } = tiers();
  const first = open({ hot, warm });
  await put(first, "t", 1, text("one"));
  await first.tier.idle();
  const near = boundedMemory();
  const second = open({ hot: [near, hot], warm });
  expect(await valueOf(second, "t")).toBe(text("one"));
  await second.tier.idle();
  expect(await valueOf(second, "t")).toBe(text("one"));
  expect(second.tier.counters).toMatchObject([
    { tier: "memory", hits: 1, misses: 1 },
    { tier: "hot", hits: 1, misses: 0 },
  ]);
});

test("another process's writes are seen at once, also by a process with an old copy", async () => {
  const warm = new MemoryTier();
  const [a, b] = [open({ hot: boundedMemory(), warm }), open({ hot: boundedMemory(), warm })];
  await put(a, "t", 1, text("one"));
  for (let n = 2; n <= 20; n += 1) {
    const [writer, reader] = n % 2 === 0 ? [b, a] : [a, b];
    await valueOf(writer, "t");
    await put(writer, "t", n, text(`value ${n}`));
    await writer.putWrites({ configurable: { thread_id: "t", checkpoint_id: "x" } }, [["value", n]], "task");
    expect(await valueOf(reader, "t")).toBe(text(`value ${n}`));
  }
});

test("a process with copies of a deleted or pruned thread doesn't answer with them", async () => {
  const warm = new MemoryTier();
  const [a, b] = [open({ hot: boundedMemory(), warm }), open({ hot: boundedMemory(), warm })];
  for (const thread of ["deleted", "pruned", "begun anew"])
    for (let n = 1; n <= 3; n += 1) await put(a, thread, n, text(`value ${n}`));
  await a.tier.idle();
  await b.deleteThread("deleted");
  await b.prune(["pruned"], { strategy: "keep_latest", keepLast: 1 });
  await b.deleteThread("begun anew");
  await put(b, "begun anew", 1, text("another value"));
  expect(await valueOf(a, "deleted")).toBeUndefined();
  expect(await valueOf(a, "deleted", 2)).toBeUndefined();
  expect(await valueOf(a, "pruned", 2)).toBeUndefined();
  expect(await valueOf(a, "pruned", 3)).toBe(text("value 3"));
  expect(await valueOf(a, "begun anew", 1)).toBe(text("another value"));
  expect(await valueOf(a, "begun anew", 3)).toBeUndefined();
});

test("a checkpoint put again with other content is read as it was put last, also where the copy failed", async () => {
  const { hot, warm } = tiers();
  const saver = open({ hot, warm });
  await put(saver, "t", 1, text("one"));
  await put(saver, "t", 2, text("two"));
  await saver.tier.idle();
  hot.failNext("append", new Error("full"));
  await put(saver, "t", 2, text("two, corrected"));
  await saver.tier.idle();
  expect(await valueOf(saver, "t")).toBe(text("two, corrected"));
  expect(await valueOf(saver, "t", 2)).toBe(text("two, corrected"));
});

describe("a hot tier that fails", () => {
  const ways: [string, (hot: FaultyTier) => void][] = [
    ["refuses everything", (hot) => void hot.failWhen(() => true)],
    ["refuses writes", (hot) => void hot.failWhen(({ method }) => method.startsWith("append"))],
    ["refuses reads", (hot) => void hot.failWhen(({ method }) => method === "read")],
    ["refuses every second call", (hot) => void hot.failWhen(() => hot.calls.length % 2 === 0)],
    ["does it and says it failed", (hot) => hot.dropAcknowledgement("append", undefined, { times: 100 })],
  ];
  test.each(ways)("%s: no call fails and every value is right", async (_name, breakIt) => {
    const { hot, warm } = tiers();
    const saver = open({ hot, warm, breaker: { openFor: "1ms", maxOpenFor: "2ms" } });
    breakIt(hot);
    for (let n = 1; n <= 30; n += 1) {
      await put(saver, "t", n, text(`value ${n}`));
      expect(await valueOf(saver, "t")).toBe(text(`value ${n}`));
      expect(await valueOf(saver, "t", Math.ceil(n / 2))).toBe(text(`value ${Math.ceil(n / 2)}`));
    }
    expect(await stepsOf(saver, "t")).toHaveLength(30);
    await saver.tier.idle();
    // What it dropped is told now, and not while another test listens.
    hot.reset();
    await saver.end();
  });

  test("never answers: costs two timeouts, then nothing, and comes back by itself", async () => {
    const { hot, warm } = tiers();
    const clock = { now: 1000 };
    const saver = open({ hot, warm, breaker: { timeout: "60ms" } }, () => clock.now);
    await put(saver, "t", 1, text("one"));
    await saver.tier.idle();
    const holds = [hot.hold("read"), hot.hold("read")];
    const events = await tracedWhile(async () => {
      for (let n = 0; n < 20; n += 1) expect(await valueOf(saver, "t")).toBe(text("one"));
      expect(hot.count("read")).toBe(2);
      for (const hold of holds) hold.release();
      clock.now += 1001;
      expect(await valueOf(saver, "t")).toBe(text("one"));
    });
    expect(events.filter(({ type }) => type === "breaker")).toMatchObject([
      { tier: "hot", state: "open" },
      { tier: "hot", state: "half-open" },
      { tier: "hot", state: "closed" },
    ]);
    expect(saver.tier.counters[0]!.hits).toBe(1);
  });

  test("is slow to write: the caller doesn't wait; the queue is bounded and counts what it drops", async () => {
    const { hot, warm } = tiers();
    const saver = open({ hot, warm, queue: { maxCopies: 3 }, breaker: { timeout: "10s" } });
    const hold = hot.hold("append");
    const events = await tracedWhile(async () => {
      await put(saver, "t", 1, text("value 1"));
      await vi.waitFor(() => expect(hot.count("append")).toBe(1));
      for (let n = 2; n <= 10; n += 1) await put(saver, "t", n, text(`value ${n}`));
    });
    expect(saver.tier.counters[0]).toMatchObject({ waiting: 3, dropped: 6 });
    // The others of this second are told together, when it is over.
    expect(events.filter(({ type }) => type === "dropped")).toMatchObject([{ what: "copies", count: 1 }]);
    hold.release();
    await saver.tier.idle();
    for (let n = 1; n <= 10; n += 1) expect(await valueOf(saver, "t", n)).toBe(text(`value ${n}`));
  });

  test("drops copies for a while: a few events report how many, not one event per copy", async () => {
    const { hot, warm } = tiers();
    hot.failWhen(({ method }) => method === "append");
    const saver = open({ hot, warm, breaker: { openFor: "1h" } });
    const events = await tracedWhile(async () => {
      for (let n = 1; n <= 100; n += 1) await put(saver, "t", n, text(`value ${n}`));
      await saver.end();
    });
    const dropped = events.flatMap((event) => (event.type === "dropped" ? [event] : []));
    expect(saver.tier.counters[0]!.dropped).toBe(100);
    expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(100);
    expect(dropped.length).toBeLessThan(20);
  });

  test("loses parts of a thread: a miss, not a value with holes", async () => {
    const inner = new MemoryTier();
    const { warm } = tiers();
    const saver = open({ hot: inner, warm });
    for (let n = 1; n <= 4; n += 1) await put(saver, "t", n, text(`value ${n}`));
    await saver.tier.idle();
    for (const { hash } of await inner.blobs("t")) {
      const { revision } = await inner.peek({ threadId: "t", namespace: "" });
      await inner.remove({
        threadId: "t",
        revision,
        checkpoints: [],
        dropBlobs: [hash],
        replaceBlobs: [],
        heads: [],
      });
      for (let n = 1; n <= 4; n += 1) expect(await valueOf(saver, "t", n)).toBe(text(`value ${n}`));
    }
  });

  test("is down while a thread is deleted: its copies go before it is asked again", async () => {
    const { hot, warm } = tiers();
    const clock = { now: 1000 };
    const saver = open({ hot, warm }, () => clock.now);
    await put(saver, "t", 1, text("secret"));
    await saver.tier.idle();
    hot.failNext("deleteThread", new Error("down"));
    await saver.deleteThread("t");
    expect((await hot.inner.blobs("t")).length).toBe(1);
    clock.now += 5000;
    expect(await valueOf(saver, "t")).toBeUndefined();
    expect(await hot.inner.blobs("t")).toEqual([]);
  });
});

test("a failing warm tier always surfaces", async () => {
  const { hot, warm } = tiers();
  const saver = open({ hot, warm });
  await put(saver, "t", 1, text("one"));
  await saver.tier.idle();
  warm.failWhen(() => new Error("warm is down"));
  await expect(valueOf(saver, "t")).rejects.toThrow("warm is down");
  await expect(put(saver, "t", 2, text("two"))).rejects.toThrow("warm is down");
  await expect(stepsOf(saver, "t")).rejects.toThrow("warm is down");
  warm.reset();
  expect(await valueOf(saver, "t")).toBe(text("one"));
});

const rounds = inRounds({ few: 40, all: 80, soak: 200 });

test(`two stacks racing on one thread, ${rounds} rounds: one winner each, nothing mixed`, async () => {
  const warm = new MemoryTier();
  const hot = new MemoryTier();
  const racers = [0, 1].map(() => open({ hot, warm, conflict: "throw" }));
  await put(racers[0]!, "t", 1, text("begin"));
  let head = 1;
  for (let round = 1; round <= rounds; round += 1) {
    await Promise.all(racers.map((saver) => valueOf(saver, "t")));
    const tried = await Promise.allSettled(
      racers.map(async (saver, i) => {
        await put(saver, "t", round * 10 + i, text(`${round} by ${i}`), head);
        return i;
      }),
    );
    const won = tried.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(won).toHaveLength(1);
    head = round * 10 + won[0]!;
    for (const saver of racers) expect(await valueOf(saver, "t")).toBe(text(`${round} by ${won[0]}`));
  }
  expect(await stepsOf(racers[0]!, "t")).toHaveLength(rounds + 1);
}, 20_000);

describe("options", () => {
  const tier = new MemoryTier();
  const wrong: [string, unknown, string][] = [
    ["no warm tier", { hot: tier }, "owns its threads"],
    ["the same tier as hot and warm", { hot: tier, warm: tier }, "two owners"],
    ["the same tier as warm and cold", { warm: tier, cold: tier }, "two owners"],
    ["the same hot tier twice", { hot: [tier, tier], warm: new MemoryTier() }, "two owners"],
    ["a client instead of a tier", { warm: tier, hot: {} }, "no peek()"],
    ["trusted without hot", { warm: tier, consistency: "trusted" }, "no hot tier"],
    ["an unknown consistency", { warm: tier, consistency: "eventual" }, '"verified" or "trusted"'],
    ["an unknown duration", { warm: tier, breaker: { timeout: "1 week" } }, "breaker.timeout"],
    ["a duration of nothing", { warm: tier, breaker: { openFor: "0s" } }, "breaker.openFor"],
    ["archiving without a cold tier", { warm: tier, archiveAfter: "7d" }, "needs a cold tier"],
    ["keepLast 0", { warm: tier, cold: new MemoryTier(), keepLast: 0 }, "keepLast"],
    ["an unknown restoreOn", { warm: tier, restoreOn: "maybe" }, '"never"'],
    ["half a queue", { warm: tier, queue: { maxCopies: 0.5 } }, "queue.maxCopies"],
  ];
  test.each(wrong)("%s", (_name, options, message) => {
    expect(() => open(options as TieredSaverOptions)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }),
    );
  });

  test("trusted on a hot tier that can't stand in for the warm one", () => {
    const hot = new TierStack({ warm: new MemoryTier() });
    expect(() => open({ hot, warm: tier, consistency: "trusted" })).toThrow("can't stand in");
  });
});
