// long file: one server, which takes a second to load, is asked after all of these stories
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Command, type StateSnapshot } from "@langchain/langgraph";
import type { Client } from "@langchain/langgraph-sdk";
import { compare } from "@stratigraph/branch";
import { MemorySaver } from "@stratigraph/core";
import { threadStatuses } from "@stratigraph/core/internal";
import { afterAll, beforeAll, expect, test } from "vitest";
import { randomNumbers } from "../../../../../test/bench/randomNumbers.ts";
import { inRounds } from "../../../../../test/rounds.ts";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { outcomeOf } from "../../../../features/workspace/src/prompts/runs.ts";
import { findLangGraphApi } from "../../src/dev/langgraphApi.ts";
import { readLangGraphJson } from "../../src/dev/langgraphJson.ts";
import { startDev, type RunningDev } from "../../src/dev/startDev.ts";
import { run } from "../operations/support/run.ts";
import { testContext } from "../operations/support/testContext.ts";
import { clientOf, DevProject } from "./support/devProject.ts";

// How a thread stands, said by each of our doors, after random stories: it is what LangGraph's own getState says.

/** Each step of its plan names what its nodes do: "q" asks, "f" fails unless it is mended, "." does nothing more. */
const does = `
import { Send } from "@langchain/langgraph";
const State = Annotation.Root({
  said: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  plan: Annotation(),
  at: Annotation(),
});
const last = globalThis[Symbol.for("standing")];
const act = (name, acts, { configurable }) => {
  const said = [];
  const [, task] = configurable.checkpoint_ns.split("|")[0].split(":");
  for (const each of acts) {
    last.set(task, each);
    if (each === "q") said.push(name + interrupt(name + said.length));
    if (each === "f" && configurable.mended !== true) throw new Error(name + " fails");
  }
  return { said: [...said, name] };
};
const step = ({ plan, at }) => plan[at - 1];
const node = (name) => (state, config) => act(name, step(state)[name], config);
const sub = new StateGraph(State).addNode("inner", node("sub")).addEdge(START, "inner").compile();
const due = (state, { configurable }) => {
  const now = step(state);
  if (now === undefined || (now.loop && configurable.mended === true)) return "__end__";
  if (now.loop) return ["head"];
  return [
    ...["a", "b", "sub"].filter((name) => name in now),
    ...(now.sends ?? []).map((acts, n) => new Send("sent", { acts, name: "sent" + n })),
  ];
};
export const builder = new StateGraph(State)
  .addNode("head", ({ plan, at }) => ({ at: plan[at - 1]?.loop ? at : at + 1 }))
  .addNode("a", node("a"))
  .addNode("b", node("b"))
  .addNode("sub", sub)
  .addNode("sent", ({ name, acts }, config) => act(name, acts, config))
  .addEdge(START, "head")
  .addConditionalEdges("head", due, ["a", "b", "sub", "sent", "head", "__end__"]);
for (const name of ["a", "b", "sub", "sent"]) builder.addEdge(name, "head");
`;

/** Its process is as good as killed after some checkpoints: what tasks wrote by then is stored. */
class KilledSaver extends MemorySaver {
  left = Infinity;

  override async put(...args: Parameters<MemorySaver["put"]>) {
    if (args[0].configurable?.["checkpoint_ns"] === "") this.left -= 1;
    if (this.left < 0) throw new Error("killed");
    return await super.put(...args);
  }
}

interface Compiled {
  invoke(input: unknown, config: object): Promise<unknown>;
  getState(config: object): Promise<StateSnapshot>;
  updateState(config: object, values: unknown, asNode: string): Promise<unknown>;
}

let project: DevProject;
let saver: KilledSaver;
let dev: RunningDev;
let client: Client;
/** Whether a task last asked or failed: getState tells of both. The server loads the graph once more. */
const last = new Map<string, string>();
Object.assign(globalThis, { [Symbol.for("standing")]: last });
let graph: Compiled;

const env = { ...process.env };
const listeners = ["uncaughtException", "unhandledRejection"] as const;
const before = listeners.map((name) => process.listeners(name as "uncaughtException"));

beforeAll(async () => {
  project = await DevProject.make({ does });
  saver = new KilledSaver();
  const { folder } = project;
  await project.write("langgraph.json", {
    graphs: { agent: "./graph.mjs:graph", other: "./graph.mjs:graph" },
  });
  const module = await import(pathToFileURL(join(folder, "graph.mjs")).href);
  graph = module.builder.compile({ checkpointer: saver });
  const api = { ...findLangGraphApi(folder), prepare: () => Promise.resolve() };
  const json = await readLangGraphJson(folder);
  dev = await startDev({ api, json, saver, port: 0, host: "127.0.0.1", quiet: true, workers: 100 });
  client = clientOf(dev.url);
});

afterAll(async () => {
  await dev.close();
  await project.remove();
  for (const [n, name] of listeners.entries())
    for (const listener of process.listeners(name as "uncaughtException"))
      if (!before[n]!.includes(listener)) process.off(name, listener);
  for (const name of ["LANGGRAPH_API_URL", "PORT", "NODE_ENV"])
    if (env[name] === undefined) delete process.env[name];
    else process.env[name] = env[name];
});

const configOf = (thread: string, mended = false) => ({
  configurable: { thread_id: thread, mended },
  recursionLimit: 8,
});

/** What LangGraph says: how the thread stands, its open questions, and whether a task failed. */
const oracle = async (thread: string) => {
  const { next, tasks } = await graph.getState(configOf(thread));
  const ended = tasks.filter(({ result }) => result !== undefined);
  const asks = ({ id, interrupts, error }: (typeof tasks)[number]) =>
    interrupts.length > 0 && (error === undefined || last.get(id) === "q");
  const asking = tasks.filter((task) => !ended.includes(task) && asks(task));
  const failed = tasks.some((task) => task.error !== undefined && !ended.includes(task) && !asks(task));
  const open = asking.flatMap(({ interrupts }) => interrupts);
  const due = next.length + tasks.length > 0;
  const status = open.length > 0 ? "waiting" : failed ? "failed" : due ? "interrupted" : "idle";
  return { status, open, failed, asking: asking.map(({ id }) => id) } as const;
};

const words = { waiting: "interrupted", failed: "failed", interrupted: "unfinished", idle: "finished" };
const ofPrompts = { waiting: "waiting", failed: "failed", interrupted: "unfinished", idle: "succeeded" };

/** What each of our doors says, in the oracle's words. `isError`: the server's last run failed, and nobody wrote since. */
const agree = async (thread: string, isError: boolean): Promise<string> => {
  const { status, open, failed, asking } = await oracle(thread);
  const listed: string[] = [];
  for (const each of threadStatuses) {
    const { threads } = await saver.listThreads({ status: each, limit: 1000 });
    if (threads.some(({ threadId }) => threadId === thread)) listed.push(each);
  }
  const context = testContext(saver);
  type Items = { items: { thread: string; status?: string; questions: unknown[] }[] };
  const threads = await run<Items>("threads", { status, search: thread }, context);
  const { items } = await run<Items>("inbox", {}, context);
  const questions = items.find((item) => item.thread === thread)?.questions.length ?? 0;
  const [compared] = (await compare(saver, [thread])).threads;
  const { head } = await saver.tier.peek({ threadId: thread, namespace: "" });
  let prompts: string | undefined;
  for await (const stored of saver.tier.list({ threadId: thread, namespace: "", checkpointId: head }))
    prompts = await outcomeOf(saver, stored);
  const ofServer = failed || isError ? "error" : status === "idle" ? "idle" : "interrupted";
  const found = await client.threads.search({ status: ofServer, limit: 1000 });
  const shown = await client.threads.get(thread);
  expect({
    listed,
    threads: threads.items.map((item) => item.thread),
    questions,
    compared: compared!.outcome,
    prompts,
    found: found.filter(({ thread_id }) => thread_id === thread).map((each) => each.status),
    shown: shown.status,
    interrupts: Object.keys(shown.interrupts).sort(),
  }).toEqual({
    listed: [status],
    threads: [thread],
    questions: open.length,
    compared: words[status],
    prompts: ofPrompts[status],
    found: [ofServer],
    shown: ofServer,
    interrupts: [...asking].sort(),
  });
  return status;
};

interface Ways {
  readonly byServer?: boolean;
  readonly mended?: boolean;
  readonly before?: readonly string[];
  /** How many checkpoints the application's run stores. */
  readonly left?: number;
}

/** Runs the graph, by the server or by an application. @returns whether the run failed at the server */
const go = async (
  thread: string,
  input: object | null,
  { byServer = true, mended = false, before = [], left = Infinity }: Ways = {},
): Promise<boolean> => {
  const isAnswer = input instanceof Command;
  if (!byServer) {
    const config = { ...configOf(thread, mended), interruptBefore: [...before] };
    saver.left = left;
    await graph.invoke(input, config).catch(() => undefined);
    saver.left = Infinity;
    return false;
  }
  const { run_id } = await client.runs.create(thread, "agent", {
    input: isAnswer ? null : (input as Record<string, unknown> | null),
    ...(isAnswer ? { command: { resume: input.resume } } : {}),
    ...(before.length === 0 ? {} : { interruptBefore: [...before] }),
    config: { configurable: { mended }, recursion_limit: 8 },
  });
  return await waitUntil("the run", async () => {
    const { status } = await client.runs.get(thread, run_id);
    const isOver = status !== "pending" && status !== "running";
    return isOver && (await client.threads.get(thread)).status !== "busy"
      ? { failed: status === "error" }
      : undefined;
  }).then(({ failed }) => failed);
};

const begun = async (...plan: object[]): Promise<string> => {
  const { thread_id: thread } = await client.threads.create();
  await go(thread, { at: 0, plan });
  return thread;
};
const answer = async (thread: string, ways?: Ways): Promise<boolean> => {
  const [first] = (await oracle(thread)).open;
  return await go(thread, new Command({ resume: { [first!.id!]: "!" } }), ways);
};

test("a thread that waits for the second question of a node is interrupted, and found", async () => {
  const thread = await begun({ a: "qq" });
  await answer(thread);
  expect(await agree(thread, false)).toBe("waiting");
  await answer(thread);
  expect(await agree(thread, false)).toBe("idle");
});

test("with several graphs, a thread of an application is of the one that its run names; one without is found by its status", async () => {
  const input = { at: 0, plan: [{ a: "q" }] };
  const [unnamed, inConfigurable, inMetadata] = [randomUUID(), randomUUID(), randomUUID()];
  const on = (thread: string, named: object = {}) => ({ configurable: { thread_id: thread, ...named } });
  await graph.invoke(input, on(unnamed));
  await graph.invoke(input, on(inConfigurable, { graph_id: "other" }));
  await graph.invoke(input, { ...on(inMetadata), metadata: { graph_id: "other" } });
  const found = async (metadata: Record<string, string>) =>
    (await client.threads.search({ status: "interrupted", metadata, limit: 1000 })).map(
      ({ thread_id }) => thread_id,
    );
  expect(await found({})).toEqual(expect.arrayContaining([unnamed, inConfigurable, inMetadata]));
  expect((await found({ graph_id: "other" })).toSorted()).toEqual([inConfigurable, inMetadata].toSorted());
  for (const thread of [inConfigurable, inMetadata]) {
    expect(await agree(thread, false)).toBe("waiting");
    expect(await client.threads.getState(thread)).toMatchObject({ next: ["a"] });
  }
  // It gets its graph later.
  await graph.invoke(null, on(unnamed, { graph_id: "other" }));
  await graph.updateState(on(unnamed, { graph_id: "other" }), { said: ["by hand"] }, "head");
  expect(await client.threads.get(unnamed)).toMatchObject({ metadata: { graph_id: "other" } });
  // One that a client made gets its graph from the application that runs it.
  const { thread_id: made } = await client.threads.create({ metadata: { by: "client" } });
  await graph.invoke(input, on(made, { graph_id: "other" }));
  const metadata = { graph_id: "other", by: "client" };
  expect(await client.threads.get(made)).toMatchObject({ status: "interrupted", metadata });
  for (const thread of [unnamed, inConfigurable, inMetadata, made]) await saver.deleteThread(thread);
});

test("of two questions of a step, the answered one isn't shown any more", async () => {
  const thread = await begun({ a: "q", b: "q" });
  expect((await oracle(thread)).open).toHaveLength(2);
  await answer(thread);
  expect((await oracle(thread)).open).toHaveLength(1);
  expect(await agree(thread, false)).toBe("waiting");
});

test("a run that failed at the limit of its steps is shown as failed, until somebody goes on", async () => {
  const { thread_id: thread } = await client.threads.create();
  expect(await go(thread, { at: 0, plan: [{ loop: true }] })).toBe(true);
  expect(await agree(thread, true)).toBe("interrupted");
  await go(thread, null, { byServer: false });
  expect(await agree(thread, false)).toBe("interrupted");
  await go(thread, null, { mended: true });
  expect(await agree(thread, false)).toBe("idle");
});

const stories = inRounds({ few: 8, all: 40 });

test.each(Array.from({ length: stories }, (_, seed) => seed))("random story %i", async (seed) => {
  const random = randomNumbers(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const oneOf = <T>(...of: readonly T[]): T => of[below(of.length)]!;
  const acts = () => oneOf(".", "q", "qq", "f", "qf", "fq");
  const steps = () =>
    oneOf<object>(
      { a: acts() },
      { a: acts(), b: acts() },
      { a: acts(), sub: acts() },
      { sub: acts() },
      { sends: [acts(), acts()] },
      { b: acts(), sends: [acts()] },
      { loop: true },
    );
  const { thread_id: thread } = await client.threads.create();
  const told: string[] = [];
  const input = () => ({ at: 0, plan: Array.from({ length: 1 + below(3) }, steps) });
  let isError = await go(thread, input());
  for (let n = 0; n < 6; n += 1) {
    told.push(await agree(thread, isError));
    const { status, open } = await oracle(thread);
    const ways = {
      byServer: random() < 0.4,
      mended: random() < 0.4,
      before: random() < 0.2 ? ["a"] : [],
      ...(random() < 0.3 ? { left: below(3) } : {}),
    };
    if (random() < 0.15) {
      await graph.updateState(configOf(thread), { said: ["by hand"] }, oneOf("a", "head"));
      isError = false;
    } else if (status === "waiting" && random() < 0.8) {
      const resume = Object.fromEntries(open.slice(0, 1 + below(open.length)).map(({ id }) => [id!, "!"]));
      isError = await go(thread, new Command({ resume }), ways);
    } else isError = await go(thread, status === "idle" || random() < 0.2 ? input() : null, ways);
  }
  told.push(await agree(thread, isError));
  expect(told).toHaveLength(7);
});
