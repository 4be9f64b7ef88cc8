import { branches, fork, forkMany, lineage, merge, promote, undo } from "@stratigraph/branch";
import { Command } from "@langchain/langgraph";
import { asking, chat, deltaAsking, deltaChat, human, nested, on, textOf } from "./support/graphs.ts";
import { openStack } from "./support/stack.ts";

describe("forks and merges on redis>postgres>s3", () => {
  let stack: Awaited<ReturnType<typeof openStack>>;
  let one: Awaited<ReturnType<typeof stack.open>>;
  let other: Awaited<ReturnType<typeof stack.open>>;
  beforeAll(async () => {
    stack = await openStack();
    [one, other] = [await stack.open(), await stack.open()];
  });
  afterAll(() => stack.close());

  test("a warm thread is forked by the warm tier; an archived one is restored first", async () => {
    const graph = chat(one.saver);
    for (const text of ["one", "two"]) await graph.invoke({ messages: [human(text)] }, on("w"));
    const { values } = await graph.getState(on("w"));
    await one.saver.tagThread("w", { user_id: "anna" });
    one.warm.reset();
    const warm = await fork(one.saver, { threadId: "w" });
    expect(one.warm.count("forkThread")).toBe(1);
    expect(one.warm.count("list")).toBe(0);
    await stack.archive(2);
    one.warm.reset();
    const cold = await fork(one.saver, { threadId: "w" });
    expect(one.warm.count("forkThread")).toBe(0);
    for (const { threadId } of [warm, cold]) {
      expect((await chat(other.saver).getState(on(threadId))).values).toEqual(values);
      await chat(other.saver).invoke({ messages: [human("on")] }, on(threadId));
      expect(textOf((await graph.getState(on(threadId))).values.messages).slice(-2)).toEqual([
        "on",
        "re: on",
      ]);
    }
    expect((await branches(one.saver, "w")).map(({ kind }) => kind)).toEqual(["main", "fork", "fork"]);
    expect(await lineage(other.saver, cold.threadId)).toEqual([cold.origin]);
    // Whose the source is, theirs the forks are.
    const { threads } = await other.saver.listThreads({ tag: { user_id: "anna" } });
    expect(threads.map(({ threadId }) => threadId).sort()).toEqual(
      ["w", warm.threadId, cold.threadId].sort(),
    );
  });

  test("any checkpoint of an archived thread, with subgraphs, DeltaChannels and interrupts", async () => {
    const deltas = deltaChat(one.saver, 1000);
    for (const text of ["one", "two", "three"]) await deltas.invoke({ messages: [human(text)] }, on("d"));
    const inner = nested(one.saver);
    await inner.invoke({ log: ["start"] }, on("n"));
    const states = [];
    for await (const state of deltas.getStateHistory(on("d"))) states.push(state);
    await stack.archive(2);
    for (const { config, values } of states.slice(0, 4)) {
      const checkpointId = config.configurable!["checkpoint_id"] as string;
      const { threadId } = await fork(other.saver, { threadId: "d", checkpointId });
      expect((await deltaChat(other.saver, 1000).getState(on(threadId))).values).toEqual(values);
    }
    const full = await fork(one.saver, { threadId: "d" }, { history: "full" });
    expect(full.checkpoints).toBe(states.length);
    const [a, b] = (await forkMany(other.saver, { threadId: "n" }, 2)).map(({ threadId }) => threadId);
    await Promise.all([
      nested(one.saver).invoke(new Command({ resume: "a" }), on(a!)),
      nested(other.saver).invoke(new Command({ resume: "b" }), on(b!)),
      inner.invoke(new Command({ resume: "n" }), on("n")),
    ]);
    for (const [id, answer] of [
      [a!, "a"],
      [b!, "b"],
      ["n", "n"],
    ] as const) {
      const { log } = (await nested(other.saver).getState(on(id))).values;
      expect(log.at(-1)).toBe(`answer ${answer}`);
      expect(log.filter((line: string) => line === "before")).toHaveLength(1);
    }
  });

  test("what was wound back stays wound back in the archive, and is answered by another process", async () => {
    const graph = asking(one.saver);
    await graph.invoke({ log: ["start"] }, on("u"));
    const { threadId } = await fork(one.saver, "u", { to: "u-fork" });
    await graph.invoke(new Command({ resume: "hilton" }), on(threadId));
    expect((await merge(graph, "u", threadId)).status).toBe("fast-forward");
    const merged = await graph.getState(on("u"));
    await undo(other.saver, "u");
    await stack.archive(2);
    const later = asking(other.saver);
    expect((await later.getState(on("u"))).tasks[0]!.interrupts).toMatchObject([{ value: "which?" }]);
    await later.invoke(new Command({ resume: "ritz" }), on("u"));
    expect((await graph.getState(on("u"))).values.log).toEqual(["start", "answer ritz", "end"]);
    await stack.archive(1);
    expect((await later.getState(merged.config)).values).toEqual(merged.values);
    for await (const state of graph.getStateHistory(on("u"))) {
      if (state.next[0] !== "ask") continue;
      const checkpointId = state.config.configurable!["checkpoint_id"] as string;
      await promote(one.saver, { threadId: "u", checkpointId });
    }
    expect((await later.getState(on("u"))).tasks[0]!.interrupts).toMatchObject([{ value: "which?" }]);
    await undo(other.saver, "u");
    expect((await graph.getState(on("u"))).values.log).toEqual(["start", "answer ritz", "end"]);
  });

  test("an archived subgraph is wound back, given the same answer once more, archived again, and stays right", async () => {
    const graph = nested(one.saver);
    const answer = async (): Promise<unknown> => await graph.invoke(new Command({ resume: "same" }), on("g"));
    await graph.invoke({ log: ["start"] }, on("g"));
    const waiting = await graph.getState(on("g"));
    const checkpointId = waiting.config.configurable!["checkpoint_id"] as string;
    await answer();
    const { values } = await graph.getState(on("g"));
    const deltas = deltaAsking(one.saver);
    await deltas.invoke({ log: ["start"] }, on("h"));
    const asked = (await deltas.getState(on("h"))).config.configurable!["checkpoint_id"] as string;
    await deltas.invoke(new Command({ resume: "same" }), on("h"));
    const first = await deltas.getState(on("h"));
    await stack.archive(2);
    for (const _round of [1, 2]) {
      await promote(other.saver, { threadId: "g", checkpointId });
      expect((await graph.getState(on("g"))).tasks[0]!.interrupts).toHaveLength(1);
      await answer();
      expect((await nested(other.saver).getState(on("g"))).values).toEqual(values);
      await promote(one.saver, { threadId: "h", checkpointId: asked });
      await deltaAsking(other.saver).invoke(new Command({ resume: "same" }), on("h"));
      await stack.archive(2);
      const again = await deltaAsking(other.saver).getState(on("h"));
      expect(again.values).toEqual({ log: ["start", "answer same"] });
      expect((await deltas.getState(first.config)).values).toEqual(again.values);
    }
  });

  test("two forks, gone on with at once by two processes, are merged by a third; some threads archived", async () => {
    await chat(one.saver).invoke({ messages: [human("base")], facts: { base: 1 } }, on("m"));
    const names = ["m-a", "m-b"] as const;
    await forkMany(one.saver, { threadId: "m" }, names);
    await Promise.all(
      [one, other].map(async ({ saver }, n) => {
        for (const turn of [1, 2, 3])
          await chat(saver).invoke(
            { messages: [human(`${names[n]} ${turn}`)], facts: { [names[n]!]: turn } },
            on(names[n]!),
          );
      }),
    );
    const third = await stack.open();
    await stack.archive(3);
    await chat(one.saver).invoke({ messages: [human("late")] }, on("m-a"));
    const strategy = { sum: "reducer", facts: "union" } as const;
    const graph = chat(third.saver);
    expect((await merge(graph, "m", { threadId: "m-a" }, { strategy })).status).toBe("fast-forward");
    expect((await merge(graph, "m", { threadId: "m-b" }, { strategy })).status).toBe("merged");
    await stack.archive(1);
    const { values, next } = await chat(other.saver).getState(on("m"));
    expect(values).toMatchObject({ sum: 8, facts: { base: 1, "m-a": 3, "m-b": 3 } });
    expect(values.messages).toHaveLength(16);
    expect(next).toEqual([]);
    await chat(other.saver).invoke({ messages: [human("on")] }, on("m"));
    expect((await graph.getState(on("m"))).values.sum).toBe(9);
    expect((await merge(graph, "m", { threadId: "m-b" })).status).toBe("already-merged");
  });

  test("a merge raced by a run of another process on the target: one of them, or one after the other", async () => {
    for (let round = 0; round < 4; round += 1) {
      const [base, a, b] = [`r${round}`, `r${round}-a`, `r${round}-b`];
      await chat(one.saver).invoke({ messages: [human("base")] }, on(base));
      await forkMany(one.saver, { threadId: base }, [a, b]);
      await chat(one.saver).invoke({ messages: [human("a")] }, on(a));
      await chat(other.saver).invoke({ messages: [human("b")] }, on(b));
      if (round % 2 === 1) await stack.archive(2);
      const [merged, run] = await Promise.allSettled([
        merge(chat(one.saver), a, { threadId: b }, { strategy: { sum: "reducer" } }),
        chat(other.saver).invoke({ messages: [human("race")] }, on(a)),
      ]);
      const { values } = await chat(one.saver).getState(on(a));
      const texts = textOf(values.messages);
      if (merged.status === "rejected")
        expect(merged.reason).toMatchObject({ code: expect.stringMatching(/CONFLICT|REFUSED/) as unknown });
      expect(texts.includes("b")).toBe(merged.status === "fulfilled");
      expect(texts.includes("race")).toBe(run.status === "fulfilled");
      expect(values.sum).toBe(texts.filter((text) => text.startsWith("re: ")).length);
      expect(merged.status === "fulfilled" || run.status === "fulfilled").toBe(true);
    }
  });

  test("an interrupted thread, archived and forked: each is answered on its own, and one merged back", async () => {
    await asking(one.saver).invoke({ log: ["start"] }, on("i"));
    await stack.archive(1);
    const { threadId } = await fork(other.saver, { threadId: "i" });
    await asking(other.saver).invoke(new Command({ resume: "fork" }), on(threadId));
    await stack.archive(1);
    const { tasks } = await asking(one.saver).getState(on("i"));
    expect(tasks[0]!.interrupts).toMatchObject([{ value: "which?" }]);
    // The thread itself waits where the fork began: it takes over what the fork did.
    expect((await merge(asking(one.saver), "i", { threadId })).status).toBe("fast-forward");
    const { values, next } = await asking(other.saver).getState(on("i"));
    expect(values.log).toEqual(["start", "answer fork", "end"]);
    expect(next).toEqual([]);
  });
});
