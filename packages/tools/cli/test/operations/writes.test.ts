import { Annotation, Send, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import { asking, chat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";

interface Task {
  readonly node?: string;
  readonly outcome: string;
  readonly writes: readonly { readonly kind: string; readonly channel: string; readonly value: unknown }[];
}
interface Written {
  readonly made: readonly Task[];
  readonly pending: readonly Task[];
  readonly parent?: string;
  readonly parentIsHere: boolean;
}

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

test("what each node of a step wrote, also those that were sent to", async () => {
  const saver = new MemorySaver();
  const graph = new StateGraph(State)
    .addNode("plan", () => ({ log: ["planned"] }))
    .addNode("search", (input: { word: string }) => ({ log: [`found ${input.word}`] }))
    .addEdge(START, "plan")
    .addConditionalEdges("plan", () => [new Send("search", { word: "a" }), new Send("search", { word: "b" })])
    .compile({ checkpointer: saver });
  await graph.invoke({ log: [] }, on("ada"));
  const shown = await run<Written>("writes", { at: "ada" }, testContext(saver));
  expect(shown.pending).toEqual([]);
  const wrote = shown.made.map(({ node, outcome, writes }) => [
    node,
    outcome,
    writes.find(({ channel }) => channel === "log")?.value,
  ]);
  expect(wrote).toEqual([
    ["search", "done", ["found a"]],
    ["search", "done", ["found b"]],
  ]);
  const text = rendered("writes", shown);
  expect(text).toMatch(/^MADE BY\n +search +log +\["found a"\]/);
});

test("a branch's own writes are told, not those of the branch beside it", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("Hello", "m1")] }, on("ada"));
  const { checkpoint: fork } = await run<{ checkpoint: string }>(
    "show",
    { at: "ada@step:0" },
    testContext(saver),
  );
  await graph.updateState(on("ada", fork), { messages: [human("by hand", "m2")] }, "answer");
  interface Item {
    readonly checkpoint: string;
    readonly parents: readonly string[];
    readonly source: string;
  }
  const { items } = await run<{ items: readonly Item[] }>("history", { thread: "ada" }, testContext(saver));
  const written = new Map<string, string>();
  for (const { checkpoint, source } of items.filter(({ parents }) => parents[0] === fork))
    written.set(
      source,
      JSON.stringify((await run<Written>("writes", { at: "ada", checkpoint }, testContext(saver))).made),
    );
  expect([...written.keys()].sort()).toEqual(["loop", "update"]);
  expect(written.get("loop")).toContain("re: Hello");
  expect(written.get("loop")).not.toContain("by hand");
  // LangGraph stores no writes for an update of a checkpoint that is named.
  expect(written.get("update")).toBe("[]");
});

test("interrupts and failures are outcomes of the next step; the first checkpoint says that no step made it", async () => {
  const saver = new MemorySaver();
  await asking(saver).invoke({ log: ["start"] }, on("u"));
  const asked = await run<Written>("writes", { at: "u" }, testContext(saver));
  expect(asked.pending).toMatchObject([
    { node: "ask", outcome: "interrupted", writes: [{ kind: "interrupt" }] },
  ]);
  expect(rendered("writes", asked)).toMatch(/PENDING: THE NEXT STEP\n +ask +waits for an answer +interrupt/);

  const failing = new StateGraph(State)
    .addNode("fails", () => {
      throw new Error("no such city");
    })
    .addEdge(START, "fails")
    .compile({ checkpointer: saver });
  await expect(failing.invoke({ log: [] }, on("f"))).rejects.toThrow("no such city");
  const failed = await run<Written>("writes", { at: "f" }, testContext(saver));
  expect(failed.pending).toMatchObject([{ node: "fails", outcome: "failed", writes: [{ kind: "error" }] }]);

  const first = await run<Written>("writes", { at: "u@step:-1" }, testContext(saver));
  expect(first).toMatchObject({ parentIsHere: false, made: [] });
  expect(rendered("writes", first)).toContain("It is the first checkpoint");
});

test("what is redacted isn't told", async () => {
  const saver = new MemorySaver();
  await chat(saver).invoke({ messages: [human("secret", "m1")] }, on("ada"));
  const context = testContext(saver, { redact: ["messages.*.content"] });
  const shown = await run<Written>("writes", { at: "ada" }, context);
  expect(shown.made).toHaveLength(1);
  expect(JSON.stringify(shown) + rendered("writes", shown)).not.toContain("secret");
});
