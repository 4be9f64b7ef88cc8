import { Annotation, Command, END, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import {
  StratigraphError,
  type TierSaver,
  type ThreadListOptions,
  type ThreadStatus,
} from "@stratigraph/core";
import { expect } from "vitest";
import { Calls } from "../graphs/calls.ts";
import type { GraphContext, ThreadConfig } from "../graphs/context.ts";

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const statuses: readonly ThreadStatus[] = ["waiting", "failed", "interrupted", "idle"];

/** How a thread stands: the status under which it is listed. It must be listed under one alone. */
const standing = async (
  saver: TierSaver,
  { configurable }: ThreadConfig,
  options: ThreadListOptions = {},
) => {
  const found: ThreadStatus[] = [];
  for (const status of statuses)
    for (let cursor: string | undefined; ;) {
      const page = await saver.listThreads({
        ...options,
        status,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const { threadId, status: told } of page.threads)
        if (threadId === configurable.thread_id) {
          expect(told).toBe(status);
          found.push(status);
        }
      if (page.cursor === undefined) break;
      cursor = page.cursor;
    }
  expect(found).toHaveLength(1);
  return found[0]!;
};

/** A node, then one that does something. */
const graphOf = (checkpointer: TierSaver, act: () => { said: string[] }, before = false) =>
  new StateGraph(State)
    .addNode("first", () => ({ said: ["first"] }))
    .addNode("second", act)
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", END)
    .compile({ checkpointer, ...(before ? { interruptBefore: ["second"] } : {}) });

const asking = (checkpointer: TierSaver) =>
  graphOf(checkpointer, () => ({
    said: [interrupt<string, string>("which?"), interrupt<string, string>("sure?")],
  }));

const failing = (): never => {
  throw new Error("no connection");
};

/** How threads stand: `listThreads({ status })`, on compiled graphs. */
export const statusTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  const tierSaver = (): TierSaver => saver() as TierSaver;

  for (const durability of durabilities()) {
    test(`a thread waits for each answer, and is idle afterwards, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await asking(tierSaver()).invoke({}, config);
      expect(await standing(tierSaver(), config)).toBe("waiting");
      // Another process gives the answers.
      const other = (await reopen()) as TierSaver;
      await asking(other).invoke(new Command({ resume: "this" }), config);
      expect(await standing(tierSaver(), config)).toBe("waiting");
      await asking(other).invoke(new Command({ resume: "yes" }), config);
      expect(await standing(tierSaver(), config)).toBe("idle");
      // The next turn asks again.
      await asking(other).invoke({}, config);
      expect(await standing(tierSaver(), config)).toBe("waiting");
    });

    test(`a failed thread is failed until it goes on, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await graphOf(tierSaver(), failing)
        .invoke({}, config)
        .catch(() => undefined);
      expect(await standing(tierSaver(), config)).toBe("failed");
      await graphOf(tierSaver(), () => ({ said: ["again"] })).invoke(null, config);
      expect(await standing(tierSaver(), config)).toBe("idle");
    });
  }

  test("a thread that was stopped before a node is interrupted, not waiting", async () => {
    const config = thread();
    await graphOf(tierSaver(), () => ({ said: [] }), true).invoke({}, config);
    expect(await standing(tierSaver(), config)).toBe("interrupted");
    await graphOf(tierSaver(), () => ({ said: [] }), true).invoke(null, config);
    expect(await standing(tierSaver(), config)).toBe("idle");
  });

  test("a thread that was stopped before a node that waits for several is interrupted, whatever these are called", async () => {
    for (const defer of [false, true]) {
      const config = thread();
      const graph = new StateGraph(State)
        .addNode("search+rank", () => ({ said: ["ranked"] }))
        .addNode("read", () => ({ said: ["read"] }))
        .addNode("answer", () => ({ said: ["answered"] }), { defer })
        .addEdge(START, "search+rank")
        .addEdge(START, "read")
        .addEdge(["search+rank", "read"], "answer")
        .compile({ checkpointer: tierSaver(), interruptBefore: ["answer"] });
      await graph.invoke({}, config);
      expect(await standing(tierSaver(), config)).toBe("interrupted");
      await graph.invoke(null, config);
      expect(await standing(tierSaver(), config)).toBe("idle");
    }
  });

  test("a thread that is under way is interrupted", async () => {
    const config = { ...thread(), durability: "sync" as const };
    let during: ThreadStatus | undefined;
    const graph = new StateGraph(State)
      .addNode("look", async () => {
        during = await standing(tierSaver(), config);
        return { said: [] };
      })
      .addEdge(START, "look")
      .compile({ checkpointer: tierSaver() });
    await graph.invoke({}, config);
    expect(during).toBe("interrupted");
    expect(await standing(tierSaver(), config)).toBe("idle");
  });

  test("one of two tasks ended, the other asks: the thread waits", async () => {
    const parallel = (other: () => { said: string[] }) =>
      new StateGraph(State)
        .addNode("asks", () => ({ said: [interrupt<string, string>("which?")] }))
        .addNode("other", other)
        .addEdge(START, "asks")
        .addEdge(START, "other")
        .compile({ checkpointer: tierSaver() });
    const ended = thread();
    await parallel(() => ({ said: ["done"] })).invoke({}, ended);
    expect(await standing(tierSaver(), ended)).toBe("waiting");
    await parallel(() => ({ said: ["done"] })).invoke(new Command({ resume: "this" }), ended);
    expect(await standing(tierSaver(), ended)).toBe("idle");
  });

  test("two questions at once: the thread waits until both are answered", async () => {
    const config = thread();
    const calls = new Calls();
    const graph = new StateGraph(State)
      .addNode("asks", () => (calls.add("asks"), { said: [interrupt<string, string>("which?")] }))
      .addConditionalEdges(START, () => [new Send("asks", {}), new Send("asks", {})])
      .compile({ checkpointer: tierSaver() });
    await graph.invoke({}, config);
    const ids = (await graph.getState(config)).tasks.flatMap(({ interrupts }) =>
      interrupts.map((each) => (each as { id: string }).id),
    );
    expect(ids).toHaveLength(2);
    await graph.invoke(new Command({ resume: { [ids[0]!]: "one" } }), config);
    expect(await standing(tierSaver(), config)).toBe("waiting");
    await graph.invoke(new Command({ resume: { [ids[1]!]: "two" } }), config);
    expect(await standing(tierSaver(), config)).toBe("idle");
  });

  test("a subgraph's question makes its thread wait, and its checkpoints don't count", async () => {
    const config = thread();
    const inner = new StateGraph(State)
      .addNode("asks", () => ({ said: [interrupt<string, string>("which?")] }))
      .addEdge(START, "asks")
      .compile();
    const graph = new StateGraph(State)
      .addNode("inner", inner)
      .addEdge(START, "inner")
      .compile({ checkpointer: tierSaver() });
    await graph.invoke({}, config);
    expect(await standing(tierSaver(), config)).toBe("waiting");
    await graph.invoke(new Command({ resume: "this" }), config);
    expect(await standing(tierSaver(), config)).toBe("idle");
  });

  test("a late write to an older checkpoint changes nothing", async () => {
    const config = thread();
    const graph = asking(tierSaver());
    await graph.invoke({}, config);
    const older = (await graph.getState(config)).config;
    await graph.invoke(new Command({ resume: "this" }), config);
    await graph.invoke(new Command({ resume: "yes" }), config);
    await tierSaver().putWrites(older, [["__interrupt__", { value: "late" }]], "task");
    expect(await standing(tierSaver(), config)).toBe("idle");
  });

  test("a thread that was answered and then cut off is interrupted: it has its answer", async () => {
    const config = { ...thread(), durability: "sync" as const };
    const graph = asking(tierSaver());
    await graph.invoke({}, config);
    const { config: head } = await graph.getState(config);
    await tierSaver().putWrites(head, [["__resume__", "this"]], "00000000-0000-0000-0000-000000000000");
    expect(await standing(tierSaver(), config)).toBe("interrupted");
  });

  test("writes that come before their checkpoint count once it is the head", async () => {
    const config = thread();
    const graph = graphOf(tierSaver(), () => ({ said: [] }), true);
    await graph.invoke({}, config);
    const { checkpoint, metadata } = (await tierSaver().getTuple(config))!;
    const id = "ffffffff-ffff-6fff-bfff-ffffffffffff";
    const at = { configurable: { ...config.configurable, checkpoint_ns: "", checkpoint_id: id } };
    await tierSaver().putWrites(at, [["__interrupt__", { value: "early" }]], "task");
    expect(await standing(tierSaver(), config)).toBe("interrupted");
    const parent = (await tierSaver().getTuple(config))!.config;
    await tierSaver().put(parent, { ...checkpoint, id }, metadata!, {});
    expect(await standing(tierSaver(), config)).toBe("waiting");
  });

  test("a copy waits as its source does; setting back, pruning and deleting are seen", async () => {
    const config = thread();
    const graph = asking(tierSaver());
    await graph.invoke({}, config);
    const asked = (await graph.getState(config)).config;
    const copy = thread();
    await tierSaver().copyThread(config.configurable.thread_id, copy.configurable.thread_id);
    expect(await standing(tierSaver(), copy)).toBe("waiting");
    await tierSaver().prune([copy.configurable.thread_id], { strategy: "keep_latest" });
    expect(await standing(tierSaver(), copy)).toBe("waiting");
    await graph.invoke(new Command({ resume: "this" }), config);
    await graph.invoke(new Command({ resume: "yes" }), config);
    await tierSaver().promote(asked);
    expect(await standing(tierSaver(), config)).toBe("waiting");
    expect(await standing(tierSaver(), copy)).toBe("waiting");
    await tierSaver().deleteThread(copy.configurable.thread_id);
    await expect(standing(tierSaver(), copy)).rejects.toThrow();
    // The id begins anew.
    await graphOf(tierSaver(), () => ({ said: [] })).invoke({}, copy);
    expect(await standing(tierSaver(), copy)).toBe("idle");
  });

  test("by tag and status together, page by page, each thread once", async () => {
    const graph = asking(tierSaver());
    const tag = { owner: thread("owner").configurable.thread_id };
    const waiting: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const config = thread();
      await graph.invoke({}, config);
      await tierSaver().tagThread(config.configurable.thread_id, tag);
      if (n % 2 === 0) waiting.push(config.configurable.thread_id);
      else for (const answer of ["this", "yes"]) await graph.invoke(new Command({ resume: answer }), config);
    }
    const found: string[] = [];
    for (let cursor: string | undefined; ;) {
      const options = { tag, status: "waiting", order: "oldest", limit: 1 } as const;
      const page = await tierSaver().listThreads({ ...options, ...(cursor === undefined ? {} : { cursor }) });
      found.push(...page.threads.map(({ threadId }) => threadId));
      if (page.cursor === undefined) break;
      cursor = page.cursor;
    }
    expect(found.toSorted()).toEqual(waiting.toSorted());
  });

  for (const place of ["configurable", "metadata"] as const)
    test(`a run's graph, named in its ${place}, is in the metadata of its checkpoints`, async () => {
      const config = thread();
      const named = { ...config, [place]: { ...config[place as "configurable"], graph_id: "agent" } };
      await asking(tierSaver()).updateState(named, { said: ["before"] }, "__start__");
      await asking(tierSaver()).invoke({}, named);
      const found: unknown[] = [];
      for await (const { metadata } of tierSaver().list(config)) found.push(metadata);
      expect(found.length).toBeGreaterThan(1);
      for (const each of found) expect(each).toMatchObject({ graph_id: "agent" });
    });

  test("maintenance notes what the storage doesn't know, and a status that isn't one is refused", async () => {
    const config = thread();
    const graph = asking(tierSaver());
    await graph.invoke({}, config);
    const asked = (await graph.getState(config)).config;
    for (const answer of ["this", "yes"]) await graph.invoke(new Command({ resume: answer }), config);
    await tierSaver().promote(asked);
    await tierSaver().maintain();
    expect(await standing(tierSaver(), config)).toBe("waiting");
    const refused: unknown = await tierSaver()
      .listThreads({ status: "busy" as ThreadStatus })
      .catch((error: unknown) => error);
    expect(StratigraphError.is(refused, "INVALID_OPTION")).toBe(true);
  });
};
