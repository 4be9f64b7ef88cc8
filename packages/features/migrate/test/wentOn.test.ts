// long file: every way in which a copy goes on
import { HumanMessage } from "@langchain/core/messages";
import { promote } from "@stratigraph/branch";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, MemorySaver as OfficialMemory, uuid6 } from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { importThreads, moveThreads, saverSource, type CopyReport } from "@stratigraph/migrate";
import { expect, test } from "vitest";
import { counting, history, say } from "./support/conversation.ts";
import { throughFile } from "./support/throughFile.ts";
import { tierWith } from "./support/tierWith.ts";

// What somebody did with a copy stays done, and what both sides did is told.

const ada = { configurable: { thread_id: "ada" } };

/** A call of a run that ends before its next checkpoint. */
async function pay(saver: TierSaver): Promise<void> {
  const journal = createJournal(saver);
  const { config } = (await saver.getTuple(ada))!;
  await journal.run(config, { id: "rent", tool: "pay", effects: "once", args: {} }, () => "a receipt");
  await journal.end();
}

/** What somebody does in a copy without a new checkpoint. */
const deeds: Record<string, (saver: TierSaver) => Promise<unknown>> = {
  "a call": pay,
  "a promotion": async (saver) => await promote(saver, { threadId: "ada", checkpointId: await first(saver) }),
  "a task of a run under way": async (saver) => {
    const { config } = (await saver.getTuple(ada))!;
    await saver.putWrites(config, [["messages", []]], "7d2b4c4e-0d0f-5c9e-8f5e-1f2f3f4f5f6f");
  },
  "an answer": async (saver) => {
    const { config } = (await saver.getTuple(ada))!;
    await saver.putWrites(config, [["__resume__", "yes"]], "7d2b4c4e-0d0f-5c9e-8f5e-1f2f3f4f5f6f");
  },
};

/** The ways from one storage to another. */
const ways: Record<string, (from: TierSaver, to: TierSaver) => Promise<CopyReport>> = {
  moved: async (from, to) => await moveThreads(from, to),
  imported: async (from, to) => await importThreads(saverSource(from), to),
  "imported from a file": throughFile,
};

async function first(saver: TierSaver): Promise<string> {
  return (await history(saver, "ada"))[2]!.id;
}

async function stored(saver: TierSaver) {
  const found = [];
  for await (const { record, head, writes } of saver.tier.list({ threadId: "ada" }))
    found.push([record, head, writes.map(({ order: _order, ...batch }) => batch)]);
  return found;
}

const cases = Object.keys(deeds).flatMap((deed) => Object.keys(ways).map((way) => [deed, way] as const));

test.each(cases)(
  "%s in a thread that was %s stays, and is told once the source went on",
  async (deed, way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    for (const words of ["One", "Two"]) await say(from, "ada", words);
    await ways[way]!(from, to);
    await deeds[deed]!(to);
    const before = await stored(to);
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: [], differences: [], skipped: 1 });
    expect(await stored(to)).toEqual(before);
    await say(from, "ada", "Three");
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: ["ada"], checkpoints: 0, writes: 0 });
    expect(await stored(to)).toEqual(before);
  },
);

test.each(cases)(
  "%s in the source of a thread that was %s, and another turn in the target, are told",
  async (deed, way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    for (const words of ["One", "Two"]) await say(from, "ada", words);
    await ways[way]!(from, to);
    await deeds[deed]!(from);
    await say(to, "ada", "Three");
    const before = await stored(to);
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: ["ada"], checkpoints: 0, writes: 0 });
    expect(await stored(to)).toEqual(before);
  },
);

test.each(Object.keys(ways))(
  "a thread that was pruned since it was %s comes over when it goes on",
  async (way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    for (const words of ["One", "Two"]) await say(from, "ada", words);
    await ways[way]!(from, to);
    await from.prune(["ada"], { strategy: "keep_latest" });
    const pruned = { diverged: [], differences: [], skipped: 1 };
    expect(await ways[way]!(from, to)).toMatchObject(pruned);
    await say(from, "ada", "Three");
    expect(await ways[way]!(from, to)).toMatchObject({ ...pruned, skipped: 0, checkpoints: 3 });
    expect((await to.getTuple(ada))!.checkpoint).toEqual((await from.getTuple(ada))!.checkpoint);
    expect((await say(to, "ada", "Four")).length).toBe(8);
  },
);

/** A thread whose steps run a subgraph. */
function nested(saver: TierSaver) {
  const Log = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const inner = new StateGraph(Log)
    .addNode("first", () => ({ log: ["first"] }))
    .addNode("second", () => ({ log: ["second"] }))
    .addEdge(START, "first")
    .addEdge("first", "second")
    .compile();
  return new StateGraph(Log).addNode("inner", inner).addEdge(START, "inner").compile({ checkpointer: saver });
}
const deletions: Record<string, (saver: TierSaver) => Promise<unknown>> = {
  "pruned to its latest": async (saver) => await saver.prune(["ada"], { strategy: "keep_latest" }),
  "rid of a run": async (saver) => await saver.deleteForRuns(["run-one"]),
};
const deleted = Object.keys(deletions).flatMap((what) =>
  Object.keys(ways).map((way) => [what, way] as const),
);

test.each(deleted)(
  "a thread with a subgraph that was %s since it was %s comes over when it goes on",
  async (what, way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    createJournal(from);
    for (const run_id of ["run-one", "run-two"])
      await nested(from).invoke({ log: [run_id] }, { configurable: { ...ada.configurable, run_id } });
    await ways[way]!(from, to);
    await deletions[what]!(from);
    await nested(from).invoke({ log: ["three"] }, ada);
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: [] });
    expect((await to.getTuple(ada))!.checkpoint).toEqual((await from.getTuple(ada))!.checkpoint);
  },
);

test.each(Object.keys(ways))("a subgraph that is under way in a copy that was %s is told", async (way) => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  await nested(from).invoke({ log: ["one"] }, ada);
  await ways[way]!(from, to);
  // Of a run that was killed, nothing but this is left.
  const configurable = { ...ada.configurable, checkpoint_ns: "inner:7d2b4c4e-0d0f-5c9e-8f5e-1f2f3f4f5f6f" };
  await to.put(
    { configurable },
    { ...emptyCheckpoint(), id: uuid6(0) },
    { source: "loop", step: 0, parents: {} },
    {},
  );
  await nested(from).invoke({ log: ["two"] }, ada);
  expect(await ways[way]!(from, to)).toMatchObject({ diverged: ["ada"] });
});

test.each(Object.keys(ways))(
  "a copy that was pruned and went on since it was %s: nothing differs",
  async (way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    for (const words of ["One", "Two"]) await say(from, "ada", words);
    await ways[way]!(from, to);
    await to.prune(["ada"], { strategy: "keep_latest" });
    await say(to, "ada", "Three");
    const now = await to.getTuple(ada);
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: [], differences: [] });
    expect(await to.getTuple(ada)).toEqual(now);
  },
);

test.each(Object.keys(ways))(
  "a call that was made before a thread was %s doesn't keep the conversation away",
  async (way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    await say(from, "ada", "One");
    const journal = createJournal(to);
    await journal.run(ada, { id: "rent", tool: "pay", effects: "once", args: {} }, () => "a receipt");
    await journal.end();
    const { hash } = await journal.head("ada");
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: [], differences: [], checkpoints: 3 });
    expect((await journal.head("ada")).hash).toBe(hash);
    expect((await say(to, "ada", "Two")).length).toBe(4);
    // From now on the call is a part of the copy.
    await say(from, "ada", "Three");
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: ["ada"], checkpoints: 0 });
  },
);

/** What somebody takes out of a copy that goes on. */
const removals: Record<string, (saver: TierSaver) => Promise<unknown>> = {
  "calls that were cut off": async (saver) => {
    const journal = createJournal(saver);
    await journal.cut("ada", { before: new Date(Date.now() + 60_000) });
    await journal.end();
  },
  "checkpoints that were pruned": async (saver) => await saver.prune(["ada"], { strategy: "keep_latest" }),
};

test.each(
  Object.keys(removals).flatMap((removal) => Object.keys(ways).map((way) => [removal, way] as const)),
)("%s since a thread was %s don't come back", async (removal, way) => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  for (const words of ["One", "Two"]) await say(from, "ada", words);
  await pay(from);
  await ways[way]!(from, to);
  await removals[removal]!(to);
  await say(to, "ada", "Three");
  const before = await stored(to);
  const report = await ways[way]!(from, to);
  expect(report).toMatchObject({ diverged: [], differences: [], skipped: 1, checkpoints: 0, writes: 0 });
  expect(await stored(to)).toEqual(before);
});

test.each(cases.filter(([, way]) => way !== "imported from a file"))(
  "%s in the target while a thread is %s again is told, and stays",
  async (deed, way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    for (const words of ["One", "Two"]) await say(from, "ada", words);
    await ways[way]!(from, to);
    await say(from, "ada", "Three");
    let lists = 0;
    let done: Promise<unknown> | undefined;
    // A move lists the source once it has read the target, and an import reads its checkpoints.
    const reading = new TierSaver(
      tierWith(from.tier, {
        list: async function* (query: Parameters<Tier["list"]>[0]) {
          if (++lists === 2) await (done ??= deeds[deed]!(to));
          yield* from.tier.list(query);
        },
        read: async (at: Parameters<Tier["read"]>[0]) => {
          await (done ??= deeds[deed]!(to));
          return await from.tier.read(at);
        },
      }),
    );
    const { head } = await to.tier.peek({ threadId: "ada", namespace: "" });
    const wanted = deed === "a promotion" ? await first(to) : head;
    expect(await ways[way]!(reading, to)).toMatchObject({ diverged: ["ada"], checkpoints: 0 });
    expect((await to.tier.peek({ threadId: "ada", namespace: "" })).head).toBe(wanted);
    expect(await ways[way]!(from, to)).toMatchObject({ diverged: ["ada"], checkpoints: 0 });
  },
);

test("a call that was made with a copy of an official saver's thread isn't forgotten", async () => {
  const [from, to] = [new OfficialMemory(), new MemorySaver()];
  await say(from, "ada", "One");
  await importThreads(saverSource(from), to);
  await pay(to);
  expect(await importThreads(saverSource(from), to)).toMatchObject({ diverged: [], skipped: 1 });
  await say(from, "ada", "Two");
  expect(await importThreads(saverSource(from), to)).toMatchObject({ diverged: ["ada"], checkpoints: 0 });
});

test("the rest of a copy that ended early isn't taken for what somebody did in the target", async () => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  await say(from, "ada", "One");
  await moveThreads(from, to);
  const head = (await to.tier.peek({ threadId: "ada", namespace: "" })).head!;
  await say(from, "ada", "Two");
  const records = [];
  for await (const { record, blobs, writes } of from.tier.list({ threadId: "ada" }))
    records.push({
      record,
      blobs: [...blobs.values()],
      writes: writes.map(({ order: _order, ...batch }) => ({ ...record, ...batch })),
    });
  await to.tier.append({
    threadId: "ada",
    records: records.map(({ record }) => record).reverse(),
    blobs: records.flatMap(({ blobs }) => blobs),
    writes: records.flatMap(({ writes }) =>
      writes.map(({ threadId, namespace, checkpointId, taskId, body, blobs }) => ({
        ...{ threadId, namespace, checkpointId, taskId },
        ...{ body, blobs },
      })),
    ),
    heads: [],
    onConflict: "refuse",
  });
  expect((await to.tier.peek({ threadId: "ada", namespace: "" })).head).toBe(head);
  await deeds["an answer"]!(to);
  expect(await importThreads(saverSource(from), to)).toMatchObject({ diverged: ["ada"] });
  expect(await moveThreads(from, to)).toMatchObject({ diverged: ["ada"] });
});

test.each(Object.keys(ways))(
  "a branch that was %s, and that the source pruned before it went on, isn't taken for work in the target",
  async (way) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    await say(from, "ada", "one");
    const { config } = (await from.getTuple(ada))!;
    await say(from, "ada", "two");
    await counting(from).invoke(
      { messages: [new HumanMessage({ content: "two, edited", id: "h-edited" })] },
      config,
    );
    await ways[way]!(from, to);
    await from.prune(["ada"], { strategy: "keep_latest" });
    await say(from, "ada", "three");
    const { diverged, differences } = await ways[way]!(from, to);
    expect({ diverged, differences }).toEqual({ diverged: [], differences: [] });
    expect((await to.getTuple(ada))!.checkpoint.channel_values).toEqual(
      (await from.getTuple(ada))!.checkpoint.channel_values,
    );
    await say(to, "ada", "here");
    await say(from, "ada", "there");
    expect((await ways[way]!(from, to)).diverged).toEqual(["ada"]);
  },
);

test.each(Object.keys(ways))(
  "a branch that lost against a copy that was %s is work in the target",
  async (way) => {
    const [from, tier] = [new MemorySaver(), new MemoryTier()];
    const [to, late] = [new TierSaver(tier), new TierSaver(tier, { conflict: "branch" })];
    await say(from, "ada", "one");
    await ways[way]!(from, to);
    const { config, checkpoint } = (await late.getTuple(ada))!;
    await say(from, "ada", "two");
    expect((await ways[way]!(from, to)).diverged).toEqual([]);
    const metadata = { source: "loop", step: 9, parents: {} } as const;
    await late.put(config, { ...checkpoint, id: uuid6(0) }, metadata, {});
    await say(from, "ada", "three");
    expect((await ways[way]!(from, to)).diverged).toEqual(["ada"]);
  },
);
