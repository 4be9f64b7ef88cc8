import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { CheckpointConflictError, type TierSaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import { Storage, contents, stepsBy, twoSteps } from "./support.ts";

const thread = { configurable: { thread_id: "imported" } };

/** A thread as another saver has it, oldest first. */
async function source(): Promise<CheckpointTuple[]> {
  const { saver } = new Storage().open();
  await twoSteps(saver).invoke({ who: "source" }, thread);
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list(thread)) tuples.push(tuple);
  return tuples.reverse();
}

/** Puts tuples as a script does that knows nothing of the thread. */
async function bring(saver: TierSaver, tuples: readonly CheckpointTuple[], reads = false): Promise<void> {
  for (const { checkpoint, metadata, parentConfig, config, pendingWrites = [] } of tuples) {
    if (reads && parentConfig !== undefined) await saver.getTuple(parentConfig);
    await saver.put(parentConfig ?? thread, checkpoint, metadata!, checkpoint.channel_versions);
    for (const [task, channel, value] of pendingWrites)
      await saver.putWrites(config, [[channel, value]], task);
  }
}

test("an import that is run again leaves the thread that went on since where it is", async () => {
  const storage = new Storage();
  const tuples = await source();
  await bring(storage.open().saver, tuples);
  expect((await twoSteps(storage.open().saver).getState(thread)).values).toMatchObject({
    log: stepsBy("source"),
  });
  await twoSteps(storage.open().saver).invoke({ who: "live" }, thread);
  const live = await twoSteps(storage.open().saver).getState(thread);

  await bring(storage.open().saver, tuples);
  const { saver } = storage.open();
  expect(await twoSteps(saver).getState(thread)).toEqual(live);
  expect(live.values).toMatchObject({ log: [...stepsBy("source"), ...stepsBy("live")] });
  expect(await saver.conflicts("imported")).toEqual([]);
});

test("an import of what was pruned since is a conflict, and stores nothing", async () => {
  const storage = new Storage();
  const tuples = await source();
  await bring(storage.open().saver, tuples);
  await twoSteps(storage.open().saver).invoke({ who: "live" }, thread);
  const { saver } = storage.open();
  await saver.prune(["imported"], { strategy: "keep_latest" });
  const live = await saver.getTuple(thread);
  const before = await contents(storage.tier, "imported");
  expect(before.records).toHaveLength(1);
  await expect(bring(storage.open().saver, tuples)).rejects.toBeInstanceOf(CheckpointConflictError);
  expect(await storage.open().saver.getTuple(thread)).toEqual(live);
  expect(await contents(storage.tier, "imported")).toEqual(before);
});

test("a root that is brought after its children lies below them: the head stays, and it lost no race", async () => {
  const storage = new Storage();
  const [root, ...later] = await source();
  await bring(storage.open().saver, later);
  const before = await storage.open().saver.getTuple(thread);
  await bring(storage.open().saver, [root!]);
  const { saver } = storage.open();
  expect(await saver.getTuple(thread)).toEqual(before);
  expect(await saver.getTuple(root!.config)).toMatchObject({ checkpoint: { id: root!.checkpoint.id } });
  expect(await saver.conflicts("imported")).toEqual([]);
});

test("an import of a thread's newer checkpoints goes on", async () => {
  const storage = new Storage();
  const tuples = await source();
  await bring(storage.open().saver, tuples.slice(0, 2));
  await bring(storage.open().saver, tuples);
  expect((await twoSteps(storage.open().saver).getState(thread)).values).toMatchObject({
    log: stepsBy("source"),
  });
});

test("an import of a thread that was forked reads each parent first, and has all lines and the head", async () => {
  const { saver } = new Storage().open();
  await twoSteps(saver).invoke({ who: "source" }, thread);
  const before: CheckpointTuple[] = [];
  for await (const tuple of saver.list(thread)) before.push(tuple);
  await twoSteps(saver).updateState(before[1]!.config, { log: ["by hand"] }, "one");
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list(thread)) tuples.push(tuple);
  const storage = new Storage();
  await bring(storage.open().saver, tuples.toReversed(), true);
  const { saver: reader } = storage.open();
  for (const { config } of tuples)
    expect((await twoSteps(reader).getState(config)).values).toEqual(
      (await twoSteps(saver).getState(config)).values,
    );
  expect(await twoSteps(reader).getState(thread)).toEqual(await twoSteps(saver).getState(thread));
});

test("an imported checkpoint that a run puts again still counts all pending writes of its parent as its own", async () => {
  const storage = new Storage();
  await bring(storage.open().saver, await source());
  const { saver } = storage.open();
  // What stands for a run, as in LangGraph's own configs.
  const inRun = (config: object): object => ({ ...config, control: run });
  const run = {};
  const head = (await saver.getTuple(inRun(thread)))!;
  await saver.getTuple(inRun(head.parentConfig!));
  const consumed = async (): Promise<unknown> => {
    for await (const { record } of storage.tier.list({ threadId: "imported", namespace: "", limit: 1 }))
      return (await saver.coder.decodeBody(record)).consumed;
    return "there is no head";
  };
  expect(await consumed()).toBeUndefined();
  await saver.put(inRun(head.config), head.checkpoint, { ...head.metadata!, step: 77 }, {});
  expect((await storage.open().saver.getTuple(thread))!.metadata!.step).toBe(77);
  expect(await consumed()).toBeUndefined();
});
