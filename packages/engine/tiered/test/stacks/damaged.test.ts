import { randomBytes } from "node:crypto";
import { MemoryTier, type Tier } from "@stratigraph/core";
import type { LeaseKeeper } from "@stratigraph/core/tier";
import { TieredSaver } from "@stratigraph/tiered";
import { put, stepsOf, text } from "../support.ts";
import { storages } from "./support/damagedStorages.ts";

// One thread whose own fields are damaged keeps no maintenance from the others.

/** The step that tells of it. */
const told = expect.objectContaining({
  what: "sweep",
  error: expect.objectContaining({ code: "CORRUPT" }),
});

test.each(storages)("%s: the others are pruned and archived, and it is told", async (_name, open) => {
  const { tier: warm, damage, close } = await open();
  const ids = ["a", "damaged", "z"];
  const pruning = new TieredSaver({ warm, keepLast: 1, pause: "0ms" });
  await pruning.setup();
  const archiving = new TieredSaver(
    { warm, cold: new MemoryTier(), archiveAfter: "1m", pause: "0ms" },
    () => Date.now() + 600_000,
  );
  try {
    for (const id of ids) for (const n of [1, 2]) await put(pruning, id, n, text(`${id} ${n}`));
    await damage("damaged");
    const of = (what: string) =>
      ["a", "z"].map((threadId) => expect.objectContaining({ what, threadId, done: true }));
    const pruned = (await pruning.maintain()).steps;
    expect(pruned).toEqual(expect.arrayContaining([...of("prune"), told]));
    expect(await stepsOf(pruning, "a")).toEqual([2]);
    const archived = (await archiving.maintain()).steps;
    expect(archived).toEqual(expect.arrayContaining([...of("archive"), told]));
    expect(archived.filter(({ error }) => error !== undefined)).toHaveLength(1);
  } finally {
    await archiving.end();
    await close();
  }
});

test.each(storages)(
  "%s: where more are damaged than a batch may change, the others have their turns",
  async (_name, open) => {
    const { tier: warm, damage, close } = await open();
    const archiving = new TieredSaver(
      { warm, cold: new MemoryTier(), archiveAfter: "1m", maxThreads: 1, pause: "0ms" },
      () => Date.now() + 600_000,
    );
    const deleting = new TieredSaver(
      { warm, deleteAfter: "1m", maxThreads: 1, pause: "0ms" },
      () => Date.now() + 600_000,
    );
    await archiving.setup();
    try {
      for (const id of ["damaged", "broken", "a", "z"]) await put(archiving, id, 1, text(id));
      for (const id of ["damaged", "broken"]) await damage(id);
      for (const saver of [archiving, deleting]) {
        const done: (string | undefined)[] = [];
        for (let round = 0; round < 3; round += 1)
          for (const step of (await saver.maintain()).steps) if (step.done) done.push(step.threadId);
        expect(done).toEqual(["a", "z"]);
      }
    } finally {
      await archiving.end();
      await close();
    }
  },
);

test("an archive: deletions of others are finished", async () => {
  const [, open] = storages[2]!;
  const { tier: cold, damage, close } = await open();
  const warm = new MemoryTier();
  let aheadMs = 600_000;
  const saver = new TieredSaver(
    { warm, cold, archiveAfter: "1m", deleteArchivedAfter: "5m", pause: "0ms" },
    () => Date.now() + aheadMs,
  );
  await saver.setup();
  try {
    for (const id of ["a", "damaged", "z"]) await put(saver, id, 1, text(id));
    expect((await saver.maintain()).steps).toHaveLength(3);
    await damage("damaged");
    aheadMs *= 2;
    const { steps } = await saver.maintain();
    const gone = ["a", "z"].map((threadId) =>
      expect.objectContaining({ what: "delete", threadId, done: true }),
    );
    expect(steps).toEqual(expect.arrayContaining([...gone, told]));
  } finally {
    await saver.end();
    await close();
  }
});

test.each(storages)("%s: the others are encrypted anew, and it is told", async (_name, open) => {
  const { tier, damage, close } = await open();
  const encryption = { keys: { one: randomBytes(32) }, activeKey: "one", hashKey: randomBytes(32) };
  const saver = new TieredSaver({ warm: tier, encryption });
  await saver.setup();
  try {
    for (const id of ["a", "damaged", "z"]) await put(saver, id, 1, text(id));
    await damage("damaged");
    const { threads, failed, failures, cursor } = await saver.reencrypt();
    expect([threads, failures, cursor]).toEqual([2, 1, undefined]);
    expect(failed).toMatchObject([{ error: { code: "CORRUPT" } }]);
  } finally {
    await saver.end();
    await close();
  }
});

test.each(storages)("%s: the others are deleted by their tags, and it is told", async (_name, open) => {
  const { tier, damage, damageHead, close } = await open();
  const saver = new TieredSaver({ warm: tier });
  await saver.setup();
  const tag = { user: "anna" };
  try {
    for (const id of ["a", "damaged", "headless", "z"]) {
      await put(saver, id, 1, text(id));
      await saver.tagThread(id, tag);
    }
    await put(saver, "another's", 1, text("stays"));
    await damage("damaged");
    await damageHead?.("headless");
    const dry = await saver.deleteThreads({ tag }, { dryRun: true });
    expect(dry.threads).toHaveLength(4);
    for (let repeated = 0; repeated < 2; repeated += 1) {
      const { complete, threads } = await saver.deleteThreads({ tag });
      expect(complete).toBe(false);
      const gone = threads.flatMap(({ verified, threadId }) => (verified ? [threadId] : []));
      expect(gone.toSorted()).toEqual(repeated === 0 ? ["a", "headless", "z"] : []);
      expect(threads.filter(({ verified }) => !verified)).toEqual([
        expect.objectContaining({
          reason: expect.stringMatching(/may carry the tags.*can't be read.*damaged/s),
        }),
      ]);
    }
    for (const id of ["a", "headless", "z"])
      expect((await tier.peek({ threadId: id, namespace: "" })).head).toBeUndefined();
    expect(await stepsOf(saver, "another's")).toEqual([1]);
  } finally {
    await saver.end();
    await close();
  }
});

/** A stack whose process died in each deletion after the warm tier's part, so that the archive has all threads. */
async function halfDeleted(
  warm: Tier,
  cold: Tier,
  ids: readonly string[],
): Promise<{ saver: TieredSaver; later: (ms: number) => void }> {
  let aheadMs = 600_000;
  const saver = new TieredSaver({ warm, cold, archiveAfter: "1m", pause: "0ms" }, () => Date.now() + aheadMs);
  await saver.setup();
  for (const id of ids) await put(saver, id, 1, text(id));
  expect((await saver.maintain()).steps.filter(({ what }) => what === "archive")).toHaveLength(ids.length);
  for (const id of ids) await warm.deleteThread(id);
  return { saver, later: (ms) => void (aheadMs += ms) };
}

const finished = (...ids: readonly string[]) =>
  ids.map((threadId) => expect.objectContaining({ what: "finish-deletion", threadId, done: true }));

test("a mark of a deleted thread: deletions of others are finished, it is told, and a sweep removes it", async () => {
  const [, open] = storages[0]!;
  const { tier: warm, damage, close } = await open();
  const cold = new MemoryTier();
  const { saver } = await halfDeleted(warm, cold, ["a", "damaged", "z"]);
  try {
    await damage("damaged");
    const { steps } = await saver.maintain();
    expect(steps).toEqual(expect.arrayContaining([...finished("a", "z"), told]));
    const { error } = steps.find((step) => step.error !== undefined)!;
    expect(String(error)).toMatch(/mark of a deleted thread .* ff0002/);
    // What the error advises: the archive alone can delete its copy.
    await new TieredSaver({ warm: cold }).deleteThread("damaged");
    expect((await cold.peek({ threadId: "damaged", namespace: "" })).head).toBeUndefined();
  } finally {
    await saver.end();
    await close();
  }
});

test("a copy of a deleted thread in the archive: deletions of others are finished, and it is told", async () => {
  const [, open] = storages[2]!;
  const { tier: cold, damage, close } = await open();
  const { saver } = await halfDeleted(new MemoryTier(), cold, ["a", "damaged", "z"]);
  try {
    await damage("damaged");
    for (const already of [false, true]) {
      const { steps } = await saver.maintain();
      expect(steps).toEqual(expect.arrayContaining([...(already ? [] : finished("a", "z")), told]));
    }
  } finally {
    await saver.end();
    await close();
  }
});

test("a head of the warm tier: deletions of others are found in the archive, and it is told", async () => {
  const { tier: warm, damageHead, close } = await storages[0]![1]();
  let aheadMs = 120_000;
  const saver = new TieredSaver(
    { warm, cold: new MemoryTier(), archiveAfter: "1m", deleteArchivedAfter: "5m", pause: "0ms" },
    () => Date.now() + aheadMs,
  );
  await saver.setup();
  try {
    for (const id of ["a", "damaged", "z"]) await put(saver, id, 1, text(id));
    await saver.maintain();
    await damageHead!("damaged");
    // Begun anew, so that no mark of the deletion is left: only a search of the whole archive finds what is left of them.
    for (const id of ["a", "z"]) {
      await warm.deleteThread(id);
      expect(await saver.getTuple({ configurable: { thread_id: id } })).toBeUndefined();
      await put(saver, id, 2, text(`${id} anew`), 0);
    }
    await (warm as Tier & LeaseKeeper).lease("archive looked through", "archive looked through", 0);
    const { steps } = await saver.maintain();
    expect(steps).toEqual(expect.arrayContaining([...finished("a", "z"), told]));
    // What is too old in the archive goes, though nobody can tell whose the damaged thread's copy is.
    aheadMs += 600_000;
    const gone = (await saver.maintain()).steps.filter(({ what, done }) => what === "delete" && done);
    expect(gone.map(({ threadId }) => threadId).sort()).toEqual(["a", "z"]);
  } finally {
    await saver.end();
    await close();
  }
});
