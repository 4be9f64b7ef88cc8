import {
  Annotation,
  Command,
  DeltaChannel,
  END,
  START,
  Send,
  StateGraph,
  interrupt,
} from "@langchain/langgraph";
import { fork, merge, promote, undo } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { asking, deltaChat, human, nested, on, textOf } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

const list = () => Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });

/** Two questions in one node, beside a task that ends at once and one that asks too; `ran` counts what runs. */
function questions(checkpointer: TierSaver, ran: string[]) {
  const State = Annotation.Root({
    log: list(),
    delta: () =>
      new DeltaChannel<string[], string[]>((before, writes) => [...before, ...writes.flat()], {
        snapshotFrequency: 1000,
      }),
  });
  const note = (text: string) => ({ log: [text], delta: [text] });
  return new StateGraph(State)
    .addNode("begin", () => note("begin"))
    .addNode("hotel", () => {
      ran.push("hotel");
      return note(`hotel ${String(interrupt("which hotel?"))} ${String(interrupt("which room?"))}`);
    })
    .addNode("train", () => {
      ran.push("train");
      return note("train");
    })
    .addNode("end", () => note("end"))
    .addEdge(START, "begin")
    .addEdge("begin", "hotel")
    .addEdge("begin", "train")
    .addEdge(["hotel", "train"], "end")
    .addEdge("end", END)
    .compile({ checkpointer });
}

// The order of one step's writes isn't what is tested here; LangGraph 1.4 stores some of them twice under "exit".
const sorted = (lines: readonly string[]): string[] => [...lines].sort();

const idOf = (state: { config: { configurable?: Record<string, unknown> } }): string =>
  state.config.configurable!["checkpoint_id"] as string;

const interruptsOf = (state: { tasks: { interrupts: { value?: unknown }[] }[] }): unknown[] =>
  state.tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value));

describe.each(savers)("winding back on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  test("undoing a fast-forward: the interrupt that the fork answered waits again", async () => {
    const graph = asking(saver);
    await graph.invoke({ log: ["start"] }, on("u"));
    const before = await graph.getState(on("u"));
    const { threadId } = await fork(saver, { threadId: "u" });
    await graph.invoke(new Command({ resume: "hilton" }), on(threadId));
    expect((await merge(graph, "u", { threadId })).status).toBe("fast-forward");
    const after = await graph.getState(on("u"));
    expect(after.values.log).toEqual(["start", "answer hilton", "end"]);
    expect(await undo(saver, "u")).toMatchObject({ from: idOf(after), checkpointId: idOf(before) });
    expect(await graph.getState(on("u"))).toEqual(before);
    // The undo of the undo is as it was, and so is undoing that.
    await undo(saver, "u");
    expect(await graph.getState(on("u"))).toEqual(after);
    await undo(saver, "u");
    expect(await graph.getState(on("u"))).toEqual(before);
    await graph.invoke(new Command({ resume: "ritz" }), on("u"));
    expect((await graph.getState(on("u"))).values.log).toEqual(["start", "answer ritz", "end"]);
    expect((await graph.getState(after.config)).values).toEqual(after.values);
  });

  test("a fast-forward that was undone is merged again", async () => {
    const graph = asking(saver);
    await graph.invoke({ log: ["start"] }, on("again"));
    const { threadId } = await fork(saver, { threadId: "again" });
    await graph.invoke(new Command({ resume: "hilton" }), on(threadId));
    await merge(graph, "again", { threadId });
    const after = await graph.getState(on("again"));
    await undo(saver, "again");
    expect((await merge(graph, "again", { threadId })).status).toBe("fast-forward");
    expect(await graph.getState(on("again"))).toEqual(after);
    await undo(saver, "again");
    expect(interruptsOf(await graph.getState(on("again")))).toEqual(["which?"]);
    await graph.invoke(new Command({ resume: "ritz" }), on("again"));
    expect((await graph.getState(on("again"))).values.log).toEqual(["start", "answer ritz", "end"]);
  });

  test.each(["sync", "async", "exit"] as const)(
    "promoting an interrupt that was answered (%s): finished tasks stay finished, DeltaChannels stay right",
    async (durability) => {
      const ran: string[] = [];
      const graph = questions(saver, ran);
      const at = { ...on(`q-${durability}`), durability };
      const thread = at.configurable.thread_id;
      await graph.invoke({ log: ["in"], delta: ["in"] }, at);
      const waiting = await graph.getState(at);
      const answer = async (resume: string) => await graph.invoke(new Command({ resume }), at);
      for (const [round, [hotel, room]] of [
        ["hilton", "1"],
        ["ritz", "2"],
        ["savoy", "3"],
      ].entries()) {
        if (round > 0) {
          const from = await graph.getState(at);
          await promote(saver, { threadId: thread, checkpointId: idOf(waiting) });
          // Durability "exit" puts a checkpoint again where a run ends at it, with another time.
          const { createdAt: _at, ...again } = await graph.getState(at);
          expect(waiting).toMatchObject(again);
          // There and back again: the old line is as it was.
          await undo(saver, thread);
          expect(await graph.getState(at)).toEqual(from);
          await undo(saver, thread);
        }
        ran.length = 0;
        expect(interruptsOf(await graph.getState(at))).toEqual(["which hotel?"]);
        await answer(hotel!);
        expect(interruptsOf(await graph.getState(at))).toEqual(["which room?"]);
        await answer(room!);
        expect(ran).toEqual(["hotel", "hotel"]);
        const { values } = await graph.getState(at);
        if (durability !== "exit") expect(sorted(values.delta)).toEqual(sorted(values.log));
        expect([...values.log].sort()).toEqual(["begin", "end", `hotel ${hotel} ${room}`, "in", "train"]);
      }
      // Every line's checkpoints still have their own values.
      const seen = new Set<string>();
      for await (const { values } of graph.getStateHistory(at)) {
        if (values.log?.length === 0 || values.delta === undefined) continue;
        if (durability !== "exit") expect(sorted(values.delta)).toEqual(sorted(values.log));
        for (const line of values.log as string[]) if (line.startsWith("hotel")) seen.add(line);
      }
      expect([...seen].sort()).toEqual(["hotel hilton 1", "hotel ritz 2", "hotel savoy 3"]);
      await saver.copyThread(thread, `${thread}-copy`);
      const copy = on(`${thread}-copy`);
      expect((await graph.getState(copy)).values).toEqual((await graph.getState(at)).values);
      await promote(saver, { threadId: `${thread}-copy`, checkpointId: idOf(waiting) });
      expect(interruptsOf(await graph.getState(copy))).toEqual(["which hotel?"]);
    },
  );

  test("undoing a fast-forward finds the second question where the first was answered before", async () => {
    const graph = questions(saver, []);
    await graph.invoke({ log: ["in"], delta: ["in"] }, on("second"));
    await graph.invoke(new Command({ resume: "hilton" }), on("second"));
    const before = await graph.getState(on("second"));
    expect(interruptsOf(before)).toEqual(["which room?"]);
    const { threadId } = await fork(saver, { threadId: "second" });
    await graph.invoke(new Command({ resume: "1" }), on(threadId));
    await merge(graph, "second", { threadId });
    const merged = await graph.getState(on("second"));
    expect(sorted(merged.values.delta)).toEqual(sorted(merged.values.log));
    await undo(saver, "second");
    expect(await graph.getState(on("second"))).toEqual(before);
    await graph.invoke(new Command({ resume: "2" }), on("second"));
    const { values } = await graph.getState(on("second"));
    expect(values.log).toContain("hotel hilton 2");
    expect(sorted(values.delta)).toEqual(sorted(values.log));
    const old = await graph.getState(merged.config);
    expect(old.values).toEqual(merged.values);
  });

  test("tasks that ask at once, answered one after the other, wait again together", async () => {
    const graph = new StateGraph(Annotation.Root({ log: list() }))
      .addNode("plan", () => ({ log: ["plan"] }))
      .addNode("ask", ({ log }) => ({ log: [`${log[0]} ${String(interrupt(log[0]))}`] }))
      .addEdge(START, "plan")
      .addConditionalEdges("plan", () => ["a", "b", "c"].map((name) => new Send("ask", { log: [name] })), [
        "ask",
      ])
      .compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("many"));
    const waiting = await graph.getState(on("many"));
    expect(interruptsOf(waiting)).toEqual(["a", "b", "c"]);
    const [first, ...rest] = waiting.tasks.map(({ interrupts }) => interrupts[0]!.id!);
    const answer = async (text: string, ...ids: string[]): Promise<unknown> =>
      await graph.invoke(
        new Command({ resume: Object.fromEntries(ids.map((id) => [id, text])) }),
        on("many"),
      );
    for (const [one, others] of [
      ["x", "y"],
      ["u", "v"],
    ] as const) {
      await answer(one, first!);
      await answer(others, ...rest);
      expect((await graph.getState(on("many"))).values.log).toEqual([
        "plan",
        `a ${one}`,
        `b ${others}`,
        `c ${others}`,
      ]);
      await promote(saver, { threadId: "many", checkpointId: idOf(waiting) });
      expect(await graph.getState(on("many"))).toEqual(waiting);
    }
  });

  test("subgraphs are wound back too: one that asked waits, one that persists stands where it stood", async () => {
    const graph = nested(saver);
    await graph.invoke({ log: ["start"] }, on("s"));
    const waiting = await graph.getState(on("s"));
    await graph.invoke(new Command({ resume: "one" }), on("s"));
    await graph.invoke({ log: ["again"] }, on("s"));
    await graph.invoke(new Command({ resume: "two" }), on("s"));
    const end = await graph.getState(on("s"));
    expect(end.values.log).toContain("visit 2");
    await promote(saver, { threadId: "s", checkpointId: idOf(waiting) });
    expect(interruptsOf(await graph.getState(on("s")))).toEqual(["which?"]);
    await graph.invoke(new Command({ resume: "three" }), on("s"));
    const { log } = (await graph.getState(on("s"))).values;
    expect(log.filter((line: string) => line === "before")).toHaveLength(1);
    expect(log.at(-1)).toBe("answer three");
    await graph.invoke({ log: ["more"] }, on("s"));
    expect((await graph.getState(on("s"))).values.log).toContain("visit 2");
    await promote(saver, { threadId: "s", checkpointId: idOf(end) });
    expect(await graph.getState(on("s"))).toEqual(end);
    await graph.invoke({ log: ["third"] }, on("s"));
    expect((await graph.getState(on("s"))).values.log).toContain("visit 3");
  });

  test("what a node asks a subgraph for after an answer is asked anew after another answer", async () => {
    const State = Annotation.Root({ log: list() });
    const inner = new StateGraph(Annotation.Root({ name: Annotation<string>(), said: Annotation<string>() }))
      .addNode("say", ({ name }) => ({ said: `said ${name}` }))
      .addEdge(START, "say")
      .compile();
    const graph = new StateGraph(State)
      .addNode("ask", async () => {
        const name = String(interrupt("who?"));
        return { log: [(await inner.invoke({ name })).said] };
      })
      .addEdge(START, "ask")
      .addEdge("ask", END)
      .compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("inline"));
    const { threadId } = await fork(saver, { threadId: "inline" });
    await graph.invoke(new Command({ resume: "ada" }), on(threadId));
    await merge(graph, "inline", { threadId });
    expect((await graph.getState(on("inline"))).values.log).toEqual(["said ada"]);
    await undo(saver, "inline");
    await graph.invoke(new Command({ resume: "bob" }), on("inline"));
    expect((await graph.getState(on("inline"))).values.log).toEqual(["said bob"]);
  });

  test("a turn that follows a promotion isn't mixed with the one that followed before (DeltaChannel)", async () => {
    const graph = deltaChat(saver, 1000);
    await graph.invoke({ messages: [human("one", "one")] }, on("turns"));
    const first = await graph.getState(on("turns"));
    await graph.invoke({ messages: [human("two", "two")] }, on("turns"));
    const second = await graph.getState(on("turns"));
    await promote(saver, { threadId: "turns", checkpointId: idOf(first) });
    await graph.invoke({ messages: [human("other", "other")] }, on("turns"));
    const said = textOf((await graph.getState(on("turns"))).values.messages);
    expect(said).toEqual(["one", "re: one", "other", "re: other"]);
    expect((await graph.getState(second.config)).values).toEqual(second.values);
    const { threadId } = await fork(saver, { threadId: "turns", checkpointId: idOf(second) });
    expect((await graph.getState(on(threadId))).values).toEqual(second.values);
    const full = await fork(saver, { threadId: "turns" }, { history: "full" });
    expect(textOf((await graph.getState(full.config)).values.messages)).toEqual(said);
  });
});
