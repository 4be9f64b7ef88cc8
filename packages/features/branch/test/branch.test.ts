import { uuid6 } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { branches, fork, forkMany, lineage, log, mergeBase, promote, undo } from "@stratigraph/branch";
import { Command } from "@langchain/langgraph";
import { asking, chat, deltaChat, human, nested, on, textOf } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

describe.each(savers)("forks on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  test("a fork goes on from the head, and the source doesn't see it", async () => {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one")], title: "t" }, on("f1"));
    const made = await fork(saver, { threadId: "f1" });
    expect(made.origin).toMatchObject({ threadId: "f1", namespace: "", wasHead: true });
    const before = await graph.getState(on("f1"));
    const copy = await graph.getState(made.config);
    expect(copy.values).toEqual(before.values);
    expect(copy.next).toEqual([]);
    await graph.invoke({ messages: [human("two")] }, on(made.threadId));
    expect(textOf((await graph.getState(made.config)).values.messages)).toEqual([
      "one",
      "re: one",
      "two",
      "re: two",
    ]);
    expect((await graph.getState(on("f1"))).values).toEqual(before.values);
    expect(await lineage(saver, made.threadId)).toEqual([made.origin]);
  });

  test("a fork's recorded origin is in no list, history or conflict", async () => {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one")] }, on("r1"));
    const made = await fork(saver, { threadId: "r1" }, { history: "full" });
    await promote(saver, { threadId: made.threadId, checkpointId: made.origin.checkpointId });
    const listed = await collect(saver.list({ configurable: { thread_id: made.threadId } }));
    const source = await collect(saver.list({ configurable: { thread_id: "r1" } }));
    expect(listed.map(({ checkpoint }) => checkpoint.id)).toEqual(
      source.map(({ checkpoint }) => checkpoint.id),
    );
    expect(await collect(graph.getStateHistory(on(made.threadId)))).toHaveLength(source.length);
    expect(await saver.conflicts(made.threadId)).toEqual([]);
    expect((await saver.listThreads()).threads.map(({ threadId }) => threadId)).toContain(made.threadId);
  });

  test("a fork from an old checkpoint has that state, and only what it needs unless asked for all", async () => {
    const graph = chat(saver);
    for (const text of ["one", "two", "three"]) await graph.invoke({ messages: [human(text)] }, on("f2"));
    const states = await collect(graph.getStateHistory(on("f2")));
    const old = states.find(({ values, next }) => values.messages?.length === 4 && next.length === 0)!;
    const checkpointId = old.config.configurable!["checkpoint_id"] as string;
    const needed = await fork(saver, { threadId: "f2", checkpointId });
    const full = await fork(saver, { threadId: "f2", checkpointId }, { history: "full", to: "f2-full" });
    expect(needed.checkpoints).toBe(1);
    expect(full.threadId).toBe("f2-full");
    const history = await collect(graph.getStateHistory(full.config));
    expect(history).toHaveLength(states.length - states.indexOf(old));
    for (const made of [needed, full]) {
      expect((await graph.getState(made.config)).values).toEqual(old.values);
      await graph.invoke({ messages: [human("other")] }, made.config);
      expect(textOf((await graph.getState(made.config)).values.messages).slice(3)).toEqual([
        "re: two",
        "other",
        "re: other",
      ]);
    }
    await expect(fork(saver, { threadId: "f2" }, { to: "f2-full" })).rejects.toMatchObject({
      code: "THREAD_EXISTS",
    });
    await expect(fork(saver, { threadId: "nobody" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("forking a checkpoint whose step went on runs that step again", async () => {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one")] }, on("f3"));
    const states = await collect(graph.getStateHistory(on("f3")));
    const old = states.find(({ next }) => next[0] === "answer")!;
    const made = await fork(saver, {
      threadId: "f3",
      checkpointId: old.config.configurable!["checkpoint_id"] as string,
    });
    const state = await graph.getState(made.config);
    expect(state.next).toEqual(["answer"]);
    await graph.invoke(null, made.config);
    expect((await graph.getState(made.config)).values).toEqual((await graph.getState(on("f3"))).values);
  });

  test("interrupted threads fork, and each fork is answered on its own", async () => {
    const graph = asking(saver);
    await graph.invoke({ log: [] }, on("i1"));
    const [a, b] = await forkMany(saver, { threadId: "i1" }, 2);
    expect((await graph.getState(a!.config)).tasks[0]!.interrupts).toMatchObject([{ value: "which?" }]);
    await graph.invoke(new Command({ resume: "A" }), on(a!.threadId));
    await graph.invoke(new Command({ resume: "B" }), on(b!.threadId));
    await graph.invoke(new Command({ resume: "main" }), on("i1"));
    const logs = await Promise.all(
      [a!.threadId, b!.threadId, "i1"].map(async (id) => (await graph.getState(on(id))).values.log),
    );
    expect(logs).toEqual([
      ["answer A", "end"],
      ["answer B", "end"],
      ["answer main", "end"],
    ]);
    // The step was answered since: a fork from there waits for an answer again.
    const history = await collect(graph.getStateHistory(on("i1")));
    const asked = history.find(({ next }) => next[0] === "ask")!;
    const late = await fork(saver, {
      threadId: "i1",
      checkpointId: asked.config.configurable!["checkpoint_id"] as string,
    });
    const state = await graph.getState(late.config);
    expect(state.tasks[0]!.interrupts).toMatchObject([{ value: "which?" }]);
    await graph.invoke(new Command({ resume: "late" }), late.config);
    expect((await graph.getState(late.config)).values.log).toEqual(["answer late", "end"]);
  });

  test("subgraphs go along: one that waits for an answer, and one that keeps state", async () => {
    const graph = nested(saver);
    await graph.invoke({ log: ["start"] }, on("s1"));
    const made = await fork(saver, { threadId: "s1" });
    for (const [id, answer] of [
      [made.threadId, "fork"],
      ["s1", "main"],
    ] as const) {
      await graph.invoke(new Command({ resume: answer }), on(id));
      const { log } = (await graph.getState(on(id))).values;
      expect(log.at(-1)).toBe(`answer ${answer}`);
      expect(log.filter((line: string) => line === "before")).toHaveLength(1);
    }
    // The counter goes on from where it was forked.
    await graph.invoke({ log: ["again"] }, on(made.threadId));
    expect((await graph.getState(made.config)).values.log).toContain("visit 2");
    const history = await collect(graph.getStateHistory(on("s1")));
    const waiting = history.find(({ next }) => next[0] === "asks")!;
    const late = await fork(saver, {
      threadId: "s1",
      checkpointId: waiting.config.configurable!["checkpoint_id"] as string,
    });
    expect((await graph.getState(late.config)).tasks[0]!.interrupts).toHaveLength(1);
    await graph.invoke(new Command({ resume: "late" }), late.config);
    expect((await graph.getState(late.config)).values.log.at(-1)).toBe("answer late");
  });

  test("a DeltaChannel's writes go along down to its seed", async () => {
    const graph = deltaChat(saver, 4);
    for (let n = 0; n < 5; n += 1) await graph.invoke({ messages: [human(`d${n}`)] }, on("d1"));
    const states = await collect(graph.getStateHistory(on("d1")));
    for (const state of states.slice(0, 10)) {
      const checkpointId = state.config.configurable!["checkpoint_id"] as string;
      const made = await fork(saver, { threadId: "d1", checkpointId });
      expect((await graph.getState(made.config)).values).toEqual(state.values);
    }
    const made = await fork(saver, { threadId: "d1" });
    expect(made.checkpoints).toBeLessThan(states.length);
    await saver.deleteThread("d1");
    await graph.invoke({ messages: [human("more")] }, made.config);
    expect((await graph.getState(made.config)).values.messages).toHaveLength(12);
  });

  test("origins survive pruning and the deletion of what was forked from", async () => {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one")] }, on("l0"));
    const one = await fork(saver, { threadId: "l0" }, { to: "l1" });
    await graph.invoke({ messages: [human("two")] }, one.config);
    const two = await fork(saver, { threadId: "l1" }, { to: "l2" });
    await graph.invoke({ messages: [human("three")] }, two.config);
    expect((await branches(saver, "l0")).map(({ kind, threadId }) => [kind, threadId])).toEqual([
      ["main", "l0"],
      ["fork", "l1"],
    ]);
    const before = await mergeBase(saver, { threadId: "l2" }, { threadId: "l0" });
    expect(before?.checkpointId).toBe(one.origin.checkpointId);
    await saver.prune(["l2", "l1"], { strategy: "keep_latest" });
    expect((await mergeBase(saver, { threadId: "l2" }, { threadId: "l0" }))?.checkpointId).toBe(
      one.origin.checkpointId,
    );
    await saver.deleteThread("l1");
    expect((await lineage(saver, "l2")).map(({ threadId }) => threadId)).toEqual(["l1", "l0"]);
    await saver.copyThread("l2", "l2-copy");
    expect(await lineage(saver, "l2-copy")).toEqual(await lineage(saver, "l2"));
  });

  test("promote and undo move the head and back; a log shows it all", async () => {
    const graph = chat(saver);
    for (const text of ["one", "two"]) await graph.invoke({ messages: [human(text)] }, on("p1"));
    const history = await collect(graph.getStateHistory(on("p1")));
    const old = history.find(({ values, next }) => values.messages?.length === 2 && next.length === 0)!;
    const checkpointId = old.config.configurable!["checkpoint_id"] as string;
    const head = history[0]!.config.configurable!["checkpoint_id"] as string;
    expect(await promote(saver, { threadId: "p1", checkpointId })).toMatchObject({
      from: head,
      checkpointId,
    });
    expect((await graph.getState(on("p1"))).values.messages).toHaveLength(2);
    expect(await undo(saver, "p1")).toMatchObject({ from: checkpointId, checkpointId: head });
    expect((await graph.getState(on("p1"))).values.messages).toHaveLength(4);
    await undo(saver, "p1");
    await graph.invoke({ messages: [human("other")] }, on("p1"));
    await expect(undo(saver, "p1")).rejects.toMatchObject({
      code: "MERGE_REFUSED",
      data: { threadId: "p1", head: expect.any(String) as unknown, move: { kind: "undo", to: checkpointId } },
    });
    await fork(saver, { threadId: "p1", checkpointId }, { to: "p1-fork" });
    const found = await branches(saver, "p1");
    expect(found.map(({ kind, from }) => [kind, from])).toEqual([
      ["main", undefined],
      ["side", checkpointId],
      ["fork", checkpointId],
    ]);
    const { entries, text } = await log(saver, "p1");
    expect(entries).toHaveLength(history.length + 3);
    expect(text).toContain("fork p1-fork");
    expect(text).toMatch(/├ ╯|├ │/);
    await expect(undo(saver, "l0")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

test("a fork of work that lost a race has it as its main line", async () => {
  const tier = new MemoryTier();
  const [saver, late] = [new TierSaver(tier), new TierSaver(tier, { conflict: "branch" })];
  await chat(saver).invoke({ messages: [human("one")] }, on("t"));
  const read = (await late.getTuple(on("t")))!;
  await chat(saver).invoke({ messages: [human("two")] }, on("t"));
  await late.put(read.config, { ...read.checkpoint, id: uuid6(9) }, read.metadata!, {});
  const [lost] = await saver.conflicts("t");
  await fork(saver, { threadId: "t", checkpointId: lost!.checkpointId }, { to: "f", history: "full" });
  expect(await saver.conflicts("f")).toEqual([]);
  expect(await branches(saver, "f")).toMatchObject([{ kind: "main" }]);
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
