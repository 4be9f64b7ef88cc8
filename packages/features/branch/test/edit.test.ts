import { branches, edit, fork, merge, undo } from "@stratigraph/branch";
import { Lanes } from "@stratigraph/branch/internal";
import { Annotation, Command, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import { asking, chat, deltaChat, human, on, textOf } from "./support/graphs.ts";

test("sets channels past their reducers, as an update on the head", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("Hello", "m1")] }, on("t"));
  const before = await graph.getState(on("t"));
  const made = await edit(saver, "t", { sum: 40, title: "Rome" });
  const state = await graph.getState(on("t"));
  expect(state.values).toEqual({ ...before.values, sum: 40, title: "Rome" });
  expect(state.config.configurable).toMatchObject({ checkpoint_id: made.checkpointId });
  expect(state.parentConfig!.configurable).toMatchObject({ checkpoint_id: made.from });
  expect(state.metadata).toMatchObject({
    source: "update",
    step: before.metadata!.step + 1,
    edit: { channels: ["sum", "title"] },
  });
  expect(state.next).toEqual([]);
  await graph.invoke({ messages: [human("on", "m2")] }, on("t"));
  expect((await graph.getState(on("t"))).values).toMatchObject({ sum: 41, title: "Rome" });
});

test("isn't written on an old head, nor where a writer comes first, nor on ended tasks", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("one", "m1")] }, on("t"));
  const { from } = await edit(saver, "t", { sum: 2 });
  await expect(edit(saver, { threadId: "t", checkpointId: from }, { sum: 3 })).rejects.toMatchObject({
    code: "CHECKPOINT_CONFLICT",
    data: { expected: [from] },
  });
  const both = await Promise.allSettled([edit(saver, "t", { sum: 4 }), edit(saver, "t", { sum: 5 })]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(both.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { code: "CHECKPOINT_CONFLICT" },
  });
  expect((await branches(saver, "t")).map(({ kind }) => kind)).toEqual(["main"]);
  const { config } = await graph.getState(on("t"));
  await saver.putWrites(config, [["sum", 1]], "a task that ended");
  await expect(edit(saver, "t", { sum: 6 })).rejects.toMatchObject({ code: "MERGE_REFUSED" });
  for (const wrong of [null, [], "sum", { __pregel_tasks: [] }, { "branch:to:answer": null }])
    await expect(edit(saver, "t", wrong as unknown as Record<string, unknown>)).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
});

test("an interrupt goes on waiting, and undo takes the edit back", async () => {
  const saver = new MemorySaver();
  const graph = asking(saver);
  await graph.invoke({ log: ["start"] }, on("u"));
  await edit(saver, "u", { log: ["begin"] });
  await undo(saver, "u");
  expect((await graph.getState(on("u"))).tasks[0]!.interrupts).toMatchObject([{ value: "which?" }]);
  await edit(saver, "u", { log: ["begin"] });
  await graph.invoke(null, on("u"));
  await graph.invoke(new Command({ resume: "ritz" }), on("u"));
  expect((await graph.getState(on("u"))).values.log).toEqual(["begin", "answer ritz", "end"]);
});

test("a DeltaChannel is stored whole, and others are rebuilt as before", async () => {
  const saver = new MemorySaver();
  for (const frequency of [2, 1000]) {
    const thread = `d${frequency}`;
    const graph = deltaChat(saver, frequency);
    for (const text of ["one", "two"]) await graph.invoke({ messages: [human(text, text)] }, on(thread));
    await edit(saver, thread, { messages: [human("all", "all")] });
    expect(textOf((await graph.getState(on(thread))).values.messages)).toEqual(["all"]);
    for (const text of ["three", "four"]) await graph.invoke({ messages: [human(text, text)] }, on(thread));
    expect(textOf((await graph.getState(on(thread))).values.messages)).toEqual([
      "all",
      "three",
      "re: three",
      "four",
      "re: four",
    ]);
  }
});

test("lanes go on where a page ended", () => {
  const history = [
    { checkpointId: "6", parents: ["3"] },
    { checkpointId: "5", parents: ["4", "2"] },
    { checkpointId: "4", parents: ["3"] },
    { checkpointId: "3", parents: ["2"] },
    { checkpointId: "2", parents: ["1"] },
    { checkpointId: "1", parents: [] },
  ];
  const drawn = (lanes: Lanes, from: number, to: number): string[] =>
    history.slice(from, to).flatMap((each) => {
      const { join, row } = lanes.draw(each);
      return [...(join === undefined ? [] : [join]), row.trimEnd()];
    });
  const whole = drawn(new Lanes(), 0, 6);
  expect(whole).toEqual(["●", "│ ●", "│ ● │", "├ ╯ │", "●   │", "├   ╯", "●", "●"]);
  for (let cut = 1; cut < 6; cut += 1) {
    const first = new Lanes();
    const before = drawn(first, 0, cut);
    expect([...before, ...drawn(new Lanes(first.open), cut, 6)]).toEqual(whole);
  }
});

/** Threads begun under version 1, whose `sum` was text. */
const versions = {
  current: 2,
  steps: [{ to: 2, changes: [{ from: "sum", to: "sum", up: (sum: string) => Number(sum) }] }],
};

const counting = (saver: TierSaver) =>
  new StateGraph(
    Annotation.Root({
      sum: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
      title: Annotation<string>,
    }),
  )
    .addNode("add", () => ({ sum: 1 }))
    .addEdge(START, "add")
    .compile({ checkpointer: saver });

async function begunBefore(): Promise<MemoryTier> {
  const tier = new MemoryTier();
  const old = new StateGraph(Annotation.Root({ sum: Annotation<string>, title: Annotation<string> }))
    .addNode("add", ({ sum }) => ({ sum: `${sum}0` }))
    .addEdge(START, "add")
    .compile({ checkpointer: new TierSaver(tier) });
  await old.invoke({ sum: "4", title: "Rome" }, on("t"));
  return tier;
}

test("an edit of older state is one of today's, or is refused", async () => {
  const tier = await begunBefore();
  const saver = new TierSaver(tier, { stateVersions: versions });
  const made = await edit(saver, "t", { title: "Oslo" });
  expect((await counting(saver).getState(on("t"))).values).toEqual({ sum: 40, title: "Oslo" });
  const { checkpoint } = await tier.read({ threadId: "t", namespace: "", checkpointId: made.checkpointId });
  expect((await saver.coder.decodeBody(checkpoint!.record)).stateVersion).toBe(2);
  await expect(edit(new TierSaver(tier), "t", { title: "Bern" })).rejects.toMatchObject({
    code: "STATE_VERSION",
  });
});

test("forks of older state are merged as today's", async () => {
  const tier = await begunBefore();
  const saver = new TierSaver(tier, { stateVersions: versions });
  const graph = counting(saver);
  const { threadId } = await fork(saver, "t");
  await graph.invoke({ sum: 2 }, on(threadId));
  await edit(saver, "t", { title: "Oslo" });
  const merged = await merge(graph, "t", { threadId }, { strategy: { sum: "reducer" } });
  expect(merged.status).toBe("merged");
  expect((await graph.getState(on("t"))).values).toEqual({ sum: 43, title: "Oslo" });
});
