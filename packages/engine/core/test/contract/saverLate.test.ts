import { RunControl } from "@langchain/langgraph";
import { emptyCheckpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { ThreadDeletedError, type TierSaver } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import {
  Storage,
  acknowledged,
  contents,
  gate,
  stepsBy,
  text,
  traced,
  twoSteps,
  unhandled,
} from "./support.ts";

const thread = { configurable: { thread_id: "t" } };
const nothing = { records: [], blobs: [] };
const metadata: CheckpointMetadata = { source: "loop", step: 1, parents: {} };

/** A run that waits in its first step, all it wrote so far acknowledged. */
async function waitingRun(storage: Storage, durability: "sync" | "async" | "exit", before = true) {
  const { saver, door } = storage.open();
  if (before) await twoSteps(saver).invoke({ who: "before", note: text("secret") }, thread);
  door.reset();
  const { during, reached, open } = gate();
  const run = twoSteps(saver, during).invoke({ who: "late", note: text("late") }, { ...thread, durability });
  const settled = Promise.allSettled([run]).then(([outcome]) => outcome!);
  await reached;
  if (durability !== "exit") await acknowledged(door, "append", 2);
  return { saver, open, settled };
}

describe("a run whose thread was deleted meanwhile", () => {
  for (const durability of ["sync", "exit"] as const) {
    test(`${durability}: rejects with ThreadDeletedError, and brings nothing back`, async () => {
      const storage = new Storage();
      const { open, settled } = await waitingRun(storage, durability);
      await storage.open().saver.deleteThread("t");
      open();
      expect(await settled).toMatchObject({ status: "rejected", reason: expect.any(ThreadDeletedError) });
      expect(await contents(storage.tier, "t")).toEqual(nothing);
      expect((await storage.open().saver.listThreads()).threads).toEqual([]);
    });
  }

  test("async: its late writes are dropped, with a trace of each", async () => {
    const events = traced();
    const reasons = unhandled();
    const storage = new Storage();
    const { open, settled } = await waitingRun(storage, "async");
    await storage.open().saver.deleteThread("t");
    open();
    expect(await settled).toMatchObject({ status: "fulfilled", value: { who: "late" } });
    expect(await contents(storage.tier, "t")).toEqual(nothing);
    expect(events.length).toBeGreaterThan(0);
    for (const event of events)
      expect(event).toMatchObject({ type: "late-write-dropped", threadId: "t", namespace: "" });
    expect(reasons).toEqual([]);
  });

  for (const durability of ["sync", "async"] as const) {
    for (const meanwhile of ["polled", "begun anew"] as const) {
      test(`${durability}: deleted and ${meanwhile} through the run's own saver`, async () => {
        const storage = new Storage();
        const { saver, open, settled } = await waitingRun(storage, durability);
        await saver.deleteThread("t");
        const graph = twoSteps(saver);
        expect((await graph.getState(thread)).values).toEqual({});
        if (meanwhile === "begun anew") await graph.invoke({ who: "new" }, thread);
        const before = await contents(storage.tier, "t");
        open();
        expect((await settled).status).toBe(durability === "sync" ? "rejected" : "fulfilled");
        expect(await contents(storage.tier, "t")).toEqual(before);
        for (const id of before.records.length > 0 ? [] : [undefined])
          expect(
            (await storage.tier.peek({ threadId: "t", namespace: "", checkpointId: id })).writes,
          ).toEqual([]);
        expect(await saver.conflicts("t")).toEqual([]);
      });
    }
  }

  test("late pending writes alone don't stay behind either", async () => {
    const storage = new Storage();
    const { saver } = storage.open();
    const run = { ...thread, control: {}, durability: "async" };
    const checkpoint = { ...emptyCheckpoint(), id: "c1" };
    await saver.getTuple(run);
    await saver.put(run, checkpoint, metadata, {});
    const at = { ...run, configurable: { ...thread.configurable, checkpoint_id: "c1" } };
    await saver.deleteThread("t");
    await saver.getTuple(thread);
    await saver.putWrites(at, [["v", text("secret", 4)]], "task");
    const inSync = { ...at, durability: "sync" };
    await expect(saver.putWrites(inSync, [["v", 1]], "task")).rejects.toBeInstanceOf(ThreadDeletedError);
    expect(await contents(storage.tier, "t")).toEqual(nothing);
    expect((await storage.tier.peek({ threadId: "t", namespace: "", checkpointId: "c1" })).writes).toEqual(
      [],
    );
  });
});

test("an update that goes on from a deleted thread stays out of the one that began anew, which its repetition reads", async () => {
  const storage = new Storage();
  const { saver } = storage.open({ conflict: "branch" });
  const put = async (id: string, parent?: string): Promise<unknown> =>
    await saver.put(
      { configurable: { thread_id: "t", checkpoint_id: parent } },
      { ...emptyCheckpoint(), id, channel_values: { note: text("note") }, channel_versions: { note: 1 } },
      metadata,
      parent === undefined ? { note: 1 } : {},
    );
  await put("1");
  await put("2", "1");
  const other = storage.open().saver;
  await other.deleteThread("t");
  await twoSteps(other).invoke({ who: "new" }, thread);
  const before = await contents(storage.tier, "t");
  await put("3", "2");
  expect(await contents(storage.tier, "t")).toEqual(before);
});

describe("a deleted thread begins anew", () => {
  const revived = async (saver: TierSaver, durability: "sync" | "async" | "exit", more: object = {}) => {
    const graph = twoSteps(saver);
    const result = await graph.invoke({ who: "new" }, { ...thread, durability, ...more });
    expect(result.log).toEqual(stepsBy("new"));
    const state = await graph.getState(thread);
    expect(state.values).toEqual({ log: stepsBy("new"), who: "new" });
    const steps: unknown[] = [];
    for await (const { metadata } of graph.getStateHistory(thread)) steps.push(metadata?.step);
    expect(steps).toEqual(durability === "exit" ? [2] : [2, 1, 0, -1]);
  };

  for (const durability of ["sync", "async", "exit"] as const) {
    test(`by a new run (${durability}), through the same saver and through another`, async () => {
      const storage = new Storage();
      const { saver } = storage.open();
      await twoSteps(saver).invoke({ who: "old", note: text("old") }, thread);
      await saver.deleteThread("t");
      await revived(saver, durability);
      await storage.open().saver.deleteThread("t");
      await revived(saver, durability);
      await saver.deleteThread("t");
      await revived(storage.open().saver, durability);
    });

    test(`by a run that shares what stands for the run with the one before (${durability})`, async () => {
      const storage = new Storage();
      const { saver } = storage.open();
      const shared = { control: new RunControl(), signal: new AbortController().signal };
      await twoSteps(saver).invoke({ who: "old" }, { ...thread, durability, ...shared });
      await saver.deleteThread("t");
      await revived(saver, durability, shared);
    });
  }

  test("by updateState, and by an import", async () => {
    const storage = new Storage();
    const { saver } = storage.open();
    const graph = twoSteps(saver);
    await graph.invoke({ who: "old" }, thread);
    await saver.deleteThread("t");
    await graph.updateState(thread, { who: "updated" }, "two");
    expect((await graph.getState(thread)).values).toEqual({ log: [], who: "updated" });
    await saver.deleteThread("t");
    await saver.put(thread, { ...emptyCheckpoint(), id: "imported" }, metadata, {});
    expect((await saver.getTuple(thread))?.checkpoint.id).toBe("imported");
  });

  test("deleting an unknown thread, or twice, is no error", async () => {
    const { saver } = new Storage().open();
    await saver.deleteThread("unknown");
    await saver.deleteThread("unknown");
    await twoSteps(saver).invoke({ who: "new" }, { configurable: { thread_id: "unknown" } });
    expect((await saver.listThreads()).threads.map(({ threadId }) => threadId)).toEqual(["unknown"]);
  });
});
