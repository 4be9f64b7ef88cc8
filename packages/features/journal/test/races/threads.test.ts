import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { postgres } from "@stratigraph/postgres";
import { s3 } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import pg from "pg";
import { fork } from "stratigraph";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openBucket } from "../../../../engine/s3/test/support/bucket.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { createJournal, type Journal } from "../../src/index.ts";
import { begins, payingGraph } from "./payingGraph.ts";

// What becomes of calls of which the thread is deleted, pruned, archived, copied or forked meanwhile, by somebody else.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let pool: pg.Pool;
let bucket: Awaited<ReturnType<typeof openBucket>>;
const opened: TieredSaver[] = [];

/** As a process of its own would have it: nothing is remembered from the others. */
function open(): TieredSaver {
  const saver = new TieredSaver(
    {
      warm: postgres({ pool }),
      cold: s3({ client: bucket.client, bucket: bucket.bucket }),
      archiveAfter: "1d",
      pause: "0ms",
    },
    () => Date.now() + 30 * 86_400_000,
  );
  opened.push(saver);
  return saver;
}

let saver: TieredSaver;
let journal: Journal;
let other: TieredSaver;
let paid: number[];
let threads = 0;
let thread: string;
/** What happens while a payment is under way. */
let meanwhile: (amount: number) => Promise<unknown>;

beforeAll(async () => {
  [database, bucket] = await Promise.all([freshDatabase(), openBucket()]);
  // The savers share their connections, as those of one process do.
  pool = new pg.Pool({ connectionString: database.url, max: 8 });
  await open().setup();
});

afterAll(async () => {
  await Promise.all(opened.map((one) => one.end()));
  await pool?.end();
  await Promise.all([database?.drop(), bucket?.close()]);
});

beforeEach(() => {
  [saver, other] = [open(), open()];
  journal = createJournal(saver);
  paid = [];
  threads += 1;
  thread = `thread ${threads}`;
  meanwhile = () => Promise.resolve();
});

async function pay(amount: number): Promise<string> {
  paid.push(amount);
  await meanwhile(amount);
  return `receipt ${amount}`;
}

function configOf(threadId: string, durability: "sync" | "async" = "sync") {
  return { configurable: { thread_id: threadId }, durability };
}

/** The agent as another process has it. */
function agent(of: TierSaver = saver, by: Journal = of === saver ? journal : createJournal(of)) {
  return payingGraph(by, of, pay).graph;
}

async function expectGone(): Promise<void> {
  for (const namespace of ["", reservedNamespaces.calls])
    expect((await open().tier.peek({ threadId: thread, namespace })).head).toBeUndefined();
}

/** A graph of one node. */
function nodeOf(work: (config: unknown) => Promise<unknown>) {
  return new StateGraph(Annotation.Root({ done: Annotation<boolean> }))
    .addNode("node", async (_state, config) => {
      await work(config);
      return { done: true };
    })
    .addEdge(START, "node")
    .addEdge("node", END)
    .compile({ checkpointer: saver });
}

const makes = (config: unknown, amount: number) =>
  journal.run(config, { id: `pay ${amount}`, tool: "pay", args: { amount } }, () => pay(amount));

describe.each(["sync", "async"] as const)(
  "a thread that is deleted during a call, durability %s",
  (durability) => {
    it("stays deleted, and the run makes no further call", async () => {
      meanwhile = () => other.deleteThread(thread);
      await agent()
        .invoke(begins, configOf(thread, durability))
        .catch(() => undefined);
      expect(paid).toEqual([5]);
      await expectGone();
    });

    it("stays deleted where the task makes a second call", async () => {
      meanwhile = () => other.deleteThread(thread);
      const results: unknown[] = [];
      await nodeOf(async (config) => {
        results.push(await makes(config, 5));
        await makes(config, 6);
      })
        .invoke({ done: false }, configOf(thread, durability))
        .catch((error: unknown) => results.push((error as { code: string }).code));
      expect(results).toEqual(["receipt 5", "THREAD_DELETED"]);
      expect(paid).toEqual([5]);
      await expectGone();
    });

    it("stays deleted where the next node makes a call, which says so", async () => {
      meanwhile = () => other.deleteThread(thread);
      const told: unknown[] = [];
      const graph = new StateGraph(Annotation.Root({ done: Annotation<boolean> }))
        .addNode("first", async (_state, config) => {
          await makes(config, 5);
          return {};
        })
        .addNode("second", async (_state, config) => {
          await makes(config, 6).catch((error: unknown) => {
            told.push((error as { code: string }).code);
            throw error;
          });
          return { done: true };
        })
        .addEdge(START, "first")
        .addEdge("first", "second")
        .compile({ checkpointer: saver });
      await expect(graph.invoke({ done: false }, configOf(thread, durability))).rejects.toThrow();
      // Durability "sync" ends the run before.
      expect(told).toEqual(durability === "sync" ? [] : ["THREAD_DELETED"]);
      expect(paid).toEqual([5]);
      await expectGone();
    });
  },
);

it("a thread that is deleted before its run makes its first call stays deleted, and the call isn't made", async () => {
  const node = nodeOf(async (config) => {
    await other.deleteThread(thread);
    await makes(config, 5);
  });
  await expect(node.invoke({ done: false }, configOf(thread))).rejects.toMatchObject({
    code: "THREAD_DELETED",
  });
  expect(paid).toEqual([]);
  await expectGone();
});

it("a thread that is deleted and begun anew has a journal that begins anew", async () => {
  await agent().invoke(begins, configOf(thread));
  await other.deleteThread(thread);
  await agent().invoke(begins, configOf(thread));
  expect(paid).toEqual([5, 6, 5, 6]);
  expect(await journal.verify(thread)).toMatchObject({ ok: true });
});

it("a thread that is pruned during a call keeps its calls", async () => {
  meanwhile = () => other.prune([thread], { strategy: "keep_latest" });
  await agent().invoke(begins, configOf(thread));
  await other.prune([thread], { strategy: "keep_latest" });
  const later = open();
  expect(await createJournal(later).verify(thread)).toMatchObject({ ok: true });
  const { messages } = await agent(later).invoke({ messages: [] }, configOf(thread));
  expect(messages.map(({ content }) => content)).toEqual([
    "pay",
    "",
    "receipt 5",
    "",
    "receipt 6",
    "done",
    "done",
  ]);
  expect(paid).toEqual([5, 6]);
});

describe("a thread that is archived", () => {
  async function archive(): Promise<number> {
    const { steps } = await other.maintain();
    return steps.filter(({ what, threadId, done }) => what === "archive" && threadId === thread && done)
      .length;
  }

  it("has its journal in the archive, and goes on with what it has paid", async () => {
    await agent().invoke(begins, { ...configOf(thread), interruptAfter: ["tools"] });
    expect(await archive()).toBe(1);
    const later = open();
    const graph = agent(later);
    const beforeTools = [];
    for await (const state of graph.getStateHistory(configOf(thread)))
      if (state.next.includes("tools")) beforeTools.push(state.config);
    await graph.invoke(null, { ...beforeTools.at(-1)!, durability: "sync" });
    expect(paid).toEqual([5, 6]);
    expect(await archive()).toBe(1);
    expect(await createJournal(open()).verify(thread)).toMatchObject({ ok: true });
  });

  it("during a call is neither lost nor paid again", async () => {
    meanwhile = async () => {
      await archive();
    };
    await agent().invoke(begins, configOf(thread));
    expect(await createJournal(open()).verify(thread)).toMatchObject({ ok: true });
    await agent(open()).invoke({ messages: [] }, configOf(thread));
    expect(paid).toEqual([5, 6]);
  });
});

describe("a copy", () => {
  it("has the calls of its thread, and each goes on for itself", async () => {
    await agent().invoke(begins, { ...configOf(thread), interruptAfter: ["tools"] });
    await other.copyThread(thread, `${thread} copy`);
    for (const threadId of [thread, `${thread} copy`]) await agent(open()).invoke(null, configOf(threadId));
    expect(paid).toEqual([5, 6, 6]);
    for (const threadId of [thread, `${thread} copy`])
      expect(await createJournal(open()).verify(threadId)).toMatchObject({ ok: true });
  });

  it("that is made during a call asks what became of it, and doesn't repeat it", async () => {
    meanwhile = (amount) => (amount === 5 ? other.copyThread(thread, `${thread} copy`) : Promise.resolve());
    await agent().invoke(begins, configOf(thread));
    const stopped = await agent(open()).invoke(null, configOf(`${thread} copy`));
    expect(stopped["__interrupt__" as never]).toMatchObject([
      { value: { kind: "ambiguous", args: { amount: 5 } } },
    ]);
    expect(paid).toEqual([5, 6]);
  });
});

it("a fork and its source make a later call once each, and what was made before not again", async () => {
  await agent().invoke(begins, { ...configOf(thread), interruptAfter: ["tools"] });
  await fork(other, { threadId: thread }, { to: `${thread} fork` });
  const ends = await Promise.all(
    [thread, `${thread} fork`].map((threadId) => agent(open()).invoke(null, configOf(threadId))),
  );
  expect(paid.toSorted()).toEqual([5, 6, 6]);
  for (const { messages } of ends)
    expect(messages.map(({ content }) => content)).toEqual(["pay", "", "receipt 5", "", "receipt 6", "done"]);
});
