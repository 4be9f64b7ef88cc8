// long file: the stories of one door, with the helpers they share
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import type { LockKeeper } from "@stratigraph/core/tier";
import { createService, withThread, type HeldThread } from "@stratigraph/service";
import { FaultyTier } from "@stratigraph/testing";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { isCollected } from "../../../../test/collected.ts";

/** Time that passes when the test says so. */
function withFakeTime(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

/** Two processes over one storage: two tiers that keep their locks in the same memory. */
function twoProcesses(): [TierSaver, TierSaver, MemoryTier] {
  const shared = new MemoryTier();
  return [new TierSaver(new FaultyTier(shared)), new TierSaver(new FaultyTier(shared)), shared];
}

test("one run at a time, in the order in which they came; the threads of others aren't held up; tokens grow", async () => {
  const saver = new MemorySaver();
  const [tokens, order]: [number[], number[]] = [[], []];
  let [inside, most] = [0, 0];
  const run = (n: number) =>
    withThread(saver, "t", async ({ token, threadId }) => {
      expect(threadId).toBe("t");
      order.push(n);
      most = Math.max(most, ++inside);
      await turn();
      inside -= 1;
      tokens.push(token);
      return n;
    });
  const runs = Promise.all([1, 2, 3, 4, 5].map(run));
  expect(await withThread(saver, "other", async () => inside)).toBeLessThanOrEqual(1);
  expect(await runs).toEqual([1, 2, 3, 4, 5]);
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(most).toBe(1);
  expect(new Set(tokens).size).toBe(5);
  expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
});

test.each(["withThread", "service.run"])(
  "%s ends once a stopped run has stored what it had done",
  async (by) => {
    const [one, two] = twoProcesses();
    const door = one.tier as FaultyTier;
    const hold = door.hold("append");
    const stop = new AbortController();
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const stopped = async (): Promise<never> => {
      void one.put(
        { ...config, signal: stop.signal },
        emptyCheckpoint(),
        { source: "input", step: -1, parents: {} },
        {},
      );
      await hold.reached;
      stop.abort();
      throw new Error("stopped");
    };
    const running =
      by === "withThread" ? withThread(one, "t", stopped) : createService(one).run("t", stopped);
    const seen: unknown[] = [];
    const next = running.catch(async () => seen.push((await two.getTuple(config))?.checkpoint.id));
    const waiting =
      by === "withThread"
        ? withThread(two, "t", async () => (await two.getTuple(config))?.checkpoint.id)
        : undefined;
    await hold.reached;
    for (let n = 0; n < 5; n += 1) await turn();
    expect(seen).toEqual([]);
    hold.release();
    await next;
    const head = (await two.tier.peek({ threadId: "t", namespace: "" })).head;
    expect(head).toBeDefined();
    expect(seen).toEqual([head]);
    if (waiting !== undefined) expect(await waiting).toBe(head);
  },
);

test("across processes too; who waits too long is told who has the thread, and since when", async () => {
  const [one, two] = twoProcesses();
  const beganMs = Date.now();
  let finish = (): void => undefined;
  let begun = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const work = (): Promise<void> => {
    begun();
    return new Promise((resolve) => (finish = resolve));
  };
  const holding = withThread(one, "t", work, { by: "agents-0" });
  await hasBegun;
  const busy = await withThread(two, "t", async () => undefined, { waitFor: "60ms" }).catch(
    (error: unknown) => error,
  );
  expect(StratigraphError.is(busy, "THREAD_BUSY")).toBe(true);
  expect(busy).toMatchObject({
    retryable: true,
    data: { threadId: "t", holder: "agents-0", waitedMs: expect.any(Number) },
  });
  const { since, waitedMs } = (busy as StratigraphError).data as { since: string; waitedMs: number };
  expect(Date.parse(since)).toBeGreaterThanOrEqual(beganMs);
  expect(Date.parse(since)).toBeLessThanOrEqual(Date.now());
  expect(waitedMs).toBeGreaterThanOrEqual(50);
  const local = withThread(one, "t", async () => undefined, { waitFor: "0ms" });
  await expect(local).rejects.toMatchObject({ code: "THREAD_BUSY", data: { holder: "agents-0" } });
  const next = withThread(two, "t", async () => "mine", { waitFor: "1m" });
  finish();
  await holding;
  expect(await next).toBe("mine");
});

test("the lock is given back when work throws, and that error arrives", async () => {
  const saver = new MemorySaver();
  const failing = withThread(saver, "t", async () => Promise.reject(new Error("work failed")));
  await expect(failing).rejects.toThrow("work failed");
  expect(await withThread(saver, "t", async () => "next", { waitFor: "0ms" })).toBe("next");
});

test("a lock that can't be prolonged is lost when its time is up, never later than in the storage", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  let held: HeldThread | undefined;
  withFakeTime();
  const losing = withThread(
    saver,
    "t",
    async (mine) => {
      held = mine;
      tier.failNext("lock", new Error("the storage is away"), { times: 9 });
      await new Promise((resolve) => mine.signal.addEventListener("abort", resolve));
    },
    { leaseFor: "1s" },
  );
  await vi.advanceTimersByTimeAsync(999);
  expect(held?.signal.aborted).toBe(false);
  expect(tier.count("lock")).toBeGreaterThan(2);
  await vi.advanceTimersByTimeAsync(1);
  await losing;
  expect(held?.signal.reason).toMatchObject({ code: "LOCK_LOST", data: { threadId: "t" } });
});

test("a lock that somebody else took is lost as soon as that is seen; one that is prolonged outlives its lease", async () => {
  const [one, , shared] = twoProcesses();
  const lock = (shared as LockKeeper).lock.bind(shared);
  let [name, holder] = ["", ""];
  (shared as LockKeeper).lock = async (...args) => {
    if (name === "") [name, holder] = args;
    return await lock(...args);
  };
  withFakeTime();
  const reason = await withThread(
    one,
    "t",
    async ({ signal }) => {
      await vi.advanceTimersByTimeAsync(60_000);
      expect(signal.aborted).toBe(false);
      await shared.unlock(name, holder);
      await lock(name, "somebody/else", 60_000);
      await vi.advanceTimersByTimeAsync(667);
      return signal.reason as unknown;
    },
    { leaseFor: "2s" },
  );
  expect(reason).toMatchObject({
    code: "LOCK_LOST",
    message: expect.stringContaining("somebody has it now"),
  });
});

test("a signal ends the waiting, and the work", async () => {
  const saver = new MemorySaver();
  const mine = new AbortController();
  let finish = (): void => undefined;
  const holding = withThread(
    saver,
    "t",
    ({ signal }) =>
      new Promise<unknown>((resolve) => {
        finish = () => resolve("by itself");
        signal.addEventListener("abort", () => resolve(signal.reason));
      }),
    { signal: mine.signal },
  );
  const waiting = new AbortController();
  const waits = withThread(saver, "t", async () => undefined, { signal: waiting.signal });
  waiting.abort(new Error("nobody waits any more"));
  await expect(waits).rejects.toThrow("nobody waits any more");
  mine.abort(new Error("stop"));
  expect(await holding).toEqual(new Error("stop"));
  finish();
});

test("a storage that fails is told, and holds no thread up afterwards", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  tier.dropAcknowledgement("lock");
  await expect(withThread(saver, "t", async () => undefined)).rejects.toThrow();
  expect(await withThread(saver, "t", async () => "next", { waitFor: "0ms" })).toBe("next");
});

test("storage without locks, and options that can't be used, are refused", async () => {
  const tier = new MemoryTier();
  Object.assign(tier, { lock: undefined });
  await expect(withThread(new TierSaver(tier), "t", async () => undefined)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining("keeps no locks"),
  });
  const saver = new MemorySaver();
  const options = [
    { leaseFor: "1ms" },
    { leaseFor: "2h" },
    { waitFor: "soon" },
    { by: "x".repeat(201) },
    { waits: "1s" },
    { signal: 1 },
  ];
  for (const wrong of options)
    await expect(withThread(saver, "t", async () => undefined, wrong as object)).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  await expect(withThread(saver, "", async () => undefined)).rejects.toMatchObject({
    code: "INVALID_ADDRESS",
  });
});

test("a run that ended is forgotten, although its graph still listens to its signal", async () => {
  const saver = new MemorySaver();
  const shutdown = new AbortController();
  const ofRun = async (): Promise<WeakRef<object>> =>
    await withThread(
      saver,
      "t",
      async ({ signal }) => {
        const graph = { cancelled: false };
        // As LangGraph does, which never removes what it added.
        signal.addEventListener("abort", () => (graph.cancelled = true));
        return new WeakRef(graph);
      },
      { signal: shutdown.signal },
    );
  expect(await isCollected(await ofRun())).toBe(true);
});

test("a lock that is given on ends what a failed run left: the next run's subgraph keeps its head", async () => {
  const [one, two] = twoProcesses();
  const State = Annotation.Root({ by: Annotation<string>() });
  const [mayEnd, hasEnded] = [latch(), latch()];
  const refused: unknown[] = [];
  const graph = (saver: TierSaver, isFirst: boolean) => {
    const sub = new StateGraph(State)
      .addNode("works", async () => {
        if (isFirst) await mayEnd.opened;
        else {
          // The failed run goes on while this one works.
          mayEnd.open();
          await hasEnded.opened;
        }
        return { by: isFirst ? "the failed run" : "the next run" };
      })
      .addNode("goes on", () => ({}))
      .addEdge(START, "works")
      .addEdge("works", "goes on")
      .compile();
    return new StateGraph(State)
      .addNode("asks", sub)
      .addNode("fails", () => {
        if (isFirst) throw new Error("no answer");
        return {};
      })
      .addEdge(START, "asks")
      .addEdge(START, "fails")
      .compile({ checkpointer: saver });
  };
  // What the failed run stores once it goes on.
  let goesOn = false;
  void mayEnd.opened.then(() => (goesOn = true));
  for (const method of ["put", "putWrites"] as const) {
    const store = one[method].bind(one) as (...args: unknown[]) => Promise<unknown>;
    vi.spyOn(one, method).mockImplementation(async (...args: unknown[]): Promise<never> => {
      try {
        const stored = await store(...args);
        if (goesOn && method === "put") hasEnded.open();
        return stored as never;
      } catch (error) {
        refused.push(error);
        hasEnded.open();
        throw error;
      }
    });
  }
  const config = { configurable: { thread_id: "t" }, durability: "sync" as const };
  const run = (saver: TierSaver, input: { by: string } | null) =>
    withThread(saver, "t", () => graph(saver, saver === one).invoke(input, config));
  await expect(run(one, { by: "nobody" })).rejects.toThrow("no answer");
  expect((await run(two, null)).by).toBe("the next run");
  expect(refused.length).toBeGreaterThan(0);
  for (const error of refused) expect(error).toMatchObject({ code: "LOCK_LOST" });
});

test("a node runs a graph again under its lock after the first try failed", async () => {
  const saver = new MemorySaver();
  const State = Annotation.Root({ tries: Annotation<number>() });
  let tries = 0;
  const child = new StateGraph(State)
    .addNode("works", () => {
      tries += 1;
      if (tries < 3) throw new Error("not yet");
      return { tries };
    })
    .addEdge(START, "works")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "child", checkpoint_ns: "" } };
  const parent = new StateGraph(State)
    .addNode("asks", () => withThread(saver, "child", () => child.invoke({ tries: 0 }, config)), {
      retryPolicy: { maxAttempts: 3, initialInterval: 1, logWarning: false },
    })
    .addEdge(START, "asks")
    .compile({ checkpointer: saver });
  expect(await parent.invoke({ tries: 0 }, { configurable: { thread_id: "parent" } })).toEqual({ tries: 3 });
});

/** A signal between a test and a node. */
function latch() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}
