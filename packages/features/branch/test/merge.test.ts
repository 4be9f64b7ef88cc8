import { RemoveMessage } from "@langchain/core/messages";
import { Annotation, Command, END, START, StateGraph } from "@langchain/langgraph";
import {
  applyMerge,
  fork,
  forkMany,
  merge,
  mergeBase,
  undo,
  type MergePlan,
  type MergeResult,
} from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { asking, chat, deltaChat, human, nested, on, textOf } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

describe.each(savers)("merges on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  /** A thread of one turn, with forks. */
  async function forked(name: string, forks: number) {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("base")], title: "t", facts: { a: 1 } }, on(name));
    const names = Array.from({ length: forks }, (_, n) => `${name}-${n}`);
    await forkMany(saver, { threadId: name }, names);
    return { graph, names, values: async (id: string) => (await graph.getState(on(id))).values };
  }

  test("two forks that went on are merged; the thread goes on from there", async () => {
    const { graph, names, values } = await forked("m1", 2);
    const [a, b] = names as [string, string];
    await Promise.all([
      graph.invoke({ messages: [human("from a")], notes: ["a"] }, on(a)),
      graph.invoke({ messages: [human("from b")], notes: ["b"], title: "of b" }, on(b)),
    ]);
    const result = await merge(graph, a, { threadId: b }, { strategy: { sum: "reducer", notes: "reducer" } });
    expect(result).toMatchObject({
      status: "merged",
      channels: { title: "theirs", messages: "union", sum: "reducer", notes: "reducer" },
    });
    const state = await graph.getState(on(a));
    expect(state.next).toEqual([]);
    expect(state.values).toMatchObject({ sum: 3, title: "of b", notes: ["a", "b"] });
    expect(new Set(textOf(state.values.messages))).toEqual(
      new Set(["base", "re: base", "from a", "re: from a", "from b", "re: from b"]),
    );
    expect(state.metadata).toMatchObject({
      source: "update",
      merge: { sources: [{ thread_id: b }], target: { thread_id: a } },
    });
    await graph.invoke({ messages: [human("on")] }, on(a));
    expect(await values(a)).toMatchObject({ sum: 4 });
    expect(textOf((await values(a)).messages).slice(-2)).toEqual(["on", "re: on"]);
    expect((await merge(graph, a, { threadId: b })).status).toBe("already-merged");
    // The source can take the merge over, without a merge of its own.
    expect((await merge(graph, b, { threadId: a })).status).toBe("fast-forward");
    expect(await values(b)).toEqual(await values(a));
    expect((await graph.getState(on(b))).config.configurable!["checkpoint_id"]).toBe(
      (await graph.getState(on(a))).config.configurable!["checkpoint_id"],
    );
    await undo(saver, b);
    expect(await values(b)).toMatchObject({ sum: 2, title: "of b" });
  });

  test("merging is refused, undone, and done without a change, as it should be", async () => {
    const { graph, names, values } = await forked("m2", 2);
    const [a, b] = names as [string, string];
    expect((await merge(graph, a, { threadId: a })).status).toBe("already-merged");
    expect((await merge(graph, a, { threadId: "m2" })).status).toBe("already-merged");
    await graph.invoke({ messages: [human("x")], title: "a" }, on(a));
    await graph.invoke({ messages: [human("y")], title: "b" }, on(b));
    const before = await values(a);
    const { plan } = (await merge(graph, a, { threadId: b }, { strategy: { sum: "ours" } })) as Extract<
      MergeResult,
      { status: "conflict" }
    >;
    expect(plan.channels).toMatchObject([{ name: "title", base: "t", ours: "a", theirs: "b" }]);
    expect(await values(a)).toEqual(before);
    const stored = JSON.parse(JSON.stringify(plan)) as MergePlan;
    const reason = "both sides changed it";
    const open = { name: "title", kind: "state", source: 0, base: "t", ours: "a", theirs: "b", reason };
    await expect(applyMerge(graph, stored, {})).rejects.toMatchObject({
      code: "MERGE_CONFLICT",
      data: { channels: [open] },
    });
    await applyMerge(graph, stored, { title: { value: "both" } }, { strategy: { sum: "ours" } });
    expect(await values(a)).toMatchObject({ title: "both", sum: 2 });
    await expect(applyMerge(graph, stored, { title: "ours" })).rejects.toMatchObject({
      code: "CHECKPOINT_CONFLICT",
    });
    await undo(saver, a);
    expect(await values(a)).toEqual(before);
    await graph.invoke({ messages: [human("stranger")] }, on("m2-stranger"));
    await expect(merge(graph, a, { threadId: "m2-stranger" })).rejects.toMatchObject({
      code: "MERGE_REFUSED",
    });
  });

  test("strategies: a function, theirs, removed and changed messages, and several sources", async () => {
    const { graph, names, values } = await forked("m3", 3);
    const [a, b, c] = names as [string, string, string];
    const [first] = (await values(a)).messages;
    await graph.updateState(on(a), { messages: [new RemoveMessage({ id: first!.id! })], facts: { b: 1 } });
    await graph.invoke({ messages: [human("b says")], title: "b", facts: { c: 1 } }, on(b));
    await graph.invoke({ messages: [human("c says")], title: "c", facts: { d: 1 } }, on(c));
    const strategy = {
      title: "theirs",
      facts: "union",
      "*": "union",
      sum: ({ base, ours, theirs }: { base: unknown; ours: unknown; theirs: unknown }) =>
        Number(ours) + Number(theirs) - Number(base),
    } as const;
    const result = await merge(graph, a, [{ threadId: b }, { threadId: c }], { strategy });
    expect(result.status).toBe("merged");
    const merged = await values(a);
    expect(merged).toMatchObject({ title: "c", sum: 3, facts: { a: 1, b: 1, c: 1, d: 1 } });
    expect(textOf(merged.messages)).toEqual(["re: base", "b says", "re: b says", "c says", "re: c says"]);
    expect((await graph.getState(on(a))).metadata).toMatchObject({
      merge: { sources: [{ thread_id: b }, { thread_id: c }] },
    });
    for (const source of [b, c])
      expect((await merge(graph, a, { threadId: source })).status).toBe("already-merged");
  });

  test("a side branch of the same thread is merged into its main line", async () => {
    const { graph, values } = await forked("m4", 0);
    const then = (await graph.getState(on("m4"))).config;
    await graph.invoke({ messages: [human("side")] }, then);
    const side = (await graph.getState(on("m4"))).config.configurable!["checkpoint_id"] as string;
    const old = { configurable: { ...then.configurable } };
    await graph.updateState(old, { messages: [human("main")] }, "answer");
    const base = await mergeBase(saver, { threadId: "m4" }, { threadId: "m4", checkpointId: side });
    expect(base?.checkpointId).toBe(then.configurable!["checkpoint_id"]);
    const result = await merge(graph, "m4", { threadId: "m4", checkpointId: side });
    expect(result.status).toBe("merged");
    expect(textOf((await values("m4")).messages)).toEqual(["base", "re: base", "side", "re: side", "main"]);
  });

  test("unfinished work: taken over from one side, refused on both", async () => {
    const graph = asking(saver);
    await graph.invoke({ log: ["start"] }, on("u0"));
    await graph.invoke(new Command({ resume: "first" }), on("u0"));
    const [a, b, c] = (await forkMany(saver, { threadId: "u0" }, 3)).map(({ threadId }) => threadId) as [
      string,
      string,
      string,
    ];
    await graph.updateState(on(a), { log: ["note"] }, "end");
    await graph.invoke({ log: ["again"] }, on(b));
    await graph.invoke({ log: ["once more"] }, on(c));
    expect((await graph.getState(on(b))).next).toEqual(["ask"]);
    const result = await merge(graph, a, { threadId: b }, { strategy: "reducer" });
    expect(result.status).toBe("merged");
    expect((await graph.getState(on(a))).next).toEqual(["ask"]);
    await graph.invoke(null, on(a));
    await graph.invoke(new Command({ resume: "second" }), on(a));
    const { values, next } = await graph.getState(on(a));
    expect(next).toEqual([]);
    expect(values.log).toEqual(["start", "answer first", "end", "note", "again", "answer second", "end"]);
    await expect(merge(graph, b, { threadId: c }, { strategy: "reducer" })).rejects.toMatchObject({
      code: "MERGE_REFUSED",
      message: expect.stringContaining("both sides wait for an answer") as unknown,
      data: {
        reason: "both sides wait for an answer to an interrupt",
        sides: [
          { threadId: b, namespace: "", checkpointId: expect.any(String) as unknown, next: ["ask"] },
          { threadId: c, next: ["ask"] },
        ],
      },
    });
    const inner = nested(saver);
    await inner.invoke({ log: ["start"] }, on("u1"));
    const { threadId } = await fork(saver, { threadId: "u1" });
    await inner.updateState(on("u1"), { log: ["x"] }, "asks");
    await inner.updateState(on(threadId), { log: ["y"] }, "counter");
    await expect(merge(inner, "u1", { threadId }, { strategy: "reducer" })).resolves.toMatchObject({
      status: "merged",
    });
  });

  test("DeltaChannels are merged by id, and rebuilt afterwards", async () => {
    const graph = deltaChat(saver, 1000);
    await graph.invoke({ messages: [human("base")] }, on("dm"));
    const { threadId } = await fork(saver, { threadId: "dm" });
    await graph.invoke({ messages: [human("fork")] }, on(threadId));
    await graph.invoke({ messages: [human("main")] }, on("dm"));
    expect((await merge(graph, "dm", { threadId })).status).toBe("merged");
    const expected = ["base", "re: base", "fork", "re: fork", "main", "re: main"];
    expect(textOf((await graph.getState(on("dm"))).values.messages)).toEqual(expected);
    await graph.invoke({ messages: [human("on")] }, on("dm"));
    expect(textOf((await graph.getState(on("dm"))).values.messages)).toEqual([...expected, "on", "re: on"]);
    expect((await merge(graph, threadId, { threadId: "dm" })).status).toBe("fast-forward");
    expect(textOf((await graph.getState(on(threadId))).values.messages)).toEqual([
      ...expected,
      "on",
      "re: on",
    ]);
  });

  test("a subgraph that keeps state goes along, unless both sides went on in it", async () => {
    const graph = nested(saver);
    const finish = async (id: string) => {
      await graph.invoke({ log: [] }, on(id));
      await graph.invoke(new Command({ resume: id }), on(id));
    };
    await finish("n0");
    const [a, b] = (await forkMany(saver, { threadId: "n0" }, ["n1", "n2"])).map(
      ({ threadId }) => threadId,
    ) as [string, string];
    await graph.updateState(on("n0"), { log: ["edit"] }, "asks");
    await finish(a);
    await finish(b);
    expect((await merge(graph, "n0", { threadId: a }, { strategy: "theirs" })).status).toBe("merged");
    await graph.invoke({ log: [] }, on("n0"));
    expect((await graph.getState(on("n0"))).values.log).toContain("visit 3");
    await expect(merge(graph, a, { threadId: b }, { strategy: "theirs" })).rejects.toMatchObject({
      code: "MERGE_REFUSED",
    });
  });

  test("a merge raced by a writer on the target writes nothing, or comes first", async () => {
    for (let round = 0; round < 8; round += 1) {
      const { graph, names, values } = await forked(`r${round}`, 2);
      const [a, b] = names as [string, string];
      await graph.invoke({ messages: [human("a")] }, on(a));
      await graph.invoke({ messages: [human("b")] }, on(b));
      const [merged, run] = await Promise.allSettled([
        merge(graph, a, { threadId: b }, { strategy: { sum: "reducer" } }),
        graph.invoke({ messages: [human("race")] }, on(a)),
      ]);
      const texts = textOf((await values(a)).messages);
      const { sum } = await values(a);
      if (merged.status === "rejected")
        expect(merged.reason).toMatchObject({ code: expect.stringMatching(/CONFLICT|REFUSED/) as unknown });
      expect(texts.includes("b")).toBe(merged.status === "fulfilled");
      expect(texts.includes("race")).toBe(run.status === "fulfilled");
      expect(sum).toBe(texts.filter((text) => text.startsWith("re: ")).length);
      expect(merged.status === "fulfilled" || run.status === "fulfilled").toBe(true);
    }
  });

  test("graphs whose nodes listen to state channels: a merge starts nothing", async () => {
    const State = Annotation.Root({ a: Annotation<string>(), b: Annotation<string>() });
    const graph = new StateGraph(State)
      .addNode("x", () => ({}))
      .addEdge(START, "x")
      .addEdge("x", END)
      .compile({ checkpointer: saver });
    await graph.invoke({ a: "0", b: "0" }, on("v0"));
    const { threadId } = await fork(saver, { threadId: "v0" });
    await graph.updateState(on("v0"), { a: "1" });
    await graph.updateState(on(threadId), { b: "1" });
    await merge(graph, "v0", { threadId });
    const state = await graph.getState(on("v0"));
    expect(state.values).toEqual({ a: "1", b: "1" });
    expect(state.next).toEqual([]);
  });
});
