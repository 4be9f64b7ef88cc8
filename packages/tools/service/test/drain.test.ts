import { Annotation, END, GraphDrained, RunControl, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, MemoryTier } from "@stratigraph/core";
import { createService, drainOnSignals, type ServiceOptions } from "@stratigraph/service";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, type TierStack } from "@stratigraph/tiered";
import { expect, test, vi } from "vitest";

const soon = {
  balancer: "0ms",
  runs: "50ms",
  abort: "50ms",
  maintenance: "50ms",
  copies: "50ms",
  saver: "50ms",
  close: "50ms",
} as const;

function opened(options: ServiceOptions = {}) {
  const saver = new MemorySaver();
  return { saver, service: createService(saver, { limits: soon, ...options }) };
}

test("the order: not ready, then no new runs, then runs end, then maintenance, checkpointer and the rest", async () => {
  const order: string[] = [];
  const { saver, service } = opened({
    limits: { ...soon, balancer: "40ms", runs: "1m" },
    stopListening: () => order.push("listeners"),
    maintenance: { stop: async () => void order.push("maintenance") },
    close: { telemetry: () => order.push("telemetry") },
  });
  const end = saver.end.bind(saver);
  saver.end = async () => {
    order.push("saver");
    await end();
  };
  let finish = (): void => undefined;
  const running = service.run("t", () => new Promise<void>((resolve) => (finish = resolve)));
  expect([service.draining, service.underWay]).toEqual([false, 1]);
  const drained = service.drain();
  expect(service.draining).toBe(true);
  expect(await service.run("late", async (signal) => signal.aborted), "the balancer hasn't noticed yet").toBe(
    false,
  );
  await vi.waitFor(() => expect(order).toEqual(["listeners", "maintenance"]), { timeout: 20_000 });
  await expect(service.run("later", async () => undefined)).rejects.toMatchObject({
    code: "DRAINING",
    status: 503,
  });
  expect(order).toEqual(["listeners", "maintenance"]);
  finish();
  order.push("run");
  await running;
  const report = await drained;
  expect(order).toEqual(["listeners", "maintenance", "run", "saver", "telemetry"]);
  expect(report).toMatchObject({ ok: true, runs: { ended: 1, aborted: 0, left: [] } });
  expect(report.steps.map(({ step, name, outcome }) => [step, name, outcome])).toEqual([
    ["balancer", undefined, "done"],
    ["runs", undefined, "done"],
    ["listeners", undefined, "done"],
    ["maintenance", undefined, "done"],
    ["saver", undefined, "done"],
    ["close", "telemetry", "done"],
  ]);
  expect(await service.drain()).toBe(report);
});

test("runs that take too long are ended by their signals; those that ignore them are left, and told", async () => {
  const { service } = opened();
  const obedient = service.run(
    "obedient",
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  );
  void service.run("deaf", () => new Promise(() => undefined));
  const stream = service.begin("stream");
  const drained = service.drain();
  await expect(obedient).rejects.toMatchObject({ code: "DRAINING", data: { threadId: "obedient" } });
  expect(stream.signal.aborted).toBe(true);
  stream.end();
  stream.end();
  const report = await drained;
  expect(report).toMatchObject({ ok: false, runs: { ended: 0, aborted: 2, left: ["deaf"] } });
  expect(report.steps.find(({ step }) => step === "abort")).toMatchObject({ outcome: "late" });
});

/** Three steps in a subgraph, which a fourth follows. The second one ends when `go` is called. */
function nested(saver: MemorySaver) {
  const State = Annotation.Root({ log: Annotation<string[]>({ reducer: (_, b) => b }) });
  const began: string[] = [];
  let go = (): void => undefined;
  const gone = new Promise<void>((resolve) => (go = resolve));
  const step =
    (name: string) =>
    async ({ log }: typeof State.State) => {
      began.push(name);
      if (name === "two") await gone;
      return { log: [...log, name] };
    };
  const inner = new StateGraph(State)
    .addNode("one", step("one"))
    .addNode("two", step("two"))
    .addNode("three", step("three"))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .compile();
  const graph = new StateGraph(State)
    .addNode("inner", inner)
    .addNode("four", step("four"))
    .addEdge(START, "inner")
    .addEdge("inner", "four")
    .addEdge("four", END)
    .compile({ checkpointer: saver });
  return { graph, began, go: () => go() };
}

test("a run that has the control ends after the step that it is in, in a subgraph too, and goes on there", async () => {
  const saver = new MemorySaver();
  const lasting = { tier: saver.tier, end: async () => undefined };
  const service = createService(lasting, { limits: { ...soon, runs: "1m" } });
  const { graph, began, go } = nested(saver);
  const config = { configurable: { thread_id: "t" } };
  const running = service.run("t", (signal, control) =>
    graph.invoke({ log: [] }, { ...config, signal, control }),
  );
  await vi.waitFor(() => expect(began).toEqual(["one", "two"]), { timeout: 20_000 });
  const drained = service.drain();
  go();
  await expect(running).rejects.toMatchObject({ code: "DRAINING", status: 503, data: { threadId: "t" } });
  await expect(running).rejects.toHaveProperty("cause", expect.any(GraphDrained));
  expect(await drained).toMatchObject({ ok: true, runs: { aborted: 0, left: [] } });
  const next = nested(saver);
  next.go();
  expect(await next.graph.invoke(null, config)).toEqual({ log: ["one", "two", "three", "four"] });
  expect([began, next.began]).toEqual([
    ["one", "two"],
    ["three", "four"],
  ]);
});

test("a run that is let in while the load balancer hasn't noticed begins, and is asked to end when the process takes no more", async () => {
  const { saver, service } = opened({ limits: { ...soon, balancer: "200ms", runs: "1m" } });
  const early = service.begin("early");
  const drained = service.drain();
  expect(early.control.drainReason).toBe("shutdown");
  early.end();
  const { graph, began, go } = nested(saver);
  const config = { configurable: { thread_id: "t" } };
  const running = service.run("t", async (signal, control) => {
    expect(control.drainRequested).toBe(false);
    setTimeout(function look() {
      if (control.drainRequested) go();
      else setTimeout(look, 5);
    });
    return await graph.invoke({ log: [] }, { ...config, signal, control });
  });
  await expect(running).rejects.toMatchObject({ code: "DRAINING" });
  expect(began).toEqual(["one", "two"]);
  expect(await drained).toMatchObject({ ok: true, runs: { ended: 1, aborted: 0 } });
});

test("a run's control answers what LangGraph's own answers; a node can ask for the end too", () => {
  const own = new RunControl();
  const { control } = opened().service.begin("t");
  const told = ({ drainRequested, drainReason }: RunControl) => ({ drainRequested, drainReason });
  expect(told(control)).toEqual(told(own));
  for (const each of [control, own]) each.requestDrain();
  expect(told(control)).toEqual(told(own));
  for (const each of [control, own]) each.requestDrain("enough");
  expect(told(control)).toEqual(told(own));
  expect(Object.keys(Object.getOwnPropertyDescriptors(RunControl.prototype)).toSorted()).toEqual(
    ["constructor", ...Object.keys(control)].toSorted(),
  );
});

test("a step that hangs or fails holds up none of the others, and stands in the report", async () => {
  const hot = new FaultyTier(new MemoryTier(), "hot");
  const warm = new FaultyTier(new MemoryTier(), "warm");
  const saver = new TieredSaver({ hot, warm });
  const hold = warm.hold("end");
  const failure = new Error("the listener is gone");
  const closed: string[] = [];
  const service = createService(saver, {
    limits: soon,
    stopListening: () => {
      throw failure;
    },
    maintenance: { stop: () => new Promise(() => undefined) },
    close: { hangs: () => new Promise(() => undefined), closes: () => closed.push("closes") },
  });
  const report = await service.drain();
  expect(closed).toEqual(["closes"]);
  expect(report.ok).toBe(false);
  const outcomes = Object.fromEntries(report.steps.map(({ step, name, outcome }) => [name ?? step, outcome]));
  expect(outcomes).toEqual({
    balancer: "done",
    listeners: "failed",
    maintenance: "late",
    runs: "done",
    copies: "done",
    saver: "late",
    hangs: "late",
    closes: "done",
  });
  expect(report.steps.find(({ step }) => step === "listeners")).toMatchObject({
    error: failure,
    why: "Error: the listener is gone",
  });
  hold.release();
});

test("the hot tiers get their copies before they are ended", async () => {
  const hot = new FaultyTier(new MemoryTier(), "hot");
  const saver = new TieredSaver({ hot, warm: new MemoryTier() });
  const hold = hot.hold("append");
  const service = createService(saver, { limits: { ...soon, copies: "1m" } });
  await service.run("t", async () => {
    const checkpoint = {
      v: 4,
      id: "1",
      ts: "",
      channel_values: { a: "b" },
      channel_versions: { a: 1 },
      versions_seen: {},
    };
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    await saver.put(config, checkpoint, { source: "input", step: -1, parents: {} }, { a: 1 });
  });
  await hold.reached;
  const waits = vi.spyOn(saver.tier as TierStack, "idle");
  const ends = vi.spyOn(saver, "end");
  const drained = service.drain();
  await vi.waitFor(() => expect(waits).toHaveBeenCalled(), { timeout: 20_000 });
  expect(ends).not.toHaveBeenCalled();
  hold.release();
  expect(await drained).toMatchObject({ ok: true });
  expect(hot.calls.map(({ method, outcome }) => [method, outcome])).toEqual([
    ["append", "returned"],
    ["end", "returned"],
  ]);
});

test("a report that is never taken doesn't keep the process from ending", async () => {
  const { service } = opened();
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const onReport = vi.fn(() => new Promise(() => undefined));
  const end = drainOnSignals(service, { signals: ["SIGUSR2"], onReport });
  try {
    process.emit("SIGUSR2");
    await vi.waitFor(() => expect(exit).toHaveBeenCalledWith(0), { timeout: 20_000 });
    expect(onReport).toHaveBeenCalledOnce();
  } finally {
    end();
    exit.mockRestore();
  }
});

test("options that can't be used are refused", () => {
  const saver = new MemorySaver();
  const wrong = [
    { limits: { run: "1s" } },
    { limits: { runs: 5 } },
    { stopListening: {} },
    { maintenance: {} },
    { close: { telemetry: 1 } },
    { deadline: "1s" },
  ];
  for (const options of wrong)
    expect(() => createService(saver, options as object), JSON.stringify(options)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
  const misplaced = { limits: { balancer: "0ms" } } as object;
  expect(() => drainOnSignals(createService(saver), misplaced)).toThrow("Pass it to createService.");
  expect(() => createService(saver, { onReport: () => undefined } as object)).toThrow(
    "Pass it to drainOnSignals.",
  );
});
