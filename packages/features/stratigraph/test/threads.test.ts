// long file: one set of cases, on two storages
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import { createEmbedServer } from "@langchain/langgraph-api/experimental/embed";
import { Client } from "@langchain/langgraph-sdk";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { TieredSaver } from "@stratigraph/tiered";
import { createThreads, fork, PostgresSaver, type CreateThreadsOptions, type Threads } from "stratigraph";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRounds } from "../../../../test/rounds.ts";
import { waitUntil } from "../../../../test/servers/process.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";

/** What a message waits for before it is answered. */
const held = new Map<string, () => Promise<unknown>>();

/** Answers, after a question if the message asks for one. */
const builder = new StateGraph(MessagesAnnotation)
  .addNode("answer", async ({ messages }) => {
    const text = String(messages.at(-1)!.content);
    await held.get(text)?.();
    const suffix = text === "ask" ? ` ${String(interrupt("may I?"))}` : "";
    return {
      messages: [new AIMessage({ id: `re-${messages.at(-1)!.id}`, content: `re: ${text}${suffix}` })],
    };
  })
  .addEdge(START, "answer")
  .addEdge("answer", END);

/** A server, and a client that nobody here wrote. */
function server(saver: TierSaver, options: CreateThreadsOptions = {}) {
  const agent = builder.compile({ checkpointer: saver });
  const threads = createThreads(saver, options);
  const app = createEmbedServer({ graph: { agent } as never, checkpointer: saver as never, threads });
  const fetch = async (url: string | URL | Request, init?: RequestInit) =>
    await app.fetch(new Request(url, init));
  const client = new Client({
    apiUrl: "http://server",
    callerOptions: { fetch: fetch as never, maxRetries: 0 },
  });
  return { agent, threads, fetch, client };
}
type Server = ReturnType<typeof server>;

const said = (text: string, id?: string) => ({
  messages: [{ role: "user", content: text, ...(id && { id }) }],
});
const on = (thread_id: string) => ({ configurable: { thread_id } });
const textsOf = (state: { values: unknown }) =>
  ((state.values as { messages?: { content: string }[] }).messages ?? []).map(({ content }) => content);

async function run({ client }: Server, thread: string, input: unknown, more: object = {}): Promise<string[]> {
  const events: string[] = [];
  for await (const { event } of client.runs.stream(thread, "agent", { input: input as never, ...more }))
    events.push(event);
  expect(events).not.toContain("error");
  return events;
}

async function all(threads: Threads, more: object = {}) {
  const found = [];
  const search = { limit: 100, offset: 0, sortBy: "created_at", sortOrder: "asc", ...more } as const;
  for await (const { thread, total } of threads.search(search)) found.push({ ...thread, total });
  return found;
}

const storages = inRounds({ few: ["MemoryTier"], all: ["MemoryTier", "PostgreSQL"] });

describe.each(storages)("threads of LangGraph's embed server on %s", (name) => {
  let open: (options?: { threadTags?: string[] }) => TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => {
    if (name === "MemoryTier") {
      const tier = new MemoryTier();
      open = (options = {}) => new TierSaver(tier, options);
      close = async () => {};
      return;
    }
    const database = await freshDatabase();
    const opened: PostgresSaver[] = [];
    open = (options = {}) => {
      const saver = PostgresSaver.fromConnString(database.url, options);
      opened.push(saver);
      return saver;
    };
    await open().setup?.();
    close = async () => {
      for (const saver of opened) await saver.end();
      await database.drop();
    };
  });
  afterAll(() => close());

  test("a thread that was created, and never run, is there after a restart, and on another server", async () => {
    const made = await server(open()).client.threads.create({
      metadata: { title: "Trip", nested: { a: [1, null] } },
    });
    const after = server(open());
    const read = await after.client.threads.get(made.thread_id);
    expect(read).toEqual({ ...made, metadata: { title: "Trip", nested: { a: [1, null] } } });
    expect(Date.now() - Date.parse(read.created_at)).toBeLessThan(60_000);
    expect((await after.client.threads.getState(made.thread_id)).values).toEqual({});
    await run(after, made.thread_id, said("hello"));
    const third = server(open());
    expect((await third.client.threads.get(made.thread_id)).metadata).toMatchObject({
      title: "Trip",
      graph_id: "agent",
    });
    expect(textsOf(await third.client.threads.getState(made.thread_id))).toEqual(["hello", "re: hello"]);
    expect((await third.client.threads.get(made.thread_id)).created_at).toBe(made.created_at);
  });

  test("state, history, update, an answer and time travel, each on another of two servers", async () => {
    const [one, two] = [server(open()), server(open())];
    const { thread_id: id } = await one.client.threads.create();
    await run(one, id, said("ask", "q1"));
    expect((await two.client.threads.getState(id)).tasks[0]!.interrupts).toMatchObject([{ value: "may I?" }]);
    await run(two, id, undefined, { command: { resume: "yes" } });
    expect(textsOf(await one.client.threads.getState(id))).toEqual(["ask", "re: ask yes"]);
    const history = await one.client.threads.getHistory(id);
    expect(history).toHaveLength(3);
    const earlier = history.at(-1)!.checkpoint.checkpoint_id!;
    expect((await two.client.threads.getState(id, earlier)).next).toEqual(["__start__"]);
    await two.client.threads.updateState(id, { values: said("by hand", "h1"), asNode: "answer" });
    expect(textsOf(await one.client.threads.getState(id))).toHaveLength(3);
    await run(one, id, said("edited", "q1b"), { checkpointId: earlier });
    expect(textsOf(await two.client.threads.getState(id))).toEqual(["edited", "re: edited"]);
    const waiting = await one.client.runs.create(id, "agent", { input: said("more") });
    await one.client.runs.cancel(id, waiting.run_id);
    expect(textsOf(await two.client.threads.getState(id))).toHaveLength(2);
  });

  test("two runs at once on two servers: the history begins with the state that the thread has", async () => {
    const [one, two] = [server(open()), server(open())];
    const { thread_id: id } = await one.client.threads.create();
    await run(one, id, said("first"));
    // The newest ids are those of the run that loses.
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    let late: Promise<unknown> | undefined;
    await new Promise<void>((begun) => {
      held.set("late", async () => {
        begun();
        await ended;
      });
      late = run(two, id, said("late"));
    });
    await run(one, id, said("early"));
    end();
    await late;
    for (const { client } of [one, two, server(open())]) {
      const state = await client.threads.getState(id);
      expect(textsOf(state).at(-1)).toBe("re: early");
      const history = await client.threads.getHistory(id);
      expect(history[0]).toMatchObject({ checkpoint: state.checkpoint, values: state.values });
      const ids = history.map(({ checkpoint }) => checkpoint.checkpoint_id!);
      expect(ids.toSorted().at(-1)).not.toBe(state.checkpoint.checkpoint_id);
    }
  });

  test("the protocol of useStream: a run, an answer, and what another server knows afterwards", async () => {
    const [one, two] = [server(open()), server(open())];
    const id = crypto.randomUUID();
    const post = async (path: string, body: object, more: RequestInit = {}) =>
      await one.fetch(`http://server/threads/${id}/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        ...more,
      });
    const command = async (method: string, params: object) =>
      (await (await post("commands", { id: 1, method, params })).json()) as { type: string };
    const ending = new AbortController();
    const channels = ["lifecycle", "input", "values"];
    const events = await post("stream/events", { channels }, { signal: ending.signal });
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    const until = async (text: string): Promise<void> => {
      while (!seen.includes(text)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended before ${text}: ${seen}`);
        seen += value;
      }
      seen = "";
    };
    const started = await command("run.start", {
      assistant_id: "agent",
      input: said("ask"),
      metadata: { owner: "anna" },
    });
    expect(started).toMatchObject({ type: "success" });
    await until('"interrupted"');
    const state = await two.client.threads.getState(id);
    const question = state.tasks[0]!.interrupts[0] as { id: string };
    const answer = { namespace: [], interrupt_id: question.id, response: "yes" };
    expect(await command("input.respond", answer)).toMatchObject({ type: "success" });
    await until('"completed"');
    ending.abort();
    // The node completed. Its checkpoint follows.
    await waitUntil("the end of the run", async () => {
      const { next, values } = await two.client.threads.getState(id);
      return next.length === 0 && textsOf({ values }).at(-1) === "re: ask yes";
    });
    expect((await two.client.threads.get(id)).metadata).toEqual({
      owner: "anna",
      graph_id: "agent",
      assistant_id: "agent",
    });
  });

  test("search by metadata, a page at a time, in either order, with the number of all", async () => {
    const saver = open({ threadTags: ["user_id"] });
    const { client, threads } = server(saver);
    const ids: string[] = [];
    for (const n of [0, 1, 2, 3]) {
      const user_id = n % 2 === 0 ? "ann" : "bob";
      const { thread_id } = await client.threads.create({ metadata: { n, user_id, series: "s" } });
      ids.push(thread_id);
    }
    const found = async (more: object) => (await all(threads, more)).map(({ metadata }) => metadata["n"]);
    const series = { metadata: { series: "s" } };
    expect(await found(series)).toEqual([0, 1, 2, 3]);
    expect(await found({ ...series, sortOrder: "desc", limit: 2, offset: 1 })).toEqual([2, 1]);
    expect(await found({ ...series, offset: 9 })).toEqual([]);
    expect(await all(threads, { ...series, limit: 1 })).toMatchObject([{ total: 4 }]);
    expect(await found({ metadata: { user_id: "bob" } })).toEqual([1, 3]);
    expect(await found({ metadata: { user_id: "bob", n: 3 } })).toEqual([3]);
    expect(await found({ metadata: { user_id: "bo" } })).toEqual([]);
    // What it no longer is, isn't found, though the tag stays.
    await client.threads.update(ids[1]!, { metadata: { user_id: "cid" } });
    expect(await found({ metadata: { user_id: "bob" } })).toEqual([3]);
    expect(await found({ metadata: { user_id: "cid" } })).toEqual([1]);
    expect(await client.threads.search({ metadata: { user_id: "ann" }, sortOrder: "asc" })).toMatchObject([
      { thread_id: ids[0] },
      { thread_id: ids[2] },
    ]);
    // To delete all that a person said, threads without a run count too.
    const { threads: deleted } = await saver.deleteThreads({ tag: { user_id: "ann" } });
    expect(deleted.map(({ threadId }) => threadId).toSorted()).toEqual([ids[0], ids[2]].toSorted());
    expect(await found(series)).toEqual([1, 3]);
    await client.threads.update(ids[3]!, { metadata: { n: 30 } });
    expect(await found({ metadata: { n: 3 } })).toEqual([]);
    expect(await found({ metadata: { n: 30 } })).toEqual([30]);
    // Lists of threads that a graph knows don't have them.
    const listed = await saver.listThreads();
    expect(listed.threads.map(({ threadId }) => threadId)).not.toContain(ids[1]);
  });

  test("two servers change one thread at once: nothing is lost", async () => {
    const servers = [server(open()), server(open())];
    const { thread_id: id } = await servers[0]!.client.threads.create();
    const changes = Array.from({ length: 10 }, (_, n) => ({ [`k${n}`]: n }));
    await Promise.all(changes.map((metadata, n) => servers[n % 2]!.client.threads.update(id, { metadata })));
    expect((await servers[0]!.client.threads.get(id)).metadata).toEqual(Object.assign({}, ...changes));
    // A server that couldn't read a thread creates it. Nor is anything lost then.
    await servers[1]!.threads.set(id, { kind: "put", metadata: { graph_id: "agent" } });
    expect((await servers[0]!.client.threads.get(id)).metadata).toMatchObject({ k0: 0, graph_id: "agent" });
  });

  test("a deleted thread is gone everywhere, and may begin anew", async () => {
    const [one, two] = [server(open()), server(open())];
    const { thread_id: id } = await one.client.threads.create({ metadata: { a: 1 } });
    await run(one, id, said("hello"));
    await two.client.threads.delete(id);
    await two.client.threads.delete(id);
    for (const call of [
      () => one.client.threads.get(id),
      () => one.client.threads.update(id, { metadata: { b: 1 } }),
      () => one.client.threads.getState(id),
      () => one.client.threads.getHistory(id),
      () => run(one, id, said("more")),
    ])
      await expect(call()).rejects.toMatchObject({ status: 404 });
    expect((await all(two.threads)).map(({ thread_id }) => thread_id)).not.toContain(id);
    await two.client.threads.create({ threadId: id, metadata: { c: 1 } });
    expect((await one.client.threads.get(id)).metadata).toEqual({ c: 1 });
    expect((await one.client.threads.getState(id)).values).toEqual({});
    await run(one, id, said("anew"));
    expect(textsOf(await two.client.threads.getState(id))).toEqual(["anew", "re: anew"]);
  });

  test("a fork and a copy are threads of the same graph; a fork is new", async () => {
    const saver = open();
    const { client, threads, ...one } = server(saver);
    const { thread_id: id, created_at } = await client.threads.create({ metadata: { title: "Trip" } });
    await run({ client, threads, ...one }, id, said("hello", "m1"));
    const { threadId } = await fork(saver, id, { message: "m1" });
    const forked = await client.threads.get(threadId);
    expect(forked.metadata).toMatchObject({ title: "Trip", graph_id: "agent" });
    expect(forked.created_at > created_at).toBe(true);
    expect(textsOf(await client.threads.getState(threadId))).toEqual([]);
    const copy = crypto.randomUUID();
    await saver.copyThread(id, copy);
    expect(textsOf(await client.threads.getState(copy))).toEqual(["hello", "re: hello"]);
  });

  test("threads that no server began are shown as those of the graph that is named", async () => {
    const saver = open();
    const { agent, client, threads } = server(saver, { graph: "agent" });
    const id = crypto.randomUUID();
    await agent.invoke({ messages: [new HumanMessage("before")] }, on(id));
    expect(textsOf(await client.threads.getState(id))).toEqual(["before", "re: before"]);
    const found = await all(threads, { metadata: { graph_id: "agent" }, sortBy: "updated_at" });
    expect(found.at(-1)!.thread_id).toBe(id);
    await client.threads.update(id, { metadata: { title: "Old" } });
    expect((await server(saver).client.threads.get(id)).metadata).toEqual({
      graph_id: "agent",
      title: "Old",
    });
  });
});

test("metadata is encrypted, archived and brought back with its thread", async () => {
  const key = new Uint8Array(32).fill(7);
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const month = 30 * 86_400_000;
  const saver = new TieredSaver(
    {
      warm,
      cold,
      archiveAfter: "7d",
      pause: "0ms",
      threadTags: ["user_id"],
      encryption: { keys: { k1: key }, activeKey: "k1", hashKey: key },
    },
    () => Date.now() + month,
  );
  const one = server(saver);
  const { thread_id: id } = await one.client.threads.create({
    metadata: { user_id: "anna", secret: "pear" },
  });
  await run(one, id, said("hello"));
  const { steps } = await saver.maintain();
  expect(steps.filter(({ what }) => what === "archive")).not.toHaveLength(0);
  for (const tier of [warm, cold])
    for await (const { record } of tier.list({ threadId: id }))
      expect(Buffer.from(record.body).toString("latin1")).not.toContain("pear");
  expect(await all(one.threads, { metadata: { user_id: "anna" } })).toMatchObject([
    { thread_id: id, metadata: { secret: "pear" } },
  ]);
  expect(await all(one.threads, { metadata: { secret: "pear" } })).toHaveLength(1);
  await one.client.threads.update(id, { metadata: { title: "Trip" } });
  expect((await one.client.threads.get(id)).metadata).toMatchObject({ secret: "pear", title: "Trip" });
  expect(textsOf(await one.client.threads.getState(id))).toEqual(["hello", "re: hello"]);
});

test("a thread that is deleted while its metadata changes stays deleted, unless it is begun anew", async () => {
  const tier = new MemoryTier();
  const append = tier.append.bind(tier);
  let meanwhile: (() => Promise<void>) | undefined;
  tier.append = async (request) => {
    const first = meanwhile;
    meanwhile = undefined;
    await first?.();
    return await append(request);
  };
  const threads = createThreads(new TierSaver(tier));
  const id = crypto.randomUUID();
  const metadata = { graph_id: "agent" };
  await threads.set(id, { kind: "put", metadata });
  meanwhile = async () => await tier.deleteThread(id);
  const title = { metadata: { title: "Trip" } };
  await expect(threads.set(id, { kind: "patch", ...title })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(threads.get(id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  meanwhile = async () => await tier.deleteThread(id);
  await threads.set(id, { kind: "put", metadata });
  expect(await tier.threadTags(id)).toEqual([{ key: "graph_id", value: "agent" }]);
  expect(await threads.get(id)).toMatchObject({ metadata });
});

test("wrong arguments are refused", async () => {
  const saver = new TierSaver(new MemoryTier(), { threadTags: ["user_id"] });
  expect(() => createThreads({} as never)).toThrow(/checkpointer.*createCheckpointer/);
  expect(() => createThreads(saver, { graphId: "agent" } as never)).toThrow(/Write graph/);
  expect(() => createThreads(saver, { graph: "" })).toThrow(/graph/);
  const threads = createThreads(saver);
  const id = crypto.randomUUID();
  await expect(threads.get("")).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
  await expect(threads.set(id, { kind: "patch" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  const wrong = { kind: "put", metadata: { user_id: { name: "anna" } } } as const;
  await expect(threads.set(id, wrong)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(threads.get(id)).rejects.toMatchObject({ code: "NOT_FOUND" });
});
