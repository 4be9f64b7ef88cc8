// long file: every way in which a run may end, on each kind of storage
import type { BaseMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import type { OutputOf, RunEvent } from "../../../src/operations/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deltaChat, nested, on } from "../../../../../features/branch/test/support/graphs.ts";
import { savers } from "../../../../../features/branch/test/support/savers.ts";
import { LiveEvents } from "../../../src/operations/run/liveEvents.ts";
import { testContext } from "../support/testContext.ts";
import { hostileId, ran } from "../support/ran.ts";
import { trip, twoQuestions, type Doing } from "./support.ts";

type Ran = OutputOf<"run">;
const hello = JSON.stringify({ messages: [{ role: "user", content: "hello" }], by: "rail" });

describe.each(savers)("run on %s", (name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  const run = async (at: string, input: object = {}, given: object = {}) =>
    await ran<Ran>("run", { at, ...input }, saver, { graph: trip(saver), ...given });
  const head = async (threadId: string) => (await saver.tier.peek({ threadId, namespace: "" })).head;
  const log = async (id: string) => (await trip(saver).getState(on(id))).values.log;
  const nodesOf = ({ nodes }: Ran) => nodes.map(({ node, state }) => `${node} ${state}`);

  test("an input that names its head runs once, however often it is sent, also at the same time", async () => {
    const id = `sent again ${name}`;
    await run(id, { input: hello, create: true });
    const checkpoint = await head(id);
    const send = async () => await run(id, { checkpoint, input: hello });
    const both = await Promise.allSettled([send(), send()]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await expect(send()).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
    const { messages } = (await trip(saver).getState(on(id))).values;
    expect(messages.filter((message: BaseMessage) => message.getType() === "human")).toHaveLength(2);
  });

  test("to an interrupt, and with its answer to the end; events come meanwhile", async () => {
    const id = `${hostileId} ${name}`;
    const events: RunEvent[] = [];
    const onEvent = (event: RunEvent) => void events.push(event);
    const first = await run(id, { input: hello, create: true }, { onEvent });
    expect(first.output).toMatchObject({
      outcome: "interrupted",
      next: ["ask"],
      interrupts: [{ node: "ask", value: { value: { question: "Book it?" } } }],
    });
    expect(first.found).toBe(true);
    expect(first.output).not.toHaveProperty("before");
    expect(nodesOf(first.output)).toEqual(["talk ended", "choose ended", "rail ended", "ask interrupted"]);
    expect(first.output.checkpoints).toHaveLength(5);
    expect(first.output.checkpoints.at(-1)).toBe(await head(id));
    const tokens = events.flatMap((each) => (each.type === "message" && each.role === "ai" ? [each] : []));
    expect(tokens.map(({ text }) => text).filter((text) => text !== "")).toEqual(["you ", "said ", "hello"]);
    expect(new Set(tokens.map(({ node }) => node))).toEqual(new Set(["talk"]));
    expect(events).toContainEqual({ type: "custom", namespace: "", value: { seats: 12 } });
    const [started, ended] = events.filter((each) => each.type === "node" && each.node === "rail");
    expect(started).toMatchObject({ state: "started" });
    expect(ended).toMatchObject({ state: "ended", ms: expect.any(Number) as number });
    const told = events.flatMap((each) => (each.type === "checkpoint" ? [each] : []));
    expect(told.at(-1)).toMatchObject({ checkpoint: await head(id), step: 3, next: ["ask"] });
    expect(JSON.parse(JSON.stringify(events))).toEqual(events);
    const again = await run(id);
    expect(again.output).toMatchObject({ outcome: "interrupted", checkpoints: [] });
    const done = await run(id, { resume: '"yes"' });
    expect(done.output).toMatchObject({ outcome: "done", next: [], interrupts: [] });
    expect(done.output.before).toBe(first.output.head);
    expect(done.found).toBe(false);
    expect(await log(id)).toEqual(["talk", "choose rail", "rail", "answer yes", "book"]);
    await expect(run(id, { resume: '"yes"' })).rejects.toMatchObject({
      code: "NOT_WAITING",
      message: expect.stringContaining("No question waits for an answer") as string,
      data: { threadId: id, waiting: [] },
    });
    const over = await run(id);
    expect(over.output).toMatchObject({ outcome: "done", checkpoints: [], nodes: [] });
  });

  test("step by step, each told first by a dry run that runs nothing", async () => {
    const planned = await run("s", { input: hello, create: true, dryRun: true });
    expect(planned.output).toMatchObject({ outcome: "planned", next: ["talk"], nodes: [] });
    expect(await head("s")).toBeUndefined();
    await run("s", { input: hello, create: true, steps: 1 });
    for (const node of ["choose", "rail"]) {
      const before = await head("s");
      const { output } = await run("s", { dryRun: true });
      expect(output).toMatchObject({ outcome: "planned", next: [node], head: before });
      expect(await head("s")).toBe(before);
      const step = await run("s", { steps: "1" });
      expect(step.output).toMatchObject({ outcome: "paused", why: "steps" });
      expect(step.found).toBe(false);
      expect(nodesOf(step.output)).toEqual([`${node} ended`]);
      expect(step.output.checkpoints).toHaveLength(1);
    }
    expect((await run("s", { steps: 1 })).output.outcome).toBe("interrupted");
    const fresh = await run("s", { input: hello, dryRun: true });
    expect(fresh.output.next).toEqual(["talk"]);
    const two = await run("s", { resume: '"yes"', steps: 2 });
    expect(nodesOf(two.output)).toEqual(["ask ended", "book ended"]);
    expect(two.output).toMatchObject({ outcome: "done" });
  });

  test("a node that throws has failed, and runs again", async () => {
    const doing: Doing = {
      book: () => {
        throw new TypeError("no seats");
      },
    };
    await run("f", { input: hello, create: true });
    const graph = trip(saver, doing);
    const failed = await run("f", { resume: '"yes"' }, { graph });
    expect(failed.output).toMatchObject({
      outcome: "failed",
      error: { name: "TypeError", message: "no seats" },
      next: ["book"],
    });
    expect(nodesOf(failed.output)).toEqual(["ask ended", "book failed"]);
    expect(failed.found).toBe(true);
    expect(failed.text).toContain("f failed: no seats");
    const hidden = await run("f", {}, { graph, redact: ["messages.*.content"] });
    expect(hidden.output.error).toEqual({ name: "TypeError" });
    expect((await run("f")).output).toMatchObject({ outcome: "done" });
    expect((await log("f")).at(-1)).toBe("book");
  });

  test("stopped in the middle of a node, out of time, or at its limit, it can continue later", async () => {
    const stop = new AbortController();
    let calls = 0;
    let began = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => (began = resolve));
    // When the node has begun, and this was told.
    const onEvent = (event: RunEvent): void => {
      if (event.type === "node" && event.node === "book") void hasBegun.then(() => stop.abort());
    };
    const waiting = trip(saver, {
      book: async () => {
        calls += 1;
        began();
        await new Promise(() => undefined);
      },
    });
    await run("x", { input: hello, create: true });
    const given = { graph: waiting, signal: stop.signal, onEvent };
    const stopped = await run("x", { resume: '"yes"' }, given);
    expect(stopped.output).toMatchObject({ outcome: "paused", why: "stopped", next: ["book"] });
    expect([calls, nodesOf(stopped.output)]).toEqual([1, ["ask ended", "book stopped"]]);
    // Whether the node has begun by then is up to the machine.
    const late = await run("x", { timeout: "20ms" }, { graph: waiting });
    expect(late.output).toMatchObject({ outcome: "paused", why: "timeout" });
    expect((await run("x")).output.outcome).toBe("done");
    const limited = await run("l", { input: hello, create: true, recursionLimit: 2 });
    expect(limited.output).toMatchObject({ outcome: "paused", why: "limit", next: ["rail"] });
    expect((await run("l")).output.outcome).toBe("interrupted");
  });

  test("several questions are answered by their ids, one by one or together", async () => {
    const graph = twoQuestions(saver);
    const { output } = await run("q", { input: "{}", create: true }, { graph });
    expect(output.interrupts.map(({ node }) => node)).toEqual(["one", "two"]);
    const [one, two] = output.interrupts.map(({ id }) => id);
    await expect(run("q", { resume: '"both"' }, { graph })).rejects.toThrow(`${one}, ${two}`);
    const half = await run("q", { resume: JSON.stringify({ [two!]: "B" }) }, { graph });
    expect(half.output).toMatchObject({ outcome: "interrupted", interrupts: [{ id: one }] });
    // The form of a page that was opened before: it isn't taken for the value of the question that is left.
    for (const late of [{ [two!]: "B" }, { [one!]: "A", [two!]: "B" }])
      await expect(run("q", { resume: JSON.stringify(late) }, { graph })).rejects.toMatchObject({
        code: "NOT_WAITING",
        message: expect.stringContaining(`Nothing was run: ${two} doesn't wait`) as string,
        data: { threadId: "q", named: [two], waiting: [one] },
      });
    // An object that is itself the answer, and looks like answers by id, says so by naming its question.
    const legitimate = { ["ab".repeat(16)]: 1 };
    await expect(run("q", { resume: JSON.stringify(legitimate) }, { graph })).rejects.toThrow(
      `name that: {"${one}": {…}}`,
    );
    await expect(run("q", { resume: JSON.stringify({ [one!]: 1, note: 2 }) }, { graph })).rejects.toThrow(
      "note doesn't wait",
    );
    await run("q-2", { input: "{}", create: true }, { graph });
    const [first] = (await run("q-2", { dryRun: true }, { graph })).output.interrupts;
    await run("q-2", { resume: JSON.stringify({ [first!.id]: legitimate }) }, { graph });
    await run("q-2", { resume: '{"any":"object"}' }, { graph });
    expect((await graph.getState(on("q-2"))).values.log).toEqual([
      "one [object Object]",
      "two [object Object]",
    ]);
    const done = await run("q", { resume: '"A"' }, { graph });
    expect(done.output.outcome).toBe("done");
    expect((await graph.getState(on("q"))).values.log).toEqual(["one A", "two B"]);
  });

  test("if somebody moves the head meanwhile, it is a conflict", async () => {
    await run("c", { input: hello, create: true });
    const old = await head("c");
    const graph = trip(saver, {
      book: async () => {
        await trip(saver).updateState(on("c"), { log: ["somebody"] }, "ask");
      },
    });
    await expect(run("c", { resume: '"yes"' }, { graph })).rejects.toMatchObject({
      code: "CHECKPOINT_CONFLICT",
    });
    await expect(run("c", { checkpoint: old })).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
    expect((await log("c")).at(-1)).toBe("somebody");
  });

  test("what can't be run is refused before anything is written", async () => {
    for (const [input, message] of [
      [{}, /no checkpoints.*pass `create`/s],
      [{ create: true }, /begins with an `input`/],
      [{ create: true, input: "{" }, /not JSON/],
      [{ create: true, input: hello, resume: "1" }, /only one/],
      [{ create: true, input: '{"lc":2,"type":"sg:redacted"}' }, /redacted/],
      [{ timeout: "2d", create: true, input: hello }, /at most 1d/],
    ] as const)
      await expect(run("nobody", input)).rejects.toThrow(message);
    expect(await head("nobody")).toBeUndefined();
  });
});

test("if a node fails at once, the output says how it and the nodes beside it ended", async () => {
  const saver = new MemorySaver();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("good", () => ({ messages: [] }))
    .addNode("bad", () => {
      throw new RangeError("at once");
    })
    .addEdge(START, "good")
    .addEdge(START, "bad")
    .compile({ checkpointer: saver });
  const events: RunEvent[] = [];
  const given = { graph, onEvent: (event: RunEvent) => void events.push(event) };
  const { output } = await ran<Ran>("run", { at: "z", input: '{"messages":[]}', create: true }, saver, given);
  const states = Object.fromEntries(output.nodes.map(({ node, state }) => [node, state]));
  expect(states).toEqual({ good: "ended", bad: "failed" });
  const told = events.flatMap((each) => (each.type === "node" ? [`${each.node} ${each.state}`] : []));
  expect(told.toSorted()).toEqual(["bad failed", "bad started", "good ended", "good started"]);
  expect(output.next).toEqual(["bad"]);
});

test("a node that writes nothing has ended; one of a subgraph, and one whose edge throws, have failed", async () => {
  const saver = new MemorySaver();
  const throws = (): never => {
    throw new RangeError("no way");
  };
  const inner = new StateGraph(MessagesAnnotation)
    .addNode("looks", () => ({}))
    .addNode("falls", throws)
    .addEdge(START, "looks")
    .addEdge("looks", "falls")
    .compile();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("silent", () => ({}))
    .addNode("beside", () => ({}))
    .addNode("team", inner)
    .addNode("branches", () => ({ messages: [] }))
    .addEdge(START, "silent")
    .addConditionalEdges("silent", ({ messages }) => ["beside", messages.length > 0 ? "team" : "branches"])
    .addConditionalEdges("branches", throws, ["silent"])
    .compile({ checkpointer: saver });
  const nodes = async (at: string, input: object) => {
    // LangGraph 1.5 tells first that a node has ended whose edge throws.
    const told = new Map<string, string>();
    const onEvent = (event: RunEvent) => void (event.type === "node" && told.set(event.node, event.state));
    const given = { graph, onEvent };
    const { output } = await ran<Ran>(
      "run",
      { at, input: JSON.stringify(input), create: true },
      saver,
      given,
    );
    expect(told).toEqual(new Map(output.nodes.map(({ node, state }) => [node, state])));
    return output.nodes.map(({ node, state }) => `${node} ${state}`).toSorted();
  };
  expect(await nodes("team", { messages: ["hello"] })).toEqual([
    "beside ended",
    "falls failed",
    "looks ended",
    "silent ended",
    "team failed",
  ]);
  expect(await nodes("edge", { messages: [] })).toEqual(["beside ended", "branches failed", "silent ended"]);
});

test("a task's end as LangGraph 1.5 and older stream it, without its error", async () => {
  const saver = new MemorySaver();
  const told: string[] = [];
  const onEvent = (event: RunEvent) =>
    void (event.type === "node" && event.state !== "started" && told.push(`${event.node} ${event.state}`));
  const live = new LiveEvents(saver, testContext(saver, { onEvent }));
  const take = async (id: string, end: object = {}) =>
    await live.take([[], "tasks", { id, name: id, ...end }]);
  const nothing = { result: {}, interrupts: [] };
  await take("before");
  await take("before", nothing);
  await live.take([[], "checkpoints", {}]);
  expect(told).toEqual(["before ended"]);
  for (const id of ["bad", "good", "late"]) await take(id);
  for (const id of ["bad", "good"]) await take(id, nothing);
  const task = { interrupts: [], name: "" };
  live.end([
    { id: "bad", error: {}, ...task },
    { id: "good", ...task },
    { id: "late", ...task },
  ]);
  expect(told).toEqual(["before ended", "bad failed", "good ended"]);
  expect(live.nodes.at(-1)).toMatchObject({ node: "late", state: "stopped" });
});

test("work that lost a race and was kept is a conflict all the same", async () => {
  const saver = new MemorySaver({ conflict: "branch" });
  const graph = trip(saver, {
    book: async () => void (await trip(saver).updateState(on("b"), { log: ["somebody"] }, "ask")),
  });
  await ran("run", { at: "b", input: hello, create: true }, saver, { graph });
  await expect(ran("run", { at: "b", resume: '"yes"' }, saver, { graph })).rejects.toThrow(
    /kept as a side branch.*stratigraph conflicts/,
  );
  expect(await saver.conflicts("b")).toHaveLength(1);
});

test("subgraphs tell of their nodes, and ask", async () => {
  const saver = new MemorySaver();
  const given = { graph: nested(saver) };
  const { output } = await ran<Ran>("run", { at: "n", input: "{}", create: true }, saver, given);
  expect(output).toMatchObject({
    outcome: "interrupted",
    interrupts: [{ node: "asks", value: { value: "which?" } }],
  });
  const inner = output.nodes.filter(({ namespace }) => namespace.startsWith("asks:"));
  expect(inner.map(({ node, state }) => `${node} ${state}`)).toEqual(["before ended", "ask interrupted"]);
  const done = await ran<Ran>("run", { at: "n", resume: '"ritz"' }, saver, given);
  expect(done.output.outcome).toBe("done");
  expect((await given.graph.getState(on("n"))).values.log).toContain("answer ritz");
});

test("a new input on a thread with a DeltaChannel is tried in memory only", async () => {
  const saver = new MemorySaver();
  const given = { graph: deltaChat(saver, 1000) };
  // With ids: the reducer of LangGraph 1.4 gives none.
  const inputOf = (id: string) => JSON.stringify({ messages: [{ role: "user", content: "one", id }] });
  await ran("run", { at: "d", input: inputOf("1"), create: true }, saver, given);
  const input = inputOf("2");
  const { head } = await saver.tier.peek({ threadId: "d", namespace: "" });
  const dry = await ran<Ran>("run", { at: "d", input, dryRun: true }, saver, given);
  expect(dry.output).toMatchObject({ outcome: "planned", next: ["answer"], head });
  expect(await saver.tier.peek({ threadId: "d", namespace: "" })).toMatchObject({ head });
  await ran("run", { at: "d", input }, saver, given);
  expect((await given.graph.getState(on("d"))).values.messages).toHaveLength(4);
});
