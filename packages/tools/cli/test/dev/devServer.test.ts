// long file: one server, which takes a second to load, is asked by all of these tests
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint, MemorySaver as OfficialSaver } from "@langchain/langgraph-checkpoint";
import { Client } from "@langchain/langgraph-sdk";
import { Annotation, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { MemorySaver, MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import type { ThreadQuery } from "@stratigraph/core/tier";
import { readThrough, saverSource } from "@stratigraph/migrate";
import { TieredSaver } from "@stratigraph/tiered";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inFrontOf } from "../../../../../test/inFrontOf.ts";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { durableOps } from "../../src/dev/durableOps.ts";
import { findLangGraphApi, type LoadedApi } from "../../src/dev/langgraphApi.ts";
import { readLangGraphJson } from "../../src/dev/langgraphJson.ts";
import { OpsFile } from "../../src/dev/opsFile.ts";
import { Unawaited } from "../../src/dev/standIn.ts";
import { RunsUnderWay } from "../../src/dev/runsUnderWay.ts";
import { startDev, type RunningDev } from "../../src/dev/startDev.ts";
import { StoredThreads } from "../../src/dev/storedThreads.ts";
import { clientOf, DevProject } from "./support/devProject.ts";

// LangGraph's dev server on our storage, in this process, asked by LangGraph's own client. In dev.test.ts it is a process that is killed.

const env = { ...process.env };
const listeners = ["uncaughtException", "unhandledRejection"] as const;
const before = listeners.map((name) => process.listeners(name as "uncaughtException"));

let project: DevProject;
let saver: StubbornSaver;
let dev: RunningDev;
let client: Client;

beforeAll(async () => {
  project = await DevProject.make();
  saver = new StubbornSaver();
  await begin();
});

afterAll(async () => {
  await dev.close();
  await project.remove();
  // LangGraph's server changes the process that it is in.
  for (const [n, name] of listeners.entries())
    for (const listener of process.listeners(name as "uncaughtException"))
      if (!before[n]!.includes(listener)) process.off(name, listener);
  for (const name of ["LANGGRAPH_API_URL", "PORT", "NODE_ENV"])
    if (env[name] === undefined) delete process.env[name];
    else process.env[name] = env[name];
});

interface Held {
  readonly name: string;
  readonly thread: string;
  readonly until: Promise<void>;
  /** That of the call, once it has begun. */
  config: RunnableConfig | undefined;
  /** Which of them it is, counted down. */
  left: number;
}

/** Deletes nothing while it is told so, can't read one thread, and lets the first call of one kind of a thread wait. */
class StubbornSaver extends MemorySaver {
  refuses = false;
  unreadable: string | undefined;
  #held: Held | undefined;

  /** @returns lets the call go on, and waits until it has begun, or until its run was stopped */
  hold(name: "getTuple" | "put", thread: string, nth = 1) {
    let release!: () => void;
    const until = new Promise<void>((resolve) => (release = resolve));
    const held: Held = { name, thread, until, config: undefined, left: nth };
    this.#held = held;
    return {
      release,
      begun: () => waitUntil(`the ${name}`, () => Promise.resolve(held.config !== undefined)),
      stopped: () => waitUntil("the stop", () => Promise.resolve(held.config?.signal?.aborted === true)),
    };
  }

  async #wait(name: string, config: RunnableConfig): Promise<void> {
    const held = this.#held;
    if (held === undefined || held.name !== name || config.configurable?.["thread_id"] !== held.thread)
      return;
    held.left -= 1;
    if (held.left > 0) return;
    this.#held = undefined;
    held.config = config;
    await held.until;
  }

  override async put(...args: Parameters<MemorySaver["put"]>) {
    await this.#wait("put", args[0]);
    return await super.put(...args);
  }

  override async getTuple(config: RunnableConfig) {
    await this.#wait("getTuple", config);
    if (config.configurable?.["thread_id"] === this.unreadable && this.unreadable !== undefined)
      throw new StratigraphError("CORRUPT", "unreadable");
    return await super.getTuple(config);
  }

  override async deleteThread(threadId: string): Promise<void> {
    if (this.refuses) throw new StratigraphError("UNAVAILABLE", "not now");
    await super.deleteThread(threadId);
  }
}

const Said = Annotation.Root({
  said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

async function begin(): Promise<void> {
  const { folder } = project;
  const api = { ...findLangGraphApi(folder), prepare: () => Promise.resolve() };
  const json = await readLangGraphJson(folder);
  dev = await startDev({ api, json, saver, port: 0, host: "127.0.0.1", quiet: true, workers: 100 });
  client = clientOf(dev.url);
}

const headOf = async (thread: string) => (await saver.tier.peek({ threadId: thread, namespace: "" })).head;
/** Runs the graph. LangGraph's own `wait` takes half a second more. */
const run = async (thread: string, input: object | null, more: object = {}, assistant = "agent") => {
  const { run_id } = await client.runs.create(thread, assistant, {
    input: input as Record<string, unknown>,
    ...more,
  });
  const ended = async () => {
    const { status } = await client.runs.get(thread, run_id);
    return status === "pending" || status === "running" ? undefined : status;
  };
  expect(await waitUntil("the run", ended)).toBe("success");
  return (await client.threads.getState(thread)).values;
};
const ran = async (...said: string[]): Promise<string> => {
  const { thread_id: thread } = await client.threads.create();
  await run(thread, { said });
  return thread;
};
const unlocked = { check: () => undefined };
const openedFile = (...[folder, api]: [string, LoadedApi]) => OpsFile.open(folder, api, unlocked);
/** What a server has that isn't started, with a file of its own. */
const ownOps = async (name: string) => {
  const folder = join(project.folder, name);
  const api = await findLangGraphApi(project.folder).load();
  const file = await openedFile(folder, api);
  const unawaited = new Unawaited();
  const stored = new StoredThreads(saver, file, new api.FileSystemOps(file), ["agent"], api);
  return {
    api,
    file,
    folder,
    stored,
    ops: durableOps(api, file, stored, unawaited, new RunsUnderWay(unlocked)),
  };
};
/** Begins a run whose first call of a kind waits. */
const heldRun = async (name: "getTuple" | "put", input: object) => {
  const { thread_id: thread } = await client.threads.create();
  const held = saver.hold(name, thread);
  const { run_id } = await client.runs.create(thread, "agent", { input: input as Record<string, unknown> });
  await held.begun();
  return { thread, run_id, ...held };
};
const listed = async (thread: string): Promise<boolean> =>
  (await client.threads.search({ limit: 1000 })).some(({ thread_id }) => thread_id === thread);
const lockFile = () => join(project.folder, ".langgraph_api", "stratigraph.lock");
const opsFile = () => join(project.folder, ".langgraph_api", ".langgraphjs_ops.json");

test("runs, state, history, search, copies and deletions are those of our checkpointer, and items those of our store", async () => {
  const thread = await ran("hello");
  const said = ["hello", "first", "second"];
  const state = await client.threads.getState(thread);
  expect(state).toMatchObject({
    values: { said },
    next: [],
    checkpoint: { checkpoint_id: await headOf(thread) },
  });
  expect(Object.keys(state.metadata ?? {})).not.toContain("user-agent");
  expect(await client.threads.getHistory(thread)).toHaveLength(4);
  expect(await client.threads.search({ metadata: { graph_id: "agent" } })).toMatchObject([
    { thread_id: thread, status: "idle", values: { said } },
  ]);
  expect((await saver.listThreads({ tag: { graph_id: "agent" } })).threads).toMatchObject([
    { threadId: thread },
  ]);
  const item = await client.store.getItem(["seen"], "first");
  expect(item?.value).toEqual({ thread });
  expect((await saver.store().get(["seen"], "first"))?.value).toEqual({ thread });

  await client.threads.updateState(thread, { values: { said: ["by hand"] } });
  const { thread_id: copy } = await client.threads.copy(thread);
  expect((await client.threads.getState(copy)).values).toEqual({ said: [...said, "by hand"] });
  expect(await headOf(copy)).toBe(await headOf(thread));
  await client.threads.delete(copy);
  expect(await headOf(copy)).toBeUndefined();
  expect(await client.threads.search({ ids: [copy] })).toEqual([]);

  const [first] = await client.runs.list(thread);
  await client.runs.delete(thread, first!.run_id);
  const left = await client.threads.getHistory(thread);
  expect(left.map(({ metadata }) => metadata?.["source"])).toEqual(["update"]);
  expect(await readdir(join(project.folder, ".langgraph_api"))).not.toContainEqual(
    expect.stringMatching(/api\.(?:checkpointer|store)/),
  );
});

test("a thread that was never run can be copied and deleted", async () => {
  const { thread_id: thread } = await client.threads.create();
  const { thread_id: copy } = await client.threads.copy(thread);
  await client.threads.delete(copy);
  await client.threads.delete(thread);
  await expect(client.threads.get(thread)).rejects.toThrow("404");
});

test("a thread's id may begin anew after its deletion", async () => {
  const thread = await ran("before");
  await client.threads.delete(thread);
  await client.threads.create({ threadId: thread });
  expect(await run(thread, { said: ["anew"] })).toEqual({ said: ["anew", "first", "second"] });
});

test("a run whose thread is deleted is aborted, and ends its worker in no way", async () => {
  const { thread_id: thread } = await client.threads.create();
  await client.runs.create(thread, "agent", { input: { said: ["wait"] } });
  await waitUntil(
    "the second node",
    async () => (await client.threads.getState(thread)).next[0] === "second",
  );
  await client.threads.delete(thread);
  await waitUntil("the abort", () => existsSync(`${project.go}.aborted`));
  const { ops, file } = await ownOps("deleted");
  await ops.threads.setStatus(thread, {});
  await ops.runs.setStatus(randomUUID(), "success");
  // A run without a thread has one that is deleted when it ends. Here somebody else was quicker.
  const now = new Date();
  const temporary = { run_id: "a", thread_id: thread, kwargs: { temporary: true } };
  file.data.runs["a"] = { ...temporary, status: "success", created_at: now, updated_at: now };
  await ops.threads.delete(thread, undefined);
  await file.flush();
});

test("a stopped run has ended when what it did is stored: the next message comes after it", async () => {
  const { thread, run_id, release, stopped } = await heldRun("put", { said: ["one"] });
  const next = client.runs.create(thread, "agent", {
    input: { said: ["two"] },
    multitaskStrategy: "interrupt",
  });
  await waitUntil("the next run", async () => (await client.runs.list(thread)).length === 2);
  await stopped();
  expect(await client.runs.get(thread, run_id)).toMatchObject({ status: "running" });
  release();
  const { run_id: second } = await next;
  expect(await client.runs.get(thread, run_id)).toMatchObject({ status: "interrupted" });
  await waitUntil("its end", async () => (await client.runs.get(thread, second)).status === "success");
  const { values, next: left } = await client.threads.getState(thread);
  const { said } = values as { said: string[] };
  expect(said.filter((each) => ["one", "two"].includes(each))).toEqual(["one", "two"]);
  expect([said.slice(-3), left]).toEqual([["two", "first", "second"], []]);
  expect(await saver.conflicts(thread)).toEqual([]);
});

test("what a stopped run was given stays, though nothing of it was stored, and no node begins; who looks meanwhile sees it", async () => {
  const { thread, run_id, release, stopped } = await heldRun("getTuple", { said: ["one"] });
  const cancelled = client.runs.cancel(thread, run_id);
  const seen = cancelled.then(() => client.threads.getState(thread));
  await stopped();
  release();
  expect(await seen).toMatchObject({ values: { said: ["one"] }, next: ["first"] });
  expect(await client.runs.get(thread, run_id)).toMatchObject({ status: "interrupted" });
  expect(await run(thread, { said: ["two"] })).toEqual({ said: ["one", "two", "first", "second"] });
});

test("what a stopped run was given is in its thread once, whatever others did to the thread meanwhile", async () => {
  const app = new StateGraph(Said)
    .addNode("first", () => ({ said: ["first"] }))
    .addNode("second", () => ({ said: ["second"] }))
    .addEdge("__start__", "first")
    .addEdge("first", "second")
    .compile({ checkpointer: saver });
  type Other = (config: RunnableConfig) => Promise<unknown>;
  const nothing: Other = () => Promise.resolve();
  const updates: Other = (config) => app.updateState(config, { said: ["note"] });
  const runs: Other = (config) => app.invoke({ said: ["note"] }, config);
  const goesBack: Other = async (config) => {
    const [first] = (await client.threads.getHistory(config.configurable!["thread_id"] as string)).slice(-1);
    await app.updateState(
      { configurable: { ...config.configurable, ...first!.checkpoint } },
      { said: ["back"] },
    );
  };
  const said = async (thread: string) =>
    ((await client.threads.getState(thread)).values as { said: string[] }).said;
  const stoppedIn = async (other: Other, more: object = {}) => {
    const { thread_id: thread } = await client.threads.create();
    const { run_id } = await client.runs.create(thread, "agent", {
      input: { said: ["wait", "PAY"] },
      ...more,
    });
    await waitUntil(
      "the second node",
      async () => (await client.threads.getState(thread)).next[0] === "second",
    );
    await other({ configurable: { thread_id: thread, graph_id: "agent" } });
    await Promise.all([client.runs.cancel(thread, run_id, true), client.runs.cancel(thread, run_id, true)]);
    await client.runs.cancel(thread, run_id).catch(() => undefined);
    expect(await client.runs.get(thread, run_id)).toMatchObject({ status: "interrupted" });
    const left = await said(thread);
    await client.threads.delete(thread);
    return left;
  };
  expect(await stoppedIn(nothing)).toEqual(["wait", "PAY", "first"]);
  expect(await stoppedIn(updates)).toEqual(["wait", "PAY", "first", "note"]);
  expect(await stoppedIn(runs)).toEqual(["wait", "PAY", "first", "note", "first", "second"]);
  // A person went back to where it hadn't been said.
  expect(await stoppedIn(goesBack)).not.toContain("PAY");
});

test("what a stopped run was given, and is stored as an input alone, stands once; another's is left to its run", async () => {
  const app = new StateGraph(Said)
    .addNode("first", () => ({ said: ["of the app"] }))
    .addEdge("__start__", "first")
    .compile({ checkpointer: saver });
  const said = async (thread: string) =>
    ((await client.threads.getState(thread)).values as { said: string[] }).said;
  for (const updates of [false, true]) {
    const { thread_id: thread } = await client.threads.create();
    const held = saver.hold("put", thread, 2);
    const { run_id } = await client.runs.create(thread, "agent", { input: { said: ["wait", "PAY"] } });
    await held.begun();
    const config = { configurable: { thread_id: thread, graph_id: "agent" } };
    if (updates) await app.updateState(config, { said: ["note"] }, "first");
    const cancelled = client.runs.cancel(thread, run_id, true);
    await held.stopped();
    held.release();
    await cancelled;
    const left = await said(thread);
    expect(left.filter((each) => each === "PAY" || each === "note")).toEqual(
      updates ? ["PAY", "note"] : ["PAY"],
    );
    await client.threads.delete(thread);
  }
  const { thread_id: thread } = await client.threads.create();
  const { run_id } = await client.runs.create(thread, "agent", { input: { said: ["wait"] } });
  await waitUntil(
    "the second node",
    async () => (await client.threads.getState(thread)).next[0] === "second",
  );
  // An application's run has just stored its input.
  const at = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  const history = await client.threads.getHistory(thread);
  const { checkpoint: its } = history.find(({ metadata }) => metadata?.["source"] === "input")!;
  const { checkpoint } = (await saver.getTuple({
    configurable: { ...at.configurable, checkpoint_id: its.checkpoint_id },
  }))!;
  const input = { ...checkpoint, id: emptyCheckpoint().id };
  const on = { configurable: { ...at.configurable, checkpoint_id: (await headOf(thread))! } };
  await saver.put(on, input, { source: "input", step: 3, parents: {} }, input.channel_versions);
  await client.runs.cancel(thread, run_id, true);
  expect(await headOf(thread)).toBe(input.id);
  expect(await saver.conflicts(thread)).toEqual([]);
  await client.threads.delete(thread);
});

test("a thread that another process deleted doesn't begin anew when its run is stopped", async () => {
  const { thread, release } = await heldRun("getTuple", { said: ["secret"] });
  await saver.deleteThread(thread);
  const closed = dev.close();
  release();
  await closed;
  expect(await headOf(thread)).toBeUndefined();
  await begin();
});

test("a second server of a folder is refused, and one that wakes up after another took its file over stores nothing and ends", async () => {
  const others = dev;
  const refused = expect.objectContaining({
    code: "LOCKED",
    message: expect.stringMatching(/\.langgraph_api open already\. One dev server .*--langgraph/) as string,
    data: { folder: join(project.folder, ".langgraph_api"), pid: process.pid },
  }) as Error;
  await expect(begin()).rejects.toThrow(refused);
  expect(dev).toBe(others);
  const { thread, release } = await heldRun("getTuple", { said: ["late"] });
  await client.assistants.create({ graphId: "agent", name: "in time" });
  const text = await readFile(opsFile(), "utf8");
  expect(text).toContain("in time");
  await writeFile(lockFile(), JSON.stringify({ pid: 4711, startedAt: "1", token: "of the next holder" }));
  const wakesUp = inFrontOf(Date, "now", (real) => () => real() + 61_000);
  try {
    await expect(client.assistants.create({ graphId: "agent", name: "late" })).rejects.toThrow("500");
    release();
    await dev.lost;
    await expect(dev.close()).rejects.toMatchObject({ code: "LOCKED", data: { pid: 4711 } });
  } finally {
    wakesUp();
  }
  expect(await headOf(thread)).toBeUndefined();
  expect(await readFile(opsFile(), "utf8")).toBe(text);
  // The next holder is gone.
  await begin();
  expect(await client.threads.get(thread)).toMatchObject({ status: "error" });
  await client.threads.delete(thread);
});

test("a run that is stopped before a worker takes it leaves what it was given, unless it waits behind another", async () => {
  const { ops, file } = await ownOps("pending");
  const [threadId, other] = [randomUUID(), randomUUID()];
  const pending = (thread_id: string, more: object = {}): string => {
    const [run_id, at] = [randomUUID(), new Date(0)];
    const config = { configurable: { thread_id, run_id, graph_id: "agent" }, metadata: {} };
    const kwargs = { input: { said: ["one"] }, config };
    const run = { run_id, thread_id, kwargs, status: "pending", created_at: at, updated_at: at, ...more };
    file.data.runs[run_id] = run;
    return run_id;
  };
  await ops.threads.put(threadId, {}, undefined);
  await ops.runs.cancel(threadId, [pending(threadId)], {}, undefined);
  expect(await saver.getTuple({ configurable: { thread_id: threadId } })).toMatchObject({
    checkpoint: { channel_values: { said: ["one"] } },
  });
  await ops.threads.put(other, {}, undefined);
  pending(other, { status: "running" });
  for (const more of [{ multitask_strategy: "enqueue" }, { created_at: new Date(Date.now() + 60_000) }])
    await ops.runs.cancel(other, [pending(other, more)], {}, undefined);
  expect(await headOf(other)).toBeUndefined();
  await saver.deleteThread(threadId);
  await file.flush();
});

test("a run that is rolled back is as if it had never been", async () => {
  const thread = await ran("one");
  const before = await client.threads.getHistory(thread);
  const cancelled = async (thread: string): Promise<void> => {
    const { run_id } = await client.runs.create(thread, "agent", { input: { said: ["wait"] } });
    await waitUntil(
      "the second node",
      async () => (await client.threads.getState(thread)).next[0] === "second",
    );
    await client.runs.cancel(thread, run_id, false, "rollback");
    await expect(client.runs.get(thread, run_id)).rejects.toThrow("404");
  };
  await cancelled(thread);
  expect(await client.threads.getHistory(thread)).toEqual(before);
  expect(await client.threads.get(thread)).toMatchObject({ status: "idle", values: before[0]!.values });
  // A thread of which nothing is left isn't deleted.
  const { thread_id: empty } = await client.threads.create();
  await cancelled(empty);
  expect(await headOf(empty)).toBeUndefined();
  expect(await client.threads.get(empty)).toMatchObject({ status: "idle" });
  expect(await listed(empty)).toBe(true);
});

test("a thread that is deleted while its run reads it doesn't come back", async () => {
  const { thread, release } = await heldRun("getTuple", { said: ["secret"] });
  const deletion = client.threads.delete(thread);
  await waitUntil("the deletion", async () => !(await listed(thread)));
  release();
  await deletion;
  await client.threads.create({ threadId: thread });
  expect(await run(thread, { said: ["anew"] })).toEqual({ said: ["anew", "first", "second"] });
});

test("a thread that others deleted isn't listed, nor counted, whether this server was up or down, and its values aren't kept", async () => {
  const [up, down] = [await ran("up"), await ran("down")];
  const { thread_id: never } = await client.threads.create({ metadata: { topic: "never run" } });
  const count = await client.threads.count();
  await saver.deleteThread(up);
  expect(await client.threads.count()).toBe(count - 1);
  const again = await ran("up");
  await saver.deleteThread(again);
  expect(await listed(again)).toBe(false);
  await dev.close();
  await saver.deleteThread(down);
  await begin();
  expect(await listed(down)).toBe(false);
  expect(await client.threads.search({ metadata: { topic: "never run" } })).toMatchObject([
    { thread_id: never },
  ]);
  await dev.close();
  const text = await readFile(opsFile(), "utf8");
  for (const thread of [up, again, down]) expect(text).not.toContain(thread);
  await begin();
});

test("a deletion that fails is no success, and the thread is still there", async () => {
  const thread = await ran("stay");
  saver.refuses = true;
  await expect(client.threads.delete(thread)).rejects.toThrow("500");
  saver.refuses = false;
  expect(await client.threads.search({ ids: [thread] })).toMatchObject([{ thread_id: thread }]);
  await client.threads.delete(thread);
  expect(await client.threads.search({ ids: [thread] })).toEqual([]);
});

test("an assistant is deleted with its threads, also those of an earlier process", async () => {
  const { assistant_id } = await client.assistants.create({ graphId: "agent", name: "short" });
  const { thread_id: thread } = await client.threads.create();
  await run(thread, { said: ["hello"] }, {}, assistant_id);
  await dev.close();
  const file = JSON.parse(await readFile(opsFile(), "utf8")) as {
    json: { threads: Record<string, unknown> };
  };
  expect(file.json.threads).toEqual({});
  await writeFile(opsFile(), JSON.stringify(file));
  await begin();
  await client.assistants.delete(assistant_id, { deleteThreads: true });
  expect(await headOf(thread)).toBeUndefined();
  expect(await client.threads.search({ ids: [thread] })).toEqual([]);
});

test("a thread that readThrough finds elsewhere is there when somebody asks for it", async () => {
  const [elsewhere, thread] = [new OfficialSaver(), randomUUID()];
  const old = { ...emptyCheckpoint(), channel_values: { said: ["before"] }, channel_versions: { said: 1 } };
  const config = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  await elsewhere.put(config, old, { source: "update", step: 0, parents: {} });
  readThrough(saver, saverSource(elsewhere));
  expect(await run(thread, { said: ["now"] })).toEqual({ said: ["before", "now", "first", "second"] });
});

test("a thread that can't be read doesn't hide the others", async () => {
  const [good, bad] = [await ran("good"), randomUUID()];
  const { checkpoint, metadata } = (await saver.getTuple({ configurable: { thread_id: good } }))!;
  await saver.put({ configurable: { thread_id: bad, checkpoint_ns: "" } }, checkpoint, metadata!);
  await dev.close();
  await rm(opsFile());
  saver.unreadable = bad;
  await begin();
  // Another one's name is damaged.
  const threads = saver.tier.threads.bind(saver.tier);
  vi.spyOn(saver.tier, "threads").mockImplementation(async function* (query) {
    const error = new StratigraphError("CORRUPT", "A thread's id can't be read", {});
    if (query.onDamaged === undefined) throw error;
    query.onDamaged(error);
    yield* threads(query);
  });
  const listed = (await client.threads.search({ metadata: { graph_id: "agent" } })).map(
    ({ thread_id }) => thread_id,
  );
  expect([listed.includes(good), listed.includes(bad)]).toEqual([true, false]);
  saver.unreadable = undefined;
  vi.restoreAllMocks();
  expect(await client.threads.search({ ids: [bad] })).toMatchObject([{ thread_id: bad, status: "idle" }]);
});

test("what one server says of a thread, the next answer of another one says: that it is there, its metadata, its status, its deletion", async () => {
  const { ops, file } = await ownOps("another");
  const [never, thread] = [randomUUID(), await ran("one")];
  await ops.threads.put(never, { metadata: { topic: "another", kept: 1 } }, undefined);
  const found = async (metadata: Record<string, unknown>) =>
    (await client.threads.search({ metadata })).map(({ thread_id }) => thread_id);
  const count = await client.threads.count({ metadata: { topic: "another" } });
  expect([await found({ topic: "another" }), count]).toEqual([[never], 1]);
  expect(await client.threads.get(never)).toMatchObject({ status: "idle", metadata: { kept: 1 } });
  // Each adds a key to what both have seen.
  await ops.threads.patch(never, { metadata: { by: "other" } }, undefined);
  await client.threads.update(never, { metadata: { of: "one", kept: 2 } });
  expect((await ops.threads.get(never, undefined)).metadata).toEqual({
    topic: "another",
    kept: 2,
    by: "other",
    of: "one",
  });
  await ops.threads.patch(thread, { metadata: { topic: "patched" } }, undefined);
  expect(await found({ topic: "patched" })).toEqual([thread]);
  // A run names the graph, and asks.
  await run(never, { said: ["ask"] });
  expect(await ops.threads.get(never, undefined)).toMatchObject({
    status: "interrupted",
    metadata: { graph_id: "agent", kept: 2 },
  });
  const copied = await ops.threads.copy(never, undefined);
  expect(await found({ topic: "another", kept: 2 })).toHaveLength(2);
  await client.threads.delete(copied.thread_id);
  await expect(ops.threads.get(copied.thread_id, undefined)).rejects.toThrow("not found");
  const { thread_id: deleted } = await client.threads.create();
  expect(await ops.threads.get(deleted, undefined)).toMatchObject({ status: "idle" });
  await client.threads.delete(deleted);
  await expect(ops.threads.patch(deleted, { metadata: { a: 1 } }, undefined)).rejects.toThrow("not found");
  expect(await headOf(deleted)).toBeUndefined();
  for (const each of [never, thread]) await saver.deleteThread(each);
  await expect(client.threads.get(never)).rejects.toThrow("404");
  await file.flush();
});

test("a run whose thread another process deletes is stopped, and gone with it", async () => {
  const { thread_id: thread } = await client.threads.create();
  const { run_id } = await client.runs.create(thread, "agent", { input: { said: ["wait"] } });
  await waitUntil(
    "the second node",
    async () => (await client.threads.getState(thread)).next[0] === "second",
  );
  await rm(`${project.go}.aborted`, { force: true });
  await saver.deleteThread(thread);
  await expect(client.runs.get(thread, run_id)).rejects.toThrow("404");
  expect(await listed(thread)).toBe(false);
  await waitUntil("the abort", () => existsSync(`${project.go}.aborted`));
  expect(await headOf(thread)).toBeUndefined();
});

test("what the storage refuses of a thread isn't said of it", async () => {
  const { thread_id: thread } = await client.threads.create({ metadata: { a: 1 } });
  const tier = saver.tier as MemoryTier;
  const append = tier.append.bind(tier);
  tier.append = () => Promise.reject(new StratigraphError("UNAVAILABLE", "not now"));
  const [fresh, { runs }] = [randomUUID(), client];
  try {
    await expect(client.threads.create({ threadId: fresh })).rejects.toThrow("500");
    await expect(client.threads.update(thread, { metadata: { a: 2 } })).rejects.toThrow("500");
    await expect(runs.create(thread, "agent", { input: { said: [] } })).rejects.toThrow("500");
    await expect(runs.create(null, "agent", { input: { said: [] } })).rejects.toThrow("500");
  } finally {
    tier.append = append;
  }
  await expect(client.threads.get(fresh)).rejects.toThrow("404");
  expect(await client.threads.get(thread)).toMatchObject({ status: "idle", metadata: { a: 1 } });
  expect(await client.runs.list(thread)).toEqual([]);
});

test("a request can't empty the storage", async () => {
  const thread = await ran("keep");
  await client.store.putItem(["kept"], "a", { text: "b" });
  for (const what of ["checkpointer", "store"]) {
    const answer = await fetch(`${dev.url}/internal/truncate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ [what]: true }),
    });
    expect(answer.status).toBe(500);
  }
  expect(await headOf(thread)).toBeDefined();
  expect(await client.store.getItem(["kept"], "a")).toBeDefined();
});

test("threads of other processes are listed with their graph, whatever their ids; LangGraph's API can show UUIDs alone", async () => {
  const from = await ran("elsewhere", "ask");
  const [byApp, odd] = [randomUUID(), "user-42"];
  for (const to of [byApp, odd]) await saver.copyThread(from, to);
  const listed = await client.threads.search({ status: "interrupted", metadata: { graph_id: "agent" } });
  expect(listed.map(({ thread_id }) => thread_id)).toContain(byApp);
  expect(listed.map(({ thread_id }) => thread_id)).not.toContain(odd);
  expect(listed.find(({ thread_id }) => thread_id === byApp)).toMatchObject({
    values: { said: ["elsewhere", "ask", "first"] },
    metadata: { graph_id: "agent" },
  });
  expect(await client.threads.count({ status: "interrupted" })).toBe(2);
  const done = await ran("done");
  await saver.deleteThread(byApp);
  await expect(client.threads.get(byApp)).rejects.toThrow("404");
  await saver.deleteThread(from);
  const app = randomUUID();
  await saver.copyThread(done, app);
  const said = ["done", "first", "second", "again", "first", "second"];
  expect(await run(app, { said: ["again"] })).toEqual({ said });
  await saver.deleteThread(odd);
});

test("a question that another process asks is shown, though the thread was looked at before, at the same checkpoint", async () => {
  const from = await ran("ask");
  const { checkpoint, metadata, pendingWrites } = (await saver.getTuple({
    configurable: { thread_id: from },
  }))!;
  const thread = randomUUID();
  const config = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  const at = await saver.put(config, checkpoint, metadata!);
  expect(await client.threads.get(thread)).toMatchObject({ status: "interrupted", interrupts: {} });
  for (const [taskId, channel, value] of pendingWrites!)
    await saver.putWrites(at, [[channel, value]], taskId);
  const asked = Object.values((await client.threads.get(thread)).interrupts);
  expect(asked).toMatchObject([[{ value: "May I?" }]]);
  await saver.deleteThread(thread);
  await saver.deleteThread(from);
});

test("after a kill in the midst of a run the thread shows where it stopped, and goes on when it is asked", async () => {
  const { thread_id: thread } = await client.threads.create({ metadata: { topic: "kill" } });
  const { run_id } = await client.runs.create(thread, "agent", { input: { said: ["wait"] } });
  await waitUntil(
    "the second node",
    async () => (await client.threads.getState(thread)).next[0] === "second",
  );
  expect(await client.threads.search({ metadata: { topic: "kill" } })).toMatchObject([{ status: "busy" }]);
  // The file as a kill leaves it. Closing writes another one.
  const kept = `${project.folder}-killed`;
  await cp(project.folder, kept, { recursive: true, verbatimSymlinks: true });
  await dev.close();
  expect(await readFile(join(kept, ".langgraph_api/.langgraphjs_ops.json"), "utf8")).toContain(run_id);
  await cp(join(kept, ".langgraph_api"), join(project.folder, ".langgraph_api"), { recursive: true });
  // It names this process, which wasn't killed.
  await rm(lockFile());
  await rm(kept, { recursive: true });
  await begin();

  expect(await client.runs.get(thread, run_id)).toMatchObject({ status: "interrupted" });
  const [listed] = await client.threads.search({ metadata: { topic: "kill" } });
  expect(listed).toMatchObject({
    thread_id: thread,
    status: "interrupted",
    values: { said: ["wait", "first"] },
  });
  expect(await client.threads.getState(thread)).toMatchObject({ next: ["second"] });
  await writeFile(project.go, "");
  expect(await run(thread, null)).toEqual({
    said: ["wait", "first", "second"],
  });
  expect(await client.threads.get(thread)).toMatchObject({ status: "idle" });
});

test("without the server's file, or with one that was cut off, threads are listed, with what was said of them, and can be answered", async () => {
  const { thread_id: thread } = await client.threads.create({ metadata: { topic: "no file" } });
  await run(thread, { said: ["ask"] });
  await dev.close();
  // Values may be encrypted in the storage.
  const text = await readFile(opsFile(), "utf8");
  expect(text).toContain(thread);
  expect(JSON.parse(text).json.threads).toEqual({});
  await writeFile(opsFile(), text.slice(0, -100));
  await begin();

  const names = await readdir(join(project.folder, ".langgraph_api"));
  expect(names.find((name) => name.includes("unreadable"))).toBeDefined();
  const [listed] = await client.threads.search({ metadata: { topic: "no file" } });
  expect(listed).toMatchObject({
    thread_id: thread,
    status: "interrupted",
    metadata: { graph_id: "agent" },
    interrupts: { [Object.keys(listed!.interrupts)[0]!]: [{ value: "May I?" }] },
  });
  expect(await run(thread, null, { command: { resume: "yes" } })).toEqual({ said: ["ask", "first", "yes"] });
});

test("a run whose node failed is shown as failed, also after a start", async () => {
  await expect(ran("fail")).rejects.toThrow("error");
  const failed = async () => await client.threads.search({ status: "error" });
  const [live] = await failed();
  await dev.close();
  await begin();
  expect((await failed()).map(({ thread_id }) => thread_id)).toEqual([live!.thread_id]);
});

test("a run that began counts as begun, whenever the process is killed: its input isn't given twice, and isn't kept in the file", async () => {
  const { api, ops, file, folder } = await ownOps("queue");
  const [thread_id, run_id] = [randomUUID(), randomUUID()];
  const before = new Date(0);
  await ops.threads.put(thread_id, {}, undefined);
  const kwargs = {
    input: { said: ["large"] },
    command: { resume: "yes" },
    webhook: "https://a/?token=1",
    temporary: false,
  };
  const run = { run_id, thread_id, kwargs, created_at: before, updated_at: before };
  file.data.runs[run_id] = { ...run, status: "pending" };
  await file.flush();
  const waits = await openedFile(folder, api);
  expect(waits.data.runs[run_id]?.kwargs).toEqual(kwargs);
  for await (const begun of ops.runs.next()) {
    expect(begun).toMatchObject({ run: { kwargs } });
    const killed = await openedFile(folder, api);
    expect(killed.data.runs[run_id]).toMatchObject({ status: "interrupted" });
    expect(killed.data.runs[run_id]?.kwargs).toEqual({ temporary: false });
    break;
  }
});

test("what clients pass as headers, configurable and context, and what is asked, is never in the file, and comes out of an old one", async () => {
  const { thread_id: thread } = await client.threads.create();
  const held = saver.hold("put", thread);
  const secrets = { configurable: { key: "secret-key" } };
  const more = { config: secrets, context: { token: "secret-token" } };
  const own = new Client({
    apiUrl: dev.url,
    callerOptions: { maxRetries: 0 },
    defaultHeaders: { "x-key": "secret-header" },
  });
  const runs = [];
  for (const said of [["ask"], ["waits"]])
    runs.push(
      await own.runs.create(thread, "agent", { input: { said }, multitaskStrategy: "enqueue", ...more }),
    );
  await held.begun();
  const text = async () => await readFile(opsFile(), "utf8");
  expect(await text()).toContain("waits");
  expect(await text()).not.toContain("secret-");
  held.release();
  for (const { run_id } of runs) {
    await client.runs.join(thread, run_id);
    expect(await client.runs.get(thread, run_id)).toMatchObject({ kwargs: { config: secrets } });
  }
  await client.threads.update(thread, { metadata: { by: "name" } });
  expect(await text()).not.toMatch(/secret-|May I/);

  const { api, file, folder } = await ownOps("old");
  await file.flush();
  const old: typeof file.data = { ...file.data, threads: {}, runs: {} };
  const found = (await client.threads.get(thread)) as unknown as (typeof old.threads)[string];
  old.threads[thread] = { ...found, config: secrets, interrupts: { task: [{ value: "May I?" }] } };
  for (const run of await client.runs.list(thread))
    old.runs[run.run_id] = run as unknown as (typeof old.runs)[string];
  const oldFile = join(folder, ".langgraph_api", ".langgraphjs_ops.json");
  await writeFile(oldFile, api.serialize(old));
  expect(await readFile(oldFile, "utf8")).toMatch(/secret-key[^]*May I|May I[^]*secret-key/);
  await openedFile(folder, api);
  expect(await readFile(oldFile, "utf8")).not.toMatch(/secret-|May I|"values":/);
  expect((await stat(oldFile)).mode & 0o777).toBe(0o600);
});

test("threads of an earlier version's file are in the storage after the start, but for those that were deleted", async () => {
  const { api, file, folder, stored } = await ownOps("earlier");
  const [never, deleted, waiting, app] = [randomUUID(), randomUUID(), randomUUID(), await ran("app")];
  const at = new Date(0);
  const threads = Object.fromEntries(
    [never, deleted, waiting].map((thread_id) => [
      thread_id,
      { thread_id, metadata: { topic: "old" }, created_at: at, updated_at: at, status: "idle" as const },
    ]),
  );
  const pending = (thread_id: string) => ({
    run_id: randomUUID(),
    thread_id,
    status: "pending",
    created_at: at,
    updated_at: at,
  });
  const runs = [waiting, deleted, app].map(pending);
  for (const run of runs) file.data.runs[run.run_id] = run;
  Object.assign(file.old.threads, threads);
  file.old.in_storage[deleted] = true;
  await file.flush();
  await stored.begin();
  expect(Object.keys(file.data.threads).sort()).toEqual([waiting, app].sort());
  expect(Object.keys(file.data.runs)).toEqual([runs[0]!.run_id, runs[2]!.run_id]);
  expect(await readFile(join(folder, ".langgraph_api/.langgraphjs_ops.json"), "utf8")).not.toContain("old");
  const found = await client.threads.search({ metadata: { topic: "old" } });
  expect(found.map(({ thread_id }) => thread_id).sort()).toEqual([never, waiting].sort());
  // A run that was cut off before it stored anything.
  Object.assign(file.data.runs[runs[0]!.run_id]!, { status: "running" });
  await file.flush();
  const again = await openedFile(folder, api);
  await new StoredThreads(saver, again, new api.FileSystemOps(again), ["agent"], api).begin();
  expect(await client.threads.get(waiting)).toMatchObject({ status: "error", metadata: { topic: "old" } });
  for (const thread of [never, waiting, app]) await saver.deleteThread(thread);
});

test("a run that waits for its turn when the process is killed has its assistant's settings after it; one that needs more fails", async () => {
  const { api, ops, file, folder } = await ownOps("kept");
  const assistant = {
    graph_id: "agent",
    config: { configurable: { style: "plain" } },
    context: { tone: "dry" },
  };
  const assistant_id = randomUUID();
  await ops.assistants.put(assistant_id, assistant, undefined);
  const put = async (kwargs: object) => {
    const [run_id, threadId] = [randomUUID(), randomUUID()];
    await ops.runs.put(
      run_id,
      assistant_id,
      { input: { said: [] }, ...kwargs },
      { threadId, ifNotExists: "create" },
      undefined,
    );
    return run_id;
  };
  const ids = [
    await put({ config: { configurable: { "user-agent": "node" } } }),
    await put({ config: { configurable: { "x-key": "of a person" } } }),
    await put({ context: { tone: "kind" } }),
  ];
  const { data } = await openedFile(folder, api);
  expect(ids.map((id) => data.runs[id]?.status)).toEqual(["pending", "error", "error"]);
  const { config, context } = data.runs[ids[0]!]!.kwargs!;
  expect({ config, context }).toMatchObject({
    config: { configurable: { style: "plain", graph_id: "agent" } },
    context: { tone: "dry" },
  });
  expect(file.data.runs[ids[1]!]).toMatchObject({
    status: "pending",
    kwargs: { config: { configurable: { "x-key": "of a person" } } },
  });
});

test("what was answered is in the file, however soon the process is killed", async () => {
  const { api, ops, folder } = await ownOps("soon");
  const after = async () => (await openedFile(folder, api)).data;
  const [other, assistant, run] = [randomUUID(), randomUUID(), randomUUID()];
  await ops.assistants.put(assistant, { graph_id: "agent" }, undefined);
  expect((await after()).assistants).toHaveProperty(assistant);
  await ops.assistants.patch(assistant, { name: "Bob" }, undefined);
  expect((await after()).assistants[assistant]).toMatchObject({ name: "Bob" });
  await ops.runs.put(run, assistant, {}, { threadId: other, ifNotExists: "create" }, undefined);
  expect((await after()).runs).toHaveProperty(run);
  await ops.runs.delete(run, other, undefined);
  expect((await after()).runs).toEqual({});
  await ops.assistants.delete(assistant, false, undefined);
  expect((await after()).assistants).toEqual({});
});

test("a run that began meanwhile isn't shown as interrupted", async () => {
  const { api, file } = await ownOps("meanwhile");
  const thread_id = await ran("ask");
  const plain = new api.FileSystemOps(file);
  const read = plain.threads.state.get.bind(plain.threads.state);
  const now = new Date();
  plain.threads.state.get = async (...args) => {
    const state = await read(...args);
    file.data.runs["a"] = { run_id: "a", thread_id, status: "running", created_at: now, updated_at: now };
    file.data.threads[thread_id]!.status = "busy";
    return state;
  };
  await new StoredThreads(saver, file, plain, ["agent"], api).find(thread_id);
  expect(file.data.threads[thread_id]).toMatchObject({ status: "busy", metadata: { graph_id: "agent" } });
  await file.flush();
});

test("a thread whose archive isn't open is shown as archived, without its old values, until it is open", async () => {
  const { api, file } = await ownOps("archived");
  const [warm, thread_id] = [new MemoryTier(), randomUUID()];
  const stack = new TieredSaver({ warm, cold: new MemoryTier() });
  await new StateGraph(MessagesAnnotation)
    .addNode("say", () => ({ messages: ["said"] }))
    .addEdge("__start__", "say")
    .compile({ checkpointer: stack })
    .invoke({ messages: ["asked"] }, { configurable: { thread_id } });
  await stack.tier.archiveThread!(thread_id, async () => undefined);
  const threads = (of: TierSaver) => new StoredThreads(of, file, new api.FileSystemOps(file), ["agent"], api);
  const old = { thread_id, created_at: new Date(), updated_at: new Date(), status: "idle" as const };
  for (const known of [undefined, { ...old, metadata: { color: "blue" }, values: { said: ["old"] } }]) {
    if (known !== undefined) file.data.threads[thread_id] = known;
    await threads(new TierSaver(warm)).search({});
    const archived = { "stratigraph:archived": true };
    expect(file.data.threads[thread_id]).toMatchObject({ metadata: archived, values: {} });
    expect(file.data.threads[thread_id]!.metadata).toEqual({
      ...(known?.metadata ?? { graph_id: "agent" }),
      ...archived,
    });
  }
  await threads(stack).find(thread_id);
  expect(file.data.threads[thread_id]!.metadata).toEqual({ color: "blue", graph_id: "agent" });
  await file.flush();
});

test("a search learns of as many threads as it shows, page by page, and of no more than 1,000", async () => {
  const thread = await ran("one of many");
  for (let n = 0; n < 230; n++) await saver.copyThread(thread, randomUUID());
  const { file, stored } = await ownOps("pages");
  const known = (): number => Object.keys(file.data.threads).length;
  await stored.search({ limit: 5 });
  expect(known()).toBe(100);
  await stored.search({ limit: 50, offset: 150 });
  expect(known()).toBe(200);
  await stored.search({ status: "idle" });
  expect(known()).toBeGreaterThan(230);
  let pages = 0;
  class Endless extends MemoryTier {
    override async *threads({ limit = 0 }: ThreadQuery) {
      pages += 1;
      const one = { threadId: "a", revision: 1, writtenAtMs: 0, evicted: false };
      yield* Array.from({ length: limit }, () => one);
    }
  }
  const { api } = await ownOps("endless");
  const never = new StoredThreads(
    new TierSaver(new Endless()),
    file,
    new api.FileSystemOps(file),
    ["agent"],
    api,
  );
  await never.search({ status: "idle" });
  expect(pages).toBe(10);
  await file.flush();
});
