import { AIMessage, ToolMessage, type ToolCall } from "@langchain/core/messages";
import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { compare, diff, fork, forkMany, formatComparison, formatDiff } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { asking, chat, deltaChat, human, on } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

describe.each(savers)("diff and compare on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  test("diff tells messages by id and values by path", async () => {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one", "m1")], facts: { a: { b: [1, 2] }, c: "x" } }, on("x"));
    const { threadId } = await fork(saver, { threadId: "x" });
    expect(formatDiff(await diff(saver, { threadId: "x" }, { threadId }))).toBe("no difference");
    await graph.updateState(on(threadId), {
      messages: [human("uno", "m1"), human("two", "m2")],
      facts: { a: { b: [1, 3] }, d: 1 },
      title: "new",
    });
    const found = await diff(saver, { threadId: "x" }, { threadId });
    expect(JSON.parse(JSON.stringify(found))).toEqual(found);
    expect(found.channels.map(({ name, kind }) => [name, kind])).toEqual([
      ["facts", "changed"],
      ["messages", "changed"],
      ["title", "added"],
    ]);
    expect(found.channels[0]!.changes).toEqual([
      { kind: "changed", path: "/a/b/1", before: 2, after: 3 },
      { kind: "added", path: "/d", after: 1 },
    ]);
    expect(found.channels[1]!.changes.map(({ kind, path }) => [kind, path])).toEqual([
      ["changed", "#m1"],
      ["added", "#m2"],
    ]);
    expect(formatDiff(found)).toContain("~ #m1  human: one → human: uno");
    expect(formatDiff(await diff(saver, { threadId }, { threadId: "x" }))).toContain("- #m2  human: two");
  });

  test("a thread whose node waits for two others, and is due, isn't finished", async () => {
    const graph = new StateGraph(Annotation.Root({ said: Annotation<string>({ reducer: (_, b) => b }) }))
      .addNode("a", () => ({ said: "a" }))
      .addNode("b", () => ({ said: "b" }))
      .addNode("c", () => ({ said: "c" }))
      .addEdge(START, "a")
      .addEdge(START, "b")
      .addEdge(["a", "b"], "c")
      .compile({ checkpointer: saver, interruptBefore: ["c"] });
    const outcome = async () => (await compare(saver, ["joined"])).threads[0]!.outcome;
    await graph.invoke({}, on("joined"));
    expect(await outcome()).toBe("unfinished");
    await graph.invoke(null, on("joined"));
    expect(await outcome()).toBe("finished");
  });

  test("DeltaChannels are diffed by what was written", async () => {
    const graph = deltaChat(saver, 3);
    for (const text of ["one", "two", "three"]) await graph.invoke({ messages: [human(text)] }, on("delta"));
    const { threadId } = await fork(saver, { threadId: "delta" });
    await graph.invoke({ messages: [human("four", "m-four")] }, on(threadId));
    const { channels } = await diff(saver, { threadId: "delta" }, { threadId });
    expect(
      channels.map(({ name, changes }) => [name, changes.map(({ kind, path }) => `${kind} ${path}`)]),
    ).toEqual([["messages", ["added #m-four", "added #re-m-four"]]]);
  });

  test("compare counts from where the forks began", async () => {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("base")] }, on("c"));
    const [a, b] = (await forkMany(saver, { threadId: "c" }, ["c-a", "c-b"])).map(
      ({ threadId }) => threadId,
    ) as [string, string];
    const call: ToolCall = { name: "search", args: {}, id: "call" };
    const usage_metadata = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    // The types of AIMessage don't let a literal name its usage.
    const fields = { id: "ai", content: "", tool_calls: [call, { ...call, id: "2" }], usage_metadata };
    const said = new AIMessage(fields as never);
    await graph.invoke(
      {
        messages: [
          human("go"),
          said,
          new ToolMessage({ id: "tool", content: "found", tool_call_id: "call" }),
        ],
      },
      on(a),
    );
    await asking(saver).invoke({ log: ["x"] }, on("asks"));
    const compared = await compare(saver, [a, b, "c", "asks"]);
    expect(compared.threads).toMatchObject([
      {
        outcome: "finished",
        steps: 2,
        toolCalls: { search: 2 },
        tokens: { input: 10, output: 5, total: 15 },
        last: "re: found",
      },
      { outcome: "finished", steps: 0, toolCalls: {}, tokens: { total: 0 }, durationMs: 0, last: undefined },
      { outcome: "finished", steps: 0, last: undefined },
      { outcome: "interrupted", steps: 1 },
    ]);
    expect(compared.threads[0]!.durationMs).toBeGreaterThan(0);
    const table = formatComparison(compared).split("\n");
    expect(table).toHaveLength(5);
    expect(table[1]).toMatch(/^c-a\s+finished\s+2\s+search ×2\s+15\s/);
  });

  test("the thread that forks left is counted from there, too; where forks began apart, each from its own", async () => {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one", "m1")] }, on("o"));
    const early = (await fork(saver, { threadId: "o" }, { to: "o/early" })).origin;
    await graph.invoke({ messages: [human("two", "m2")] }, on("o"));
    const late = (await fork(saver, { threadId: "o" }, { to: "o/late" })).origin;
    for (const thread of ["o", "o/early", "o/late"])
      await graph.invoke({ messages: [human("last", `m-${thread}`)] }, on(thread));
    const since = async (...threads: Parameters<typeof compare>[1]): Promise<unknown[]> =>
      (await compare(saver, threads)).threads.map(({ since, steps }) => [since, steps]);
    const [whole] = await since("o");
    expect(whole).toEqual([undefined, 6]);
    expect(await since("o", "o/late")).toEqual([
      [late.checkpointId, 2],
      [late.checkpointId, 2],
    ]);
    expect(await since("o/early", "o")).toEqual([
      [early.checkpointId, 2],
      [early.checkpointId, 4],
    ]);
    expect(await since("o", "o/early", "o/late")).toEqual([
      [early.checkpointId, 4],
      [early.checkpointId, 2],
      [late.checkpointId, 2],
    ]);
    // Two checkpoints of one thread are no forks.
    expect(await since({ threadId: "o", checkpointId: early.checkpointId }, "o")).toEqual([
      [undefined, 2],
      [undefined, 6],
    ]);
  });

  test("a thread waits at the second question too; one that failed after an answer failed", async () => {
    const State = Annotation.Root({
      log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const graph = new StateGraph(State)
      .addNode("ask", () => {
        const [first, second] = [interrupt("one?"), interrupt("two?")];
        if (second === "fail") throw new Error("it failed");
        return { log: [`${String(first)} ${String(second)}`] };
      })
      .addNode("other", () => ({ log: ["other"] }))
      .addEdge(START, "ask")
      .addEdge(START, "other")
      .compile({ checkpointer: saver });
    const outcome = async (): Promise<unknown> => {
      const [thread] = (await compare(saver, ["second"])).threads;
      return [thread!.outcome, thread!.last];
    };
    await graph.invoke({ log: [] }, on("second"));
    expect(await outcome()).toEqual(["interrupted", undefined]);
    await graph.invoke(new Command({ resume: "a" }), on("second"));
    expect(await outcome()).toEqual(["interrupted", undefined]);
    await graph.invoke(new Command({ resume: "fail" }), on("second")).catch(() => undefined);
    expect(await outcome()).toEqual(["failed", "it failed"]);
  });

  test.each([
    ["one write per question", [["__interrupt__", { id: "x", value: "one?" }]]],
    [
      "all questions in one write, as from LangGraph 1.7 on",
      [
        [
          "__interrupt__",
          [
            { id: "x", value: "one?" },
            { id: "y", value: "two?" },
          ],
        ],
      ],
    ],
  ] as const)("interrupts in pending writes: %s", async (what, asked) => {
    const at = (id: string) => ({
      configurable: { thread_id: `${what} ${id}`, checkpoint_ns: "", checkpoint_id: "1" },
    });
    const checkpoint = {
      v: 4,
      id: "1",
      ts: new Date().toISOString(),
      channel_values: {},
      channel_versions: {},
      versions_seen: {},
    };
    const writes = {
      asks: [["A", asked]],
      "asks again": [
        ["A", asked],
        ["A", [...asked, ["__resume__", ["first"]]]],
      ],
      "was answered and ended": [
        ["A", asked],
        [
          "A",
          [
            ["__resume__", ["first"]],
            ["log", "x"],
          ],
        ],
      ],
      "one ended, one asks": [
        ["A", asked],
        ["B", asked],
        ["A", [["log", "x"]]],
      ],
      "failed, and asked when tried again": [
        ["A", [["__error__", { message: "m" }]]],
        ["A", asked],
      ],
    } as const;
    for (const [name, batches] of Object.entries(writes)) {
      await saver.put(
        { configurable: { ...at(name).configurable, checkpoint_id: undefined } },
        checkpoint,
        { source: "loop", step: 1, parents: {} },
        {},
      );
      for (const [task, batch] of batches) await saver.putWrites(at(name), batch as never, task);
    }
    const { threads } = await compare(
      saver,
      Object.keys(writes).map((name) => `${what} ${name}`),
    );
    expect(threads.map(({ outcome }) => outcome)).toEqual([
      "interrupted",
      "interrupted",
      "finished",
      "interrupted",
      "interrupted",
    ]);
  });
});
