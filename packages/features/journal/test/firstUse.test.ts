import { MemorySaver as OfficialMemory, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { reservedNamespaces, type AppendRequest } from "@stratigraph/core/tier";
import { importThreads, moveThreads, readThrough, saverSource } from "@stratigraph/migrate";
import { FaultyTier } from "@stratigraph/testing";
import { expect, onTestFinished, test } from "vitest";
import { batch, createJournal, events } from "../src/index.ts";
import { savers } from "./support/savers.ts";

// A thread that an old storage has is brought by whatever uses it first in the new one, not only by a read of its checkpoints.

const ada = { configurable: { thread_id: "ada" } };
const add = (sum: number, { amount }: { amount: number }) => sum + amount;

/** A graph that remembers what it was told. */
async function say(checkpointer: BaseCheckpointSaver, word: string): Promise<string[]> {
  const said = Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] });
  const graph = new StateGraph(Annotation.Root({ said }))
    .addNode("hears", () => ({}))
    .addEdge(START, "hears")
    .compile({ checkpointer });
  return (await graph.invoke({ said: [word] }, ada)).said;
}

/** A call by code outside of a graph, as for an order's number. */
function charge(saver: TierSaver): { readonly once: () => Promise<string>; readonly times: () => number } {
  const journal = createJournal(saver);
  let times = 0;
  const pay = () => `receipt ${(times += 1)}`;
  return {
    once: async () => await journal.run(ada, { id: "order 7", args: { order: 7 }, effects: "once" }, pay),
    times: () => times,
  };
}

function readingFrom(old: BaseCheckpointSaver): MemorySaver {
  const saver = new MemorySaver();
  readThrough(saver, saverSource(old));
  return saver;
}

const firstUses: Record<string, (saver: MemorySaver) => Promise<unknown>> = {
  "a call": async (saver) => await charge(saver).once(),
  "an event": async (saver) => await events(saver, add, { initial: 0 }).append("ada", { amount: 5 }),
  "the state after some events": async (saver) =>
    await events(saver, add, { initial: 0 }).project("ada", { until: 1 }),
  "the head of its journal": async (saver) => await createJournal(saver).head("ada"),
};

test.each(Object.keys(firstUses))("the conversation goes on if %s comes first", async (use) => {
  const old = new OfficialMemory();
  await say(old, "One");
  const saver = readingFrom(old);
  await firstUses[use]!(saver);
  expect((await saver.tier.peek({ threadId: "ada", namespace: "" })).head).toBeDefined();
  expect(await say(saver, "Two")).toEqual(["One", "Two"]);
});

test.each([true, false])("what the old storage recorded counts, conversation: %s", async (talks) => {
  const old = new MemorySaver();
  if (talks) await say(old, "One");
  expect(await charge(old).once()).toBe("receipt 1");
  const before = await createJournal(old).head("ada");
  expect(await createJournal(readingFrom(old)).head("ada")).toEqual(before);
  const verified = await createJournal(readingFrom(old)).verify("ada", { head: before });
  expect(verified).toMatchObject({ ok: true });
  const again = charge(readingFrom(old));
  expect(await again.once()).toBe("receipt 1");
  expect(again.times()).toBe(0);
});

test("a batch, and events with a key, go on where they were", async () => {
  const old = new MemorySaver();
  const sent: string[] = [];
  const send = async (saver: MemorySaver) =>
    await batch(
      createJournal(saver),
      { configurable: { thread_id: "reminders" } },
      ["i1", "i2"],
      { id: "May", key: (item: string) => item, effects: "once" },
      (item: string) => void sent.push(item),
    );
  const account = (saver: MemorySaver) => events(saver, add, { initial: 0 });
  await send(old);
  await account(old).append("account", { amount: 50 }, { key: "request 1" });
  const saver = readingFrom(old);
  expect(await send(saver)).toMatchObject({ total: 2, done: 2 });
  expect(sent).toEqual(["i1", "i2"]);
  expect(await account(readingFrom(old)).project("account", { until: 1 })).toMatchObject({ state: 50 });
  expect((await account(saver).project("account")).state).toBe(50);
  const repeated = await account(saver).append("account", { amount: 50 }, { key: "request 1" });
  expect(repeated).toMatchObject({ duplicate: true, state: 50 });
});

test.each(savers)("%s: calls that were recorded before don't hide the conversation", async (_, open) => {
  const old = new OfficialMemory();
  await say(old, "One");
  const { saver, close } = await open();
  onTestFinished(close);
  const call = charge(saver);
  await call.once();
  readThrough(saver, saverSource(old));
  expect(await say(saver, "Two")).toEqual(["One", "Two"]);
  await call.once();
  expect(call.times()).toBe(1);
});

const account = (saver: MemorySaver) => events(saver, add, { initial: 0 });

test.each([true, false])(
  "two lines of calls aren't made one, and no call is made over another line, conversation: %s",
  async (talks) => {
    const [old, saver] = [new MemorySaver(), new MemorySaver()];
    if (talks) await say(old, "One");
    expect(await charge(old).once()).toBe("receipt 1");
    await createJournal(saver).run(
      ada,
      { id: "order 8", args: { order: 8 }, effects: "once" },
      () => "receipt 8",
    );
    readThrough(saver, saverSource(old));
    const call = charge(saver);
    for (let attempt = 0; attempt < 2; attempt += 1)
      await expect(call.once()).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    expect(call.times()).toBe(0);
    await expect(saver.getTuple(ada)).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  },
);

test("two lines of events aren't made one", async () => {
  const [old, saver] = [new MemorySaver(), new MemorySaver()];
  await account(old).append("ada", { amount: 50 }, { key: "request 1" });
  await account(saver).append("ada", { amount: 4 }, { key: "request 2" });
  readThrough(saver, saverSource(old));
  for (let attempt = 0; attempt < 2; attempt += 1)
    await expect(account(saver).append("ada", { amount: 50 }, { key: "request 1" })).rejects.toMatchObject({
      code: "THREAD_EXISTS",
    });
});

test.each([false, true])(
  "what was broken off is brought by the next use, forgotten calls: %s",
  async (forgotten) => {
    const old = new MemorySaver();
    await charge(old).once();
    if (forgotten) {
      await pay(old, 1, "gone");
      await old.deleteForRuns(["gone"]);
      await say(old, "One");
    }
    const tier = new FaultyTier(new MemoryTier());
    const saver = new TierSaver(tier);
    readThrough(saver, saverSource(old));
    // The last append moves the heads.
    const isLast = ({ heads }: AppendRequest) =>
      heads.some(({ namespace }) => namespace !== reservedNamespaces.copy);
    tier.failWhen(({ method, args }) => method === "append" && isLast(args[0] as AppendRequest));
    const call = charge(saver);
    await expect(call.once()).rejects.toThrow(/append/);
    // Only the calls came.
    const root: string[] = [];
    for await (const { record } of tier.list({ threadId: "ada", namespace: "" }))
      root.push(record.checkpointId);
    tier.reset();
    const ofThread = {
      threadId: "ada",
      revision: (await tier.peek({ threadId: "ada", namespace: "" })).revision,
    };
    const checkpoints = root.map((checkpointId) => ({ threadId: "ada", namespace: "", checkpointId }));
    if (root.length > 0)
      expect(
        await tier.remove({ ...ofThread, checkpoints, dropBlobs: [], replaceBlobs: [], heads: [] }),
      ).toBe(true);
    expect([await call.once(), call.times()]).toEqual(["receipt 1", 0]);
    if (forgotten) expect(await say(saver, "Two")).toEqual(["One", "Two"]);
  },
);

test("events that the source began since its calls were brought come, too", async () => {
  const [old, saver] = [new MemorySaver(), new MemorySaver()];
  await charge(old).once();
  readThrough(saver, saverSource(old));
  await charge(saver).once();
  await account(old).append("ada", { amount: 50 });
  readThrough(saver, saverSource(old));
  expect((await account(saver).project("ada")).state).toBe(50);
});

test("calls that are only there come beside events that are only here", async () => {
  const [old, saver] = [new MemorySaver(), new MemorySaver()];
  await charge(old).once();
  await account(saver).append("ada", { amount: 4 });
  readThrough(saver, saverSource(old));
  const call = charge(saver);
  expect([await call.once(), call.times()]).toEqual(["receipt 1", 0]);
  expect((await account(saver).project("ada")).state).toBe(4);
});

test("calls of both storages go on in the new one once they were brought, and a conversation that began since comes after them", async () => {
  const old = new MemorySaver();
  await charge(old).once();
  const saver = readingFrom(old);
  await charge(saver).once();
  const order = (of: MemorySaver, n: number) =>
    createJournal(of).run(
      ada,
      { id: `order ${n}`, args: { order: n }, effects: "once" },
      () => `receipt ${n}`,
    );
  expect(await order(saver, 8)).toBe("receipt 8");
  expect(await order(readingFrom(old), 7)).toBe("receipt 1");
  const other = readingFrom(old);
  for (const _ of ["brought", "looked for"]) await charge(other).once();
  await say(old, "One");
  expect(await say(other, "Two")).toEqual(["One", "Two"]);
});

/** A conversation that pays. */
async function pay(checkpointer: TierSaver, amount: number, run?: string): Promise<number> {
  const journal = createJournal(checkpointer);
  let times = 0;
  const graph = new StateGraph(Annotation.Root({ amount: Annotation<number>() }))
    .addNode("pays", async (state, config) => {
      const once = { id: "rent", args: { amount: state.amount }, effects: "once" } as const;
      await journal.run(config, once, () => `receipt ${(times += 1)}`);
      return {};
    })
    .addEdge(START, "pays")
    .compile({ checkpointer });
  await graph.invoke({ amount }, run === undefined ? ada : { ...ada, metadata: { run_id: run } });
  return times;
}

test("a brought thread all of whose runs were deleted is empty, and goes on", async () => {
  const old = new MemorySaver();
  await pay(old, 1, "r1");
  const saver = readingFrom(old);
  createJournal(saver);
  expect(await saver.getTuple(ada)).toBeDefined();
  await saver.deleteForRuns(["r1"]);
  const read = async () => await saver.getTuple(ada);
  expect(await read()).toBeUndefined();
  readThrough(saver, saverSource(old));
  expect(await read()).toBeUndefined();
  expect(await pay(saver, 3)).toBe(1);
  expect((await read())?.checkpoint.channel_values).toMatchObject({ amount: 3 });
});

test("two lines of calls aren't made one, and the thread isn't served without its conversation", async () => {
  const [old, saver] = [new MemorySaver(), new MemorySaver()];
  await say(old, "One");
  await charge(old).once();
  await charge(saver).once();
  readThrough(saver, saverSource(old));
  await expect(saver.getTuple(ada)).rejects.toMatchObject({
    code: "THREAD_EXISTS",
    data: { threadId: "ada" },
  });
  await expect(say(saver, "Two")).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  expect((await importThreads(saverSource(old), saver)).differences).toMatchObject([{ threadId: "ada" }]);
  expect(await moveThreads(old, saver)).toMatchObject({ diverged: ["ada"], checkpoints: 0 });
  expect(await createJournal(saver).verify("ada")).toMatchObject({ ok: true });
});

test.each(savers)("%s: a thread that was deleted here isn't brought back by a call", async (_, open) => {
  const old = new OfficialMemory();
  await say(old, "One");
  const { saver, close } = await open();
  onTestFinished(close);
  readThrough(saver, saverSource(old));
  expect(await say(saver, "Two")).toEqual(["One", "Two"]);
  await saver.deleteThread("ada");
  await charge(saver).once();
  expect(await saver.getTuple(ada)).toBeUndefined();
  expect(await say(saver, "Three")).toEqual(["Three"]);
});
