import { interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { operations, runOperation } from "../../src/operations/index.ts";
import { expect, test } from "vitest";
import { ran } from "./support/ran.ts";
import { run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { putValues } from "./support/threads.ts";

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

test("finds threads by a part of their ids, page by page", async () => {
  const context = testContext(await saverWith(["user-ada-1", "bob", "user-Ada-2", "eve", "ADA"]));
  const search = async (input: object) =>
    await run<{ items: { thread: string }[]; cursor?: string }>("threads", input, context);
  const first = await search({ search: "ada", limit: 2 });
  expect(first.items.map(({ thread }) => thread)).toEqual(["ADA", "user-Ada-2"]);
  const second = await search({ search: "ada", limit: 2, cursor: first.cursor });
  expect(second.items.map(({ thread }) => thread)).toEqual(["user-ada-1"]);
  expect(second.cursor).toBeUndefined();
  expect((await search({ search: "" })).items).toHaveLength(5);
});

test("details show what the heads say: steps, interrupts, conflicts, origins and the application's metadata", async () => {
  const saver = new MemorySaver();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({ messages: ["Hello"] }))
    .addNode("ask", () => ({ messages: [String(interrupt("Really?"))] }))
    .addEdge(START, "agent")
    .addEdge("agent", "ask")
    .compile({ checkpointer: saver });
  await graph.invoke({ messages: ["Hi"] }, { configurable: { thread_id: "ada" } });
  await run("fork", { at: "ada@step:0", to: "fork" }, testContext(saver));
  const fork = { configurable: { thread_id: "fork" } };
  const { config, checkpoint } = (await saver.getTuple(fork))!;
  const metadata = {
    source: "update",
    step: 7,
    parents: {},
    user: "anna",
    secret: "x",
  } as CheckpointMetadata;
  await saver.put(config, { ...checkpoint, id: uuid6(0) }, metadata, {});
  const { items } = await run<{ items: { thread: string; details: object }[] }>(
    "threads",
    { details: true },
    testContext(saver, { redact: ["metadata.secret"] }),
  );
  const of = Object.fromEntries(items.map(({ thread, details }) => [thread, details]));
  expect(of["ada"]).toMatchObject({
    step: 1,
    source: "loop",
    waits: "interrupt",
    conflicts: 0,
    metadata: {},
  });
  expect(of["fork"]).toMatchObject({ step: 7, metadata: { user: "anna" }, origin: { thread: "ada" } });
  expect(of["fork"]).not.toHaveProperty("metadata.secret");
  const lines = [...threads.render({ items })].join("\n");
  expect(lines).toMatch(/^ada .*step 1; waits for an answer$/m);
  expect(lines).toMatch(/^fork .*step 7; forked from ada$/m);
});

test("a thread whose head is damaged is listed with what is wrong", async () => {
  const saver = await saverWith(["ada", "bob"]);
  const { tier } = saver;
  const list = tier.list.bind(tier);
  tier.list = async function* (query) {
    for await (const each of list(query))
      yield each.record.threadId === "bob"
        ? { ...each, record: { ...each.record, body: new Uint8Array(each.record.body.length) } }
        : each;
  };
  const { items } = await run<{ items: { thread: string; details: object }[] }>(
    "threads",
    { details: true },
    testContext(saver),
  );
  expect(items.find(({ thread }) => thread === "bob")).toMatchObject({
    details: { damaged: expect.stringContaining("bob") },
  });
  expect(items.find(({ thread }) => thread === "ada")).not.toHaveProperty("details.damaged");
});

test("names every field of an input that is wrong", async () => {
  const context = testContext(new MemorySaver());
  await expect(runOperation(threads, { limit: 0, filter: "x", nmae: 1 }, context)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringMatching(
      /filter\.0: write key=value.*limit.*nmae: is unknown; threads takes search, filter, tag/s,
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

test("for a field that is wrong in many places, one mistake is shown", async () => {
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

test.each([
  ["threads", { limit: "abc" }, 'limit: expected a number; found "abc".'],
  ["threads", { limit: 1.5 }, "limit: expected a whole number; found 1.5."],
  ["threads", { limit: 9999 }, "limit: expected at most 1000; found 9999."],
  ["threads", { order: "late" }, 'order: expected "newest" or "oldest"; found "late".'],
  ["threads", { evicted: "maybe" }, 'evicted: expected true or false; found "maybe".'],
  ["threads", { search: ["a"] }, "search: expected a text; found a list."],
  ["history", {}, "thread: is missing."],
  ["history", { thread: "" }, "thread: expected something that isn't empty."],
  ["threads", { search: 7n ** 90n }, "search: expected a text; found "],
])("%s %o: %s", async (name, input, told) => {
  const operation = operations.find((each) => each.name === name)!;
  const call = runOperation(operation, input, testContext(new MemorySaver()));
  await expect(call).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining(told),
  });
});

test("if no thread has the tag, the output says where tags come from", async () => {
  const saver = new MemorySaver();
  await putValues(saver, "ada", { value: 1 });
  const { text } = await ran("threads", { tag: "user=ada" }, saver);
  expect(text).toMatch(/^No threads with this tag\. .*threadTags/);
  expect((await ran("threads", { search: "x" }, saver)).text).toBe("No threads.");
});

test("if times are kept to the minute, threads of the same minute are listed in the order of their heads", async () => {
  const tier = new MemoryTier();
  const exact = tier.threads.bind(tier);
  // As PostgreSQL tells them: of one minute in an order of their own.
  tier.threads = async function* (query) {
    const sign = query.order === "newest" ? -1 : 1;
    const all = [];
    for await (const each of exact({ ...query, limit: undefined }))
      all.push({ ...each, writtenAtMs: Date.parse("2026-03-01T00:00Z") });
    yield* all.sort((a, b) => sign * (a.threadId < b.threadId ? -1 : 1));
  };
  const saver = new TierSaver(tier);
  // Ids of one millisecond tell no order.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-01T00:00:10Z") });
  onTestFinished(() => void vi.useRealTimers());
  for (const thread of ["a", "b", "c", "a"]) {
    vi.setSystemTime(Date.now() + 1);
    await putValues(saver, thread, { n: 1 });
  }
  const listed = async (order: string): Promise<string[]> => {
    const { items } = await run<{ items: { thread: string }[] }>("threads", { order }, testContext(saver));
    return items.map(({ thread }) => thread);
  };
  expect(await listed("newest")).toEqual(["a", "c", "b"]);
  expect(await listed("oldest")).toEqual(["b", "c", "a"]);
});
