import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { CorruptionError, MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";

interface Inbox {
  readonly items: readonly {
    readonly thread: string;
    readonly since: string;
    readonly questions: readonly { readonly by?: string; readonly text: string }[];
    readonly error?: string;
  }[];
  readonly cursor?: string;
}

const State = Annotation.Root({ said: Annotation<string> });
const asking = (checkpointer: TierSaver) =>
  new StateGraph(State)
    .addNode("clerk", () => ({
      said: interrupt<object, string>({ ask: "Book it?", card: "4711" }) + interrupt<string, string>("sure?"),
    }))
    .addEdge(START, "clerk")
    .compile({ checkpointer });
const on = (thread_id: string) => ({ configurable: { thread_id } });

const tier = new FaultyTier(new MemoryTier());
const saver = new TierSaver(tier);
const context = testContext(saver);

beforeAll(async () => {
  for (const thread of ["ada", "bob", "eve"]) await asking(saver).invoke({}, on(thread));
  await saver.tagThread("bob", { team: "travel" });
});

test("the threads that wait, longest first, page by page, with what is asked and by whom", async () => {
  const { items, cursor } = await run<Inbox>("inbox", { limit: 2 }, context);
  const next = await run<Inbox>("inbox", { limit: 2, cursor }, context);
  expect([...items, ...next.items].map(({ thread }) => thread).toSorted()).toEqual(["ada", "bob", "eve"]);
  expect(next.cursor).toBeUndefined();
  expect(items[0]!.questions).toHaveLength(1);
  expect(items[0]!.questions[0]!.text).toContain("Book it?");
  expect(Date.parse(items[0]!.since)).toBeLessThanOrEqual(Date.now());
  const text = rendered("inbox", { items });
  expect(text).toContain("asks: ");
  expect(text).toContain("stratigraph run");
  const ofTeam = await run<Inbox>("inbox", { tag: "team=travel" }, context);
  expect(ofTeam.items.map(({ thread }) => thread)).toEqual(["bob"]);
});

test("what is redacted isn't shown", async () => {
  const hidden = await run<Inbox>("inbox", {}, testContext(saver, { redact: ["*.card"] }));
  expect(JSON.stringify(hidden)).not.toContain("4711");
});

test("a second question takes the place of the first; an answered thread leaves", async () => {
  await asking(saver).invoke(new Command({ resume: "yes " }), on("ada"));
  const ada = async () =>
    (await run<Inbox>("inbox", {}, context)).items.find(({ thread }) => thread === "ada");
  expect((await ada())!.questions.map(({ text }) => text)).toEqual(["sure?"]);
  await asking(saver).invoke(new Command({ resume: "sure" }), on("ada"));
  expect(await ada()).toBeUndefined();
  const idle = await run<{ items: { thread: string }[] }>("threads", { status: "idle" }, context);
  expect(idle.items.map(({ thread }) => thread)).toEqual(["ada"]);
});

test("one that can't be read is listed with the reason, and the others too", async () => {
  const heal = tier.failWhen(({ method, args: [query] }) =>
    method === "list" && (query as { threadId?: string }).threadId === "bob"
      ? new CorruptionError({ threadId: "bob", namespace: "", checkpointId: "c" }, "damaged")
      : undefined,
  );
  const { items } = await run<Inbox>("inbox", {}, context);
  heal();
  const bob = items.find(({ thread }) => thread === "bob");
  expect(bob!.error).toContain("damaged");
  expect(items.find(({ thread }) => thread === "eve")!.questions).toHaveLength(1);
});

test("no thread waits", async () => {
  const none = testContext(new MemorySaver());
  expect(rendered("inbox", await run<Inbox>("inbox", {}, none))).toBe("No thread waits for an answer.");
});

/** What each place says of a thread: that of `listThreads`, `threads --status`, `inbox`, and the `waits` of all that show a thread. */
async function toldOf(checkpointer: TierSaver, thread: string): Promise<string> {
  const all = testContext(checkpointer);
  const names = ["waiting", "failed", "interrupted", "idle"] as const;
  const by: string[] = [];
  for (const status of names) {
    const { threads } = await checkpointer.listThreads({ status });
    if (threads.some(({ threadId }) => threadId === thread)) by.push(status);
    const listed = await run<{ items: { thread: string }[] }>("threads", { status }, all);
    if (listed.items.some((each) => each.thread === thread)) by.push(status);
  }
  const inInbox = (await run<Inbox>("inbox", {}, all)).items.some((each) => each.thread === thread);
  type Waits = { waits?: "interrupt" | "error" };
  const listed = await run<{ items: { thread: string; details: Waits }[] }>(
    "threads",
    { details: true },
    all,
  );
  const { items } = await run<{ items: (Waits & { head: boolean })[] }>("history", { thread }, all);
  const glanced = await run<{ items: { says?: { kind: string } }[] }>("glance", { threads: [thread] }, all);
  const waits = [
    (await run<Waits>("show", { at: thread }, all)).waits,
    listed.items.find((each) => each.thread === thread)!.details.waits,
    items.find(({ head }) => head)!.waits,
  ];
  const kind = glanced.items[0]!.says?.kind;
  waits.push(kind === "question" ? "interrupt" : kind === "error" ? "error" : undefined);
  expect(new Set(waits).size).toBe(1);
  expect(by).toHaveLength(2);
  const [told] = by;
  expect(by).toEqual([told, told]);
  expect(inInbox).toBe(told === "waiting");
  expect(waits[0]).toBe(told === "waiting" ? "interrupt" : told === "failed" ? "error" : undefined);
  return told!;
}

/** LangGraph's `interrupt`, whose schemas it checks from 1.5 on. */
const ask = interrupt as (value: unknown, options?: { responseSchema?: unknown }) => unknown;
const fits = { responseSchema: z.number().refine((n) => n > 1) };

async function standing(
  node: () => unknown,
  answers: readonly unknown[],
  how: { byId: boolean; inner?: boolean },
) {
  const checkpointer = new MemorySaver();
  const built = new StateGraph(State)
    .addNode("work", () => ({ said: node() as string }))
    .addEdge(START, "work");
  const graph = (
    how.inner === true ? new StateGraph(State).addNode("work", built.compile()).addEdge(START, "work") : built
  ).compile({ checkpointer });
  await graph.invoke({}, on("t")).catch(() => undefined);
  for (const answer of answers) {
    const { tasks } = await graph.getState(on("t"));
    const resume = how.byId ? { [tasks[0]!.interrupts[0]!.id!]: answer } : answer;
    await graph.invoke(new Command({ resume }), on("t")).catch(() => undefined);
  }
  return { checkpointer, graph, told: await toldOf(checkpointer, "t") };
}

const checksSchemas = (await standing(() => ask("one?", fits), ["odd"], { byId: false })).told === "waiting";

for (const byId of [false, true]) {
  test(`every place says the same of a thread, answers ${byId ? "by id" : "to what asks"}`, async () => {
    const after = async (node: () => unknown, ...answers: unknown[]) => {
      const flat = await standing(node, answers, { byId });
      const inner = await standing(node, answers, { byId, inner: true });
      expect(inner.told).toBe(flat.told);
      return flat.told;
    };
    const fails = (): never => {
      throw new Error("the line was cut");
    };
    expect(await after(() => ask("one?"))).toBe("waiting");
    expect(await after(() => ask("one?"), 1)).toBe("idle");
    expect(await after(() => [ask("one?"), ask("two?")], 1)).toBe("waiting");
    expect(await after(() => [ask("one?"), fails()], 1)).toBe("failed");
    expect(await after(() => [ask("one?"), ask("two?"), fails()], 1, 2)).toBe("failed");
    if (!checksSchemas) return;
    // The node refuses the answer: its question waits again.
    expect(await after(() => ask("one?", fits), "odd")).toBe("waiting");
    expect(await after(() => ask("one?", fits), "odd", 1)).toBe("waiting");
    expect(await after(() => ask("one?", fits), "odd", 2)).toBe("idle");
    expect(await after(() => [ask("one?"), ask("two?", fits)], 1, "odd")).toBe("waiting");
    // It has taken the answer, and fails by a schema of its own.
    const { told } = await standing(() => [ask("one?"), z.string().parse(1)], [1], { byId });
    expect(told).toBe("failed");
    // It never asked.
    expect((await standing(() => z.string().parse(1), [], { byId })).told).toBe("failed");
  });

  test(`a thread that was answered ${byId ? "by id" : ""} and then cut off waits for nobody`, async () => {
    const faulty = new FaultyTier(new MemoryTier());
    const checkpointer = new TierSaver(faulty);
    const graph = asking(checkpointer);
    await graph.invoke({}, on("t"));
    expect(await toldOf(checkpointer, "t")).toBe("waiting");
    const { tasks } = await graph.getState(on("t"));
    const answer = byId ? { [tasks[0]!.interrupts[0]!.id!]: "yes" } : "yes";
    // Its process dies once the answer is stored.
    let stored = 0;
    const heal = faulty.failWhen(({ method }) => {
      if (method === "appendWrites") stored += 1;
      return method === "appendWrites" && stored > 1 ? new Error("killed") : undefined;
    });
    await graph.invoke(new Command({ resume: answer }), on("t")).catch(() => undefined);
    heal();
    expect(stored).toBeGreaterThan(1);
    expect(await toldOf(new TierSaver(faulty), "t")).toBe("interrupted");
    await asking(new TierSaver(faulty)).invoke(null, on("t"));
    expect(await toldOf(new TierSaver(faulty), "t")).toBe("waiting");
  });
}
