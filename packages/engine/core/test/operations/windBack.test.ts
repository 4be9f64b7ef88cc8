import { createHash } from "node:crypto";
import { Annotation, Command, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { currentWrites, rewindTask } from "@stratigraph/core/internal";
import type { WriteBatch } from "@stratigraph/core/tier";

const batch = (taskId: string, text: string): WriteBatch => ({ taskId, blobs: [], body: Buffer.from(text) });
const said = (batches: readonly WriteBatch[]): string[] =>
  batches.map(({ body }) => Buffer.from(body).toString());

function mark(made: string[], before: WriteBatch[], keep: WriteBatch[]): WriteBatch {
  return batch(rewindTask({ made, before: before.map(digestOf), keep: keep.map(digestOf) }), "mark");
}

function digestOf({ taskId, body }: WriteBatch): string {
  // As docs/format.md says, apart from the code under test.
  return createHash("sha256")
    .update(Buffer.concat([Buffer.from(`${taskId}\0`), body]))
    .digest("base64url")
    .slice(0, 12);
}

describe("which pending writes count", () => {
  const [ask, answer, again] = [batch("A", "ask"), batch("A", "answer"), batch("A", "again")];

  test("without marks, all", () => {
    expect(currentWrites([ask, answer])).toEqual([ask, answer]);
    expect(currentWrites([ask, answer], "child")).toEqual([ask, answer]);
  });

  test("after a mark, what it keeps and what follows; for a child that it names, what stood before", () => {
    const batches = [
      ask,
      answer,
      mark(["one"], [ask, answer], [ask]),
      again,
      mark(["two"], [ask, again], [ask]),
    ];
    expect(said(currentWrites(batches))).toEqual(["ask"]);
    expect(said(currentWrites(batches, "one"))).toEqual(["ask", "answer"]);
    expect(said(currentWrites(batches, "two"))).toEqual(["ask", "again"]);
    expect(said(currentWrites(batches, "three"))).toEqual(["ask"]);
    // The same answer once more, byte for byte.
    expect(said(currentWrites([...batches, answer]))).toEqual(["ask", "answer"]);
  });

  test("an append that was repeated changes nothing", () => {
    const first = mark(["one"], [ask, answer], [ask]);
    const batches = [ask, answer, first, again, first];
    expect(said(currentWrites(batches))).toEqual(["ask", "again"]);
    expect(said(currentWrites(batches, "one"))).toEqual(["ask", "answer"]);
  });

  test("nor does what a restored archive brings between what was written since, and that again", () => {
    const first = mark(["one"], [ask, answer], [ask]);
    const batches = [first, again, ask, answer, first, again];
    expect([...new Set(said(currentWrites(batches)))].sort()).toEqual(["again", "ask"]);
    expect(said(currentWrites(batches, "one"))).toEqual(["ask", "answer"]);
  });

  test("what was kept once can be kept again, from before an earlier mark too", () => {
    const batches = [
      ask,
      answer,
      mark(["one"], [ask, answer], []),
      again,
      mark(["two"], [again], [ask, answer]),
    ];
    expect(said(currentWrites(batches))).toEqual(["ask", "answer"]);
  });
});

describe("a saver's promote", () => {
  const State = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const asks = (checkpointer: TierSaver) =>
    new StateGraph(State)
      .addNode("ask", () => ({ log: [`booked ${String(interrupt("which?"))}`] }))
      .addEdge(START, "ask")
      .addEdge("ask", END)
      .compile({ checkpointer });
  const thread = { configurable: { thread_id: "t" }, durability: "sync" as const };

  test("an interrupt that was answered waits again, and the next answer counts", async () => {
    const saver = new MemorySaver();
    const graph = asks(saver);
    await graph.invoke({ log: [] }, thread);
    const waiting = await graph.getState(thread);
    await graph.invoke(new Command({ resume: "hilton" }), thread);
    const booked = await graph.getState(thread);
    expect(await saver.promote(waiting.config)).toBe(booked.config.configurable!["checkpoint_id"]);
    expect(await graph.getState(thread)).toEqual(waiting);
    await graph.invoke(new Command({ resume: "ritz" }), thread);
    expect((await graph.getState(thread)).values.log).toEqual(["booked ritz"]);
    await saver.promote(booked.config);
    expect(await graph.getState(thread)).toEqual(booked);
  });

  test("what stands as it was left isn't wound back: an answer to one of two questions stays", async () => {
    const saver = new MemorySaver();
    const graph = new StateGraph(State)
      .addNode("ask", () => ({ log: [`${String(interrupt("one?"))} ${String(interrupt("two?"))}`] }))
      .addEdge(START, "ask")
      .compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, thread);
    await graph.invoke(new Command({ resume: "a" }), thread);
    const waiting = await graph.getState(thread);
    await saver.promote(waiting.parentConfig!);
    await saver.promote(waiting.config);
    expect(await graph.getState(thread)).toEqual(waiting);
    await graph.invoke(new Command({ resume: "b" }), thread);
    expect((await graph.getState(thread)).values.log).toEqual(["a b"]);
  });

  test("what an update, new input or an error left under an interrupt stays behind", async () => {
    const saver = new MemorySaver();
    const graph = asks(saver);
    await graph.invoke({ log: [] }, thread);
    const waiting = await graph.getState(thread);
    await graph.updateState(thread, { log: ["updated"] });
    await saver.promote(waiting.config);
    expect(await graph.getState(thread)).toEqual(waiting);
    await graph.invoke({ log: ["new input"] }, thread);
    await saver.promote(waiting.config);
    expect(await graph.getState(thread)).toEqual(waiting);
    expect((await saver.getTuple(thread))!.pendingWrites!.map(([, channel]) => channel)).toEqual([
      "__interrupt__",
    ]);
    await graph.invoke(new Command({ resume: "ritz" }), thread);
    expect((await graph.getState(thread)).values.log).toEqual(["booked ritz"]);
  });

  test("promoting the head changes nothing", async () => {
    const saver = new MemorySaver();
    const graph = asks(saver);
    await graph.invoke({ log: [] }, thread);
    const before = await saver.tier.peek({ threadId: "t", namespace: "" });
    expect(await saver.promote((await graph.getState(thread)).config)).toBe(before.head);
    expect(await saver.tier.peek({ threadId: "t", namespace: "" })).toEqual(before);
  });
});
