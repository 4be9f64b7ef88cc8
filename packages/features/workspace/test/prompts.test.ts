// long file: what users expect of prompts, one short story after another, on two storages
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  DeltaChannel,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { TieredSaver } from "@stratigraph/tiered";
import { createWorkspace } from "@stratigraph/workspace";
import { createPrompts, type PromptReport } from "@stratigraph/workspace/prompts";
import { afterAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";

const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

async function postgres(): Promise<TierSaver> {
  const database = await freshDatabase();
  const saver = PostgresSaver.fromConnString(database.url);
  cleanups.push(database.drop, () => saver.end());
  await saver.setup();
  return saver;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** An answer of a model, which cost so many tokens. */
function said(text: string, output = 5): AIMessage {
  const usage_metadata = { input_tokens: 10, output_tokens: output, total_tokens: 10 + output };
  // The types of AIMessage don't let a literal name its usage.
  return new AIMessage({ content: text, id: randomUUID(), usage_metadata } as never);
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  big: Annotation<string>,
  log: Annotation<object[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** How the tests' nodes behave at the moment. */
interface Mood {
  fails?: boolean;
  asks?: boolean;
}

describe.each([
  ["memory", async () => new TierSaver(new MemoryTier())],
  ["PostgreSQL", postgres],
])("prompts on %s", (storage, opening) => {
  /** Tests of what is the same on all storages. */
  const once = test.runIf(storage === "memory");
  let opened: Promise<TierSaver> | undefined;

  /** Prompts of a workspace and a graph, whose second node may ask a person or fail. */
  async function open(mood: Mood = {}) {
    const saver = await (opened ??= opening());
    const ws = createWorkspace(saver, `w${randomUUID()}`, { agent: "anna" });
    const other = createPrompts(createWorkspace(saver, ws.name, { agent: "ben" }), { checkpointer: saver });
    const prompts = createPrompts(ws, { checkpointer: saver });
    const graph = new StateGraph(State)
      .addNode("look", () => ({ messages: [said("let me look")] }))
      .addNode("answer", () => {
        if (mood.fails === true) throw new Error("the model is down");
        const more = mood.asks === true ? String(interrupt("go on?")) : "";
        return { messages: [said(`done ${more}`)] };
      })
      .addEdge(START, "look")
      .addEdge("look", "answer")
      .addEdge("answer", END)
      .compile({ checkpointer: saver });
    // The same name in another test is another prompt, but runs are found by names: so each test has its own.
    const name = `an"swer.🦊 ${randomUUID()}`;
    const question = (): { messages: HumanMessage[] } => ({ messages: [new HumanMessage("why?")] });
    const on = (thread_id: string, ...used: { metadata: Record<string, string> }[]) => ({
      configurable: { thread_id },
      metadata: Object.assign({}, ...used.map(({ metadata }) => metadata)) as Record<string, string>,
    });
    const thread = `t${randomUUID()}`;
    const report = async (version = "1"): Promise<PromptReport> =>
      (await prompts.report(name)).find((each) => each.version.version === version)!;
    return { saver, ws, other, prompts, graph, name, question, on, thread, report, mood };
  }

  test("a version has a parent, an author, and the feedback that led to it; the first is current, others are promoted", async () => {
    const { prompts, other, name, ws } = await open();
    await prompts.add(name, { template: "Answer {question}." });
    const added = await other.add(name, {
      template: "Answer {question} in {words} words.",
      feedback: ["too long"],
    });
    expect(added).toMatchObject({
      name,
      version: "2",
      parent: "1",
      feedback: ["too long"],
      author: { agent: "ben" },
    });
    expect(added.variables).toEqual(["question", "words"]);
    expect(added.render({ question: "{why}", words: 7, more: "x" })).toBe("Answer {why} in 7 words.");
    expect((await prompts.get(name)).version).toBe("1");
    await prompts.promote(name, "2", { reason: "tried it" });
    expect(await other.get(name)).toEqual(added);
    const third = await prompts.add(name, {
      template: [{ role: "system", content: 'Be {style}: {{"json": 1}}' }],
      parent: "1",
    });
    expect(third).toMatchObject({ version: "3", parent: "1" });
    expect(third.render({ style: "brief" })).toEqual([{ role: "system", content: 'Be brief: {"json": 1}' }]);
    expect((await prompts.versions(name)).map(({ version }) => version)).toEqual(["1", "2", "3"]);
    expect((await other.list()).map((each) => [each.name, each.version])).toEqual([[name, "2"]]);
    const [promoted] = await all(ws.history(["prompts", "current"], name));
    expect(promoted).toMatchObject({ author: { agent: "anna" }, reason: "tried it" });
  });

  once(
    "a rollback goes to the version that was current before, and again to the one before that",
    async () => {
      const { prompts, name, ws } = await open();
      for (const text of ["a", "b", "c"]) await prompts.add(name, { template: text });
      await prompts.promote(name, "3");
      await prompts.promote(name, "2");
      await prompts.promote(name, "2");
      expect((await prompts.rollback(name)).version).toBe("3");
      expect((await prompts.rollback(name)).version).toBe("1");
      await expect(prompts.rollback(name)).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect((await prompts.get(name)).version).toBe("1");
      for (let n = 0; n < 101; n += 1) await prompts.promote(name, n % 2 === 0 ? "2" : "3");
      const { before } = (await ws.get(["prompts", "current"], name))!.value as { before: string[] };
      expect(before).toHaveLength(100);
    },
  );

  once("two people who promote at once don't overwrite each other", async () => {
    const { prompts, other, name, ws } = await open();
    for (const text of ["a", "b", "c"]) await prompts.add(name, { template: text });
    // Ben promotes between what Anna's call reads and what it writes.
    const between = createPrompts({
      get: (...args) => ws.get(...args),
      search: (...args) => ws.search(...args),
      store: () => ws.store(),
      transact: (...args) => ws.transact(...args),
      put: async (...args) => {
        await other.promote(name, "3");
        return await ws.put(...args);
      },
    });
    const conflict = { code: "VERSION_CONFLICT", data: { name, current: "3", by: "ben" } };
    await expect(between.promote(name, "2")).rejects.toMatchObject(conflict);
    expect((await prompts.get(name)).version).toBe("3");
    // Anna saw version 1.
    await expect(prompts.promote(name, "2", { from: "1" })).rejects.toMatchObject(conflict);
    await expect(prompts.rollback(name, { from: "1" })).rejects.toMatchObject(conflict);
    await prompts.promote(name, "2", { from: "3" });
    expect((await prompts.get(name)).version).toBe("2");
  });

  test("versions that are added at once all stay", async () => {
    const { prompts, other, name } = await open();
    const texts = Array.from({ length: 8 }, (_, n) => `text ${n}`);
    await Promise.all(texts.map((template, n) => (n % 2 === 0 ? prompts : other).add(name, { template })));
    const versions = await prompts.versions(name);
    expect(versions.map(({ template }) => template).toSorted()).toEqual(texts);
    expect(versions.map(({ version }) => version)).toEqual(texts.map((_, n) => String(n + 1)));
    expect((await prompts.get(name)).version).toBe("1");
    expect(versions.slice(1).every(({ parent }) => parent === "1")).toBe(true);
  });

  once("two versions are compared by lines and words, and their runs side by side", async () => {
    const { prompts, name } = await open();
    await prompts.add(name, { template: "Be brief.\nAnswer {question}.\nThanks." });
    await prompts.add(name, { template: "Be brief.\nAnswer {question} politely.\nThanks." });
    const { a, b, text } = await prompts.compare(name, "1", "2");
    expect((await prompts.report(name, { limit: 1 })).map(({ version }) => version.version)).toEqual(["2"]);
    expect([a.version.version, b.version.version, a.runs, b.isCurrent]).toEqual(["1", "2", 0, false]);
    expect(text).toEqual([
      { kind: "same", text: "Be brief.\n" },
      { kind: "removed", text: "Answer {question}.\n" },
      { kind: "added", text: "Answer {question} politely.\n" },
      { kind: "same", text: "Thanks." },
    ]);
    const words = await prompts.compare(name, "1", "2", { by: "words" });
    expect(words.text.filter(({ kind }) => kind !== "same").map(({ text: piece }) => piece)).toEqual([
      "{question}.",
      "{question} politely.",
    ]);
    // Where too much differs, all between the common beginning and end counts as replaced.
    const each = (change: (n: number) => string): string =>
      Array.from({ length: 2000 }, (_, n) => `${change(n)}\nsame\n`).join("");
    await prompts.add(name, { template: `a\n${each((n) => `old ${n}`)}z` });
    await prompts.add(name, { template: `a\n${each((n) => `new ${n}`)}z` });
    const much = await prompts.compare(name, "3", "4");
    expect(much.text.map(({ kind }) => kind)).toEqual(["same", "removed", "added", "same"]);
  });

  test("runs are counted by what became of them, and a conversation's earlier tokens aren't counted again", async () => {
    const { prompts, graph, name, question, on, thread, report, mood } = await open();
    const one = await prompts.add(name, { template: "a" });
    for (let turn = 0; turn < 3; turn += 1) await graph.invoke(question(), on(thread, one));
    expect(await report()).toMatchObject({ runs: 3, succeeded: 3, success: 1 });
    expect((await report()).tokens).toEqual({ input: 60, output: 30, total: 90 });
    mood.asks = true;
    await graph.invoke(question(), on(`${thread} asks`, one));
    expect(await report()).toMatchObject({ runs: 4, succeeded: 3, waiting: 1, success: 0.75 });
    await graph.invoke(new Command({ resume: "yes" }), on(`${thread} asks`, one));
    expect(await report()).toMatchObject({ runs: 4, succeeded: 4, waiting: 0, tokens: { total: 120 } });
    // A run without metadata is nobody's.
    await graph.invoke(question(), on(`${thread} other`));
    await graph.invoke(question(), on(thread));
    expect(await report()).toMatchObject({ runs: 4, tokens: { total: 120 } });
  });

  test("a run that crashed and was resumed counts once, also if the one who resumed it named no version, or another one", async () => {
    const { prompts, graph, name, question, on, thread, report, mood } = await open();
    const one = await prompts.add(name, { template: "a" });
    const two = await prompts.add(name, { template: "b" });
    mood.fails = true;
    await expect(graph.invoke(question(), on(thread, one))).rejects.toThrow("down");
    await expect(graph.invoke(question(), on(`${thread} 2`, one))).rejects.toThrow("down");
    expect(await report()).toMatchObject({ runs: 2, failed: 2, success: 0, tokens: { total: 30 } });
    mood.fails = false;
    await graph.invoke(null, on(thread));
    expect(await report()).toMatchObject({ runs: 2, failed: 1, succeeded: 1, tokens: { total: 45 } });
    await graph.invoke(null, on(`${thread} 2`, two));
    expect(await report()).toMatchObject({ runs: 2, failed: 0, succeeded: 2, tokens: { total: 45 } });
    expect(await report("2")).toMatchObject({ runs: 1, succeeded: 1, tokens: { total: 15 } });
  });

  test("a fork of a thread isn't counted again, but what it does itself is", async () => {
    const { saver, prompts, graph, name, question, on, thread, report } = await open();
    const one = await prompts.add(name, { template: "a" });
    const two = await prompts.add(name, { template: "b" });
    await graph.invoke(question(), on(thread, one));
    const { threadId } = await fork(saver, thread);
    await graph.updateState(on(threadId), { big: "edited by hand" });
    expect(await report()).toMatchObject({ runs: 1, tokens: { total: 30 } });
    await graph.invoke(question(), on(threadId, two));
    expect(await report()).toMatchObject({ runs: 1, tokens: { total: 30 } });
    expect(await report("2")).toMatchObject({ runs: 1, succeeded: 1, tokens: { total: 30 } });
    // Feedback on what the fork inherited is feedback on the run itself: a person's later score takes the place of the earlier one.
    const again = (await fork(saver, thread)).threadId;
    await prompts.feedback(thread, { score: 0, by: "carl" });
    await prompts.feedback(again, { score: 1, by: "carl" });
    expect(await report()).toMatchObject({ satisfaction: 1, ratings: 1 });
  });

  once(
    "who goes back in a thread and tries another version makes a run of that, and the first one stays what it was",
    async () => {
      const { prompts, graph, name, question, on, thread, report, mood } = await open();
      const one = await prompts.add(name, { template: "a" });
      const two = await prompts.add(name, { template: "b" });
      mood.fails = true;
      await expect(graph.invoke(question(), on(thread, one))).rejects.toThrow("down");
      mood.fails = false;
      const states = await all(graph.getStateHistory(on(thread)));
      const begun = states.find(({ next }) => next[0] === "look")!;
      await graph.invoke(null, { ...begun.config, metadata: two.metadata });
      expect(await report()).toMatchObject({ runs: 1, failed: 1, succeeded: 0, tokens: { total: 15 } });
      expect(await report("2")).toMatchObject({ runs: 1, succeeded: 1, tokens: { total: 30 } });
    },
  );

  test("a thread that is deleted isn't counted any more, but what people said stays", async () => {
    const { saver, prompts, graph, name, question, on, thread, report } = await open();
    const one = await prompts.add(name, { template: "a" });
    await graph.invoke(question(), on(thread, one));
    await prompts.feedback(thread, { score: 0.25, comment: "wordy" });
    await saver.deleteThread(thread);
    expect(await report()).toMatchObject({ runs: 0, tokens: { total: 0 }, satisfaction: 0.25, ratings: 1 });
    expect((await report()).success).toBeUndefined();
    await expect(prompts.feedback(thread, { score: 1 })).rejects.toMatchObject({ code: "NOT_FOUND" });
    // It is deleted while it is counted, before its values are read.
    await graph.invoke(question(), on(`${thread} 2`, one));
    const { tier } = saver;
    const list = tier.list;
    tier.list = async function* (query) {
      if (query.recordsOnly !== true) await tier.deleteThread(`${thread} 2`);
      yield* list.call(tier, query);
    };
    try {
      expect(await report()).toMatchObject({ runs: 0, tokens: { total: 0 } });
    } finally {
      tier.list = list;
    }
  });

  once(
    "two prompts in one run are both counted, and feedback is for both or for the one that is named",
    async () => {
      const { prompts, graph, name, question, on, thread, report } = await open();
      const one = await prompts.add(name, { template: "a" });
      const judge = await prompts.add(`${name} judge`, { template: "judge" });
      await graph.invoke(question(), on(thread, one, judge));
      const rated = await prompts.feedback(thread, { score: 1 });
      expect(rated.map((each) => each.name).toSorted()).toEqual([name, `${name} judge`]);
      await prompts.feedback(thread, { score: 0, by: "carl", prompt: name });
      expect(await report()).toMatchObject({ runs: 1, tokens: { total: 30 }, satisfaction: 0.5, ratings: 2 });
      const [judged] = await prompts.report(`${name} judge`);
      expect(judged).toMatchObject({ runs: 1, tokens: { total: 30 }, satisfaction: 1, ratings: 1 });
      const missing = prompts.feedback(thread, { score: 1, prompt: "other" });
      await expect(missing).rejects.toMatchObject({ code: "NOT_FOUND", data: { prompt: "other" } });
    },
  );

  once("feedback on an earlier turn is for the version that this turn used", async () => {
    const { prompts, graph, name, question, on, thread, report } = await open();
    const one = await prompts.add(name, { template: "a" });
    const two = await prompts.add(name, { template: "b" });
    await graph.invoke(question(), on(thread, one));
    const checkpointId = String((await graph.getState(on(thread))).config.configurable!["checkpoint_id"]);
    await graph.invoke(question(), on(thread, two));
    await prompts.feedback(thread, { score: 1 });
    await prompts.feedback(thread, { score: 0, checkpointId });
    expect([(await report()).satisfaction, (await report("2")).satisfaction]).toEqual([0, 1]);
  });

  once('under durability "exit", which stores one checkpoint per run, each run counts', async () => {
    const { prompts, graph, name, question, on, thread, report, mood } = await open();
    const one = await prompts.add(name, { template: "a" });
    const exit = { ...on(thread, one), durability: "exit" as const };
    for (let turn = 0; turn < 2; turn += 1) await graph.invoke(question(), exit);
    expect(await report()).toMatchObject({ runs: 2, succeeded: 2, tokens: { total: 60 } });
    mood.asks = true;
    await graph.invoke(question(), exit);
    expect(await report()).toMatchObject({ runs: 3, waiting: 1, tokens: { total: 75 } });
    await graph.invoke(new Command({ resume: "yes" }), exit);
    expect(await report()).toMatchObject({ runs: 3, succeeded: 3, tokens: { total: 90 } });
  });

  once("messages that a run removes from its state, and messages without ids, are counted", async () => {
    const { saver, prompts, name, on, thread, report } = await open();
    const one = await prompts.add(name, { template: "a" });
    const plain = { content: "ok", usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
    const graph = new StateGraph(State)
      .addNode("work", () => ({
        messages: [said("a"), said("b")],
        log: [plain, plain],
        big: "x".repeat(200),
      }))
      .addNode("forget", ({ messages }) => ({
        messages: messages.map(({ id }) => new RemoveMessage({ id: id! })),
        log: [plain],
      }))
      .addEdge(START, "work")
      .addEdge("work", "forget")
      .addEdge("forget", END)
      .compile({ checkpointer: saver });
    await graph.invoke({}, on(thread, one));
    expect((await report()).tokens.total).toBe(2 * 15 + 3 * 2);
    await graph.invoke({}, on(thread, one));
    expect((await report()).tokens.total).toBe(2 * (2 * 15 + 3 * 2));
  });

  once("messages of a DeltaChannel are counted, of each turn once", async () => {
    const { saver, prompts, name, on, thread, report } = await open();
    const one = await prompts.add(name, { template: "a" });
    const append = (messages: AIMessage[], more: readonly AIMessage[][]): AIMessage[] => [
      ...messages,
      ...more.flat(),
    ];
    const messages = () => new DeltaChannel<AIMessage[], AIMessage[]>(append, { snapshotFrequency: 1000 });
    const graph = new StateGraph(Annotation.Root({ messages }))
      .addNode("work", () => ({ messages: [said("a")] }))
      .addNode("more", () => ({ messages: [said("b")] }))
      .addEdge(START, "work")
      .addEdge("work", "more")
      .addEdge("more", END)
      .compile({ checkpointer: saver });
    for (let turn = 0; turn < 3; turn += 1) await graph.invoke({ messages: [] }, on(thread, one));
    expect(await report()).toMatchObject({ runs: 3, succeeded: 3, tokens: { total: 90 } });
  });

  test("only threads that used the prompt are read, and values only of its runs", async () => {
    const { saver, prompts, graph, name, question, on, thread, report } = await open();
    const one = await prompts.add(name, { template: "a" });
    for (let n = 0; n < 3; n += 1) await graph.invoke(question(), on(`${thread} ${n}`));
    await graph.invoke(question(), on(thread));
    await graph.invoke(question(), on(thread, one));
    await graph.invoke(question(), on(thread));
    const { tier } = saver;
    const [listed, yielded]: [string[], { threadId: string; values: boolean }[]] = [[], []];
    const list = tier.list;
    tier.list = async function* (query) {
      listed.push(String(query.threadId));
      for await (const each of list.call(tier, query)) {
        yielded.push({ threadId: each.record.threadId, values: query.recordsOnly !== true });
        yield each;
      }
    };
    try {
      expect(await report()).toMatchObject({ runs: 1, tokens: { total: 30 } });
    } finally {
      tier.list = list;
    }
    expect(new Set(yielded.map(({ threadId }) => threadId))).toEqual(new Set([thread]));
    expect(listed).toHaveLength(3);
    // The input, three steps, and the checkpoint before.
    expect(yielded.filter(({ values }) => values)).toHaveLength(5);
  });

  once("a text of 1 MB is kept, compared and filled in", async () => {
    const { prompts, name } = await open();
    const long = Array.from({ length: 30_000 }, (_, n) => `line ${n} of a long prompt 🦊\n`).join("");
    await prompts.add(name, { template: `${long}{question}` });
    await prompts.add(name, { template: `first\n${long}{question}!` });
    expect((await prompts.get(name)).render({ question: "why" })).toBe(`${long}why`);
    const { text } = await prompts.compare(name, "1", "2");
    expect(text.map(({ kind }) => kind)).toEqual(["added", "same", "removed", "added"]);
  });
});

test("runs of archived threads are counted", async () => {
  const tiers = { hot: [], warm: new MemoryTier(), cold: new MemoryTier() };
  const saver = new TieredSaver(
    { ...tiers, archiveAfter: "7d", pause: "0ms" },
    () => Date.now() + 30 * 86_400_000,
  );
  const prompts = createPrompts(createWorkspace(saver, "trip"), { checkpointer: saver });
  const one = await prompts.add("answer", { template: "a" });
  const graph = new StateGraph(State)
    .addNode("work", () => ({ messages: [said("done")] }))
    .addEdge(START, "work")
    .compile({ checkpointer: saver });
  await graph.invoke({}, { configurable: { thread_id: "t" }, metadata: one.metadata });
  const [before] = await prompts.report("answer");
  expect(before).toMatchObject({ runs: 1, succeeded: 1, tokens: { total: 15 } });
  expect(await saver.maintain()).toMatchObject({ steps: [{ what: "archive", done: true }] });
  expect(await prompts.report("answer")).toEqual([before]);
});

test("what is wrong is refused with the field's name", async () => {
  const saver = new TierSaver(new MemoryTier());
  const workspace = createWorkspace(saver, "trip");
  const prompts = createPrompts(workspace);
  const option = (field: string) => ({ code: "INVALID_OPTION", data: { field } });
  const address = (field: string) => ({ code: "INVALID_ADDRESS", data: { field } });
  const added = await prompts.add("__proto__", { template: "{constructor} and {a}" });
  const thrown = (field: string): unknown =>
    expect.objectContaining({ data: expect.objectContaining({ field }) as unknown });
  expect(() => added.render({ a: "x" })).toThrow(thrown("variables.constructor") as Error);
  expect(() => added.render({ a: {} as never, constructor: 1 })).toThrow(thrown("variables.a") as Error);
  const calls: [Promise<unknown>, object][] = [
    [prompts.get("unknown"), { code: "NOT_FOUND", data: { name: "unknown" } }],
    [prompts.get("__proto__", "2"), { code: "NOT_FOUND", data: { version: "2" } }],
    [prompts.get(""), address("name")],
    [prompts.get("x".repeat(501)), address("name")],
    [prompts.versions("unknown"), { code: "NOT_FOUND" }],
    [prompts.promote("__proto__", "7"), { code: "NOT_FOUND", data: { version: "7" } }],
    [prompts.rollback("unknown"), { code: "NOT_FOUND" }],
    [prompts.add("a", { template: "" }), option("template")],
    [prompts.add("a", { template: [] }), option("template")],
    [prompts.add("a", { template: "an open {" }), option("template")],
    [prompts.add("a", { template: "{__proto__}" }), option("template")],
    [prompts.add("a", { template: '{"json": 1}' }), option("template")],
    [prompts.add("a", { template: "half a fox \ud83e" }), option("template")],
    [prompts.add("a", { template: [{ role: "tool" as never, content: "x" }] }), option("template[0].role")],
    [prompts.add("a", { template: [{ role: "user", content: 1 as never }] }), option("template[0].content")],
    [prompts.add("a", { template: "x", feedback: "bad" as never }), option("feedback")],
    [prompts.add("a", { template: "x", feedback: [""] }), option("feedback[0]")],
    [prompts.add("a", { template: "x", parent: "1" }), { code: "NOT_FOUND" }],
    [prompts.report("__proto__"), option("checkpointer")],
    [prompts.report("__proto__", { limit: -1 }), option("limit")],
    [prompts.feedback("t", { score: 2 }), option("score")],
    [prompts.feedback("t", { score: Number.NaN }), option("score")],
    [prompts.feedback("t", { score: 1 }), option("checkpointer")],
    [
      createPrompts(workspace, { checkpointer: saver }).compare("__proto__", "1", "1", { by: "x" as never }),
      option("by"),
    ],
  ];
  for (const [call, error] of calls) await expect(call).rejects.toMatchObject(error);
  expect(await prompts.list()).toHaveLength(1);
  expect(() => createPrompts({} as never)).toThrow(thrown("workspace") as Error);
  expect(() => createPrompts(workspace, { checkpointer: {} as never })).toThrow(
    thrown("checkpointer") as Error,
  );
  const graph = new StateGraph(State)
    .addNode("work", () => ({}))
    .addEdge(START, "work")
    .compile({ checkpointer: saver });
  const config = {
    configurable: { thread_id: "t" },
    metadata: { "stratigraph:prompt:a": 7 },
    durability: "sync" as const,
  };
  await expect(graph.invoke({}, config)).rejects.toMatchObject({ code: "INVALID_OPTION" });
});
