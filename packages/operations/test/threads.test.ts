import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { operations, runOperation } from "@stratigraph/operations";
import { expect, test } from "vitest";
import { testContext } from "./support/testContext.ts";

const threads = operations.find(({ name }) => name === "threads")!;

async function saverWith(ids: readonly string[]): Promise<MemorySaver> {
  const saver = new MemorySaver();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({ messages: ["Hello"] }))
    .addEdge(START, "agent")
    .compile({ checkpointer: saver });
  for (const id of ids) await graph.invoke({ messages: ["Hi"] }, { configurable: { thread_id: id } });
  return saver;
}

test("lists threads page by page, and by metadata", async () => {
  const context = testContext(await saverWith(["ada", "bob", "bob", "e\u001b[31mvil"]));
  const first = (await runOperation(threads, { limit: "2" }, context)) as {
    items: { thread: string }[];
    cursor: string;
  };
  const second = (await runOperation(threads, { limit: 2, cursor: first.cursor }, context)) as typeof first;
  expect([...first.items, ...second.items].map(({ thread }) => thread).sort()).toEqual([
    "ada",
    "bob",
    "e\u001b[31mvil",
  ]);
  const found = (await runOperation(threads, { filter: ["step=4"] }, context)) as typeof first;
  expect(found.items.map(({ thread }) => thread)).toEqual(["bob"]);
  const lines = [...threads.render(await runOperation(threads, {}, context))];
  expect(lines.join("\n")).not.toContain("\u001b");
});

test("names every field of an input that is wrong", async () => {
  const context = testContext(new MemorySaver());
  await expect(runOperation(threads, { limit: 0, filter: "x", nmae: 1 }, context)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringMatching(
      /filter\.0: write key=value.*limit.*nmae: is unknown; threads takes filter, tag/s,
    ),
  });
});

test("ages are to the minute, as the times are", () => {
  const seconds = (ago: number) => {
    const writtenAt = new Date(Date.now() - ago * 1000).toISOString();
    return [...threads.render({ items: [{ thread: "ada", writtenAt, evicted: false }] })].join("\n");
  };
  expect(seconds(42)).toMatch(/ada +< 1 min ago/);
  expect(seconds(80)).toMatch(/ada +1 min ago/);
  expect(seconds(600)).toMatch(/ada +10 min ago/);
});

test("of a field that is wrong in many places, one mistake is told", async () => {
  const repair = operations.find(({ name }) => name === "repair")!;
  const context = testContext(new MemorySaver());
  const error = await runOperation(repair, { report: {}, apply: "maybe" }, context).catch(
    (thrown: unknown) => thrown,
  );
  const { message, data } = error as Error & { data: { issues: unknown[] } };
  expect(data.issues.length).toBeGreaterThan(8);
  expect(message).toMatch(
    /^Invalid input of repair: report\.\w+: [^.]+\. \(There are \d+ more mistakes in it\.\) apply: [^.]+\.$/,
  );
});
