import { setImmediate as turn } from "node:timers/promises";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import {
  exportThreads,
  importThreads,
  moveThreads,
  saverSource,
  saverTarget,
  type CopyReport,
} from "@stratigraph/migrate";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";
import { throughFile } from "./support/throughFile.ts";

// Right after a run was stopped, a thread is read with all that the run still stores.

/** A run. */
function open() {
  const door = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(door);
  const controller = new AbortController();
  const put = async (parent?: string): Promise<string> => {
    const id = uuid6(0);
    const named = parent === undefined ? {} : { checkpoint_id: parent };
    const configurable = { thread_id: "ada", checkpoint_ns: "", ...named };
    const checkpoint = { ...emptyCheckpoint(), id };
    const metadata = { source: "loop", step: 0, parents: {} } as const;
    await saver.put({ configurable, signal: controller.signal }, checkpoint, metadata, {});
    return id;
  };
  return { door, saver, put, stop: () => controller.abort(), signal: controller.signal };
}

/** A thread, and a run of it that was stopped while it stores its last checkpoint. */
async function stopped(isNew: boolean) {
  const { door, saver, put, stop } = open();
  const first = isNew ? undefined : await put();
  const hold = door.hold("append");
  const last = put(first);
  await hold.reached;
  stop();
  return { saver, hold, last };
}

/** Lets everything happen that only waits for its turn. */
async function turns(): Promise<void> {
  for (let n = 0; n < 100; n += 1) await turn();
}

const head = async (saver: TierSaver) =>
  (await saver.getTuple({ configurable: { thread_id: "ada" } }))?.checkpoint.id;

const ways: Record<string, (from: TierSaver, to: TierSaver) => Promise<CopyReport>> = {
  moved: async (from, to) => await moveThreads(from, to),
  "moved and deleted": async (from, to) => await moveThreads(from, to, { source: "delete" }),
  "moved by its id": async (from, to) =>
    await moveThreads(from, to, { threadIds: ["ada"], source: "delete" }),
  imported: async (from, to) => await importThreads(saverSource(from), to),
  "imported by its id": async (from, to) =>
    await importThreads(saverSource(from), to, { threadIds: ["ada"] }),
  exported: async (from, to) => await exportThreads(from, saverTarget(to)),
  "exported to a file": async (from, to) => await throughFile(from, to),
};

test.each(Object.keys(ways).flatMap((way) => [false, true].map((isNew) => ({ way, isNew }))))(
  "a thread that is $way has all that a stopped run stored (new thread: $isNew)",
  async ({ way, isNew }) => {
    const { saver, hold, last } = await stopped(isNew);
    const target = new TierSaver(new MemoryTier());
    const doing = ways[way]!(saver, target);
    // It could have ended by now.
    await turns();
    hold.release();
    expect(await doing).toMatchObject({ complete: true, threads: 1, differences: [] });
    expect(await head(target)).toBe(await last);
  },
);

test("what a run stores that was stopped while its thread was moved is moved, too", async () => {
  const { door, saver, put, stop, signal } = open();
  const first = await put();
  await saver.getTuple({ configurable: { thread_id: "ada" }, signal });
  const there = new FaultyTier(new MemoryTier());
  const target = new TierSaver(there);
  const copying = there.hold("append");
  const moving = moveThreads(saver, target, { source: "delete" });
  await copying.reached;
  const storing = door.hold("append");
  stop();
  copying.release();
  const last = put(first);
  await turns();
  storing.release();
  expect(await moving).toMatchObject({ complete: true, threads: 1, differences: [] });
  expect([await head(saver), await head(target)]).toEqual([undefined, await last]);
});

test("a run that was stopped before its thread was moved, and reads afterwards, doesn't bring it back", async () => {
  const { saver, put } = open();
  await put();
  const late = new AbortController();
  late.abort();
  await moveThreads(saver, new TierSaver(new MemoryTier()), { source: "delete" });
  const configurable = { thread_id: "ada", checkpoint_ns: "" };
  expect(await saver.getTuple({ configurable, signal: late.signal })).toBeUndefined();
  const metadata = { source: "input", step: -1, parents: {} } as const;
  await saver.put(
    { configurable, signal: late.signal },
    { ...emptyCheckpoint(), id: uuid6(0) },
    metadata,
    {},
  );
  expect(await head(saver)).toBeUndefined();
});

test("a run that reads while its thread is moved and deleted doesn't bring it back", async () => {
  const { door, saver, put, signal } = open();
  await put();
  const hold = door.hold("read");
  const reading = saver.getTuple({ configurable: { thread_id: "ada" }, signal });
  await hold.reached;
  const report = await moveThreads(saver, new TierSaver(new MemoryTier()), { source: "delete" });
  expect(report).toMatchObject({ complete: true, threads: 1 });
  hold.release();
  await reading;
  await put();
  expect(await head(saver)).toBeUndefined();
});
