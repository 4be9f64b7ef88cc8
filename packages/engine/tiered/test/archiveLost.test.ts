import type { CheckpointListOptions } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { setBackTier } from "../../../../test/setBack/setBackTier.ts";
import { configOf, put, stepsOf, text, valueOf } from "./support.ts";

// The warm tier says that a thread is archived, and the archive doesn't have it: it is another one, or was set back to a backup.

const day = 86_400_000;

const shapes: readonly (readonly [string, () => Partial<TieredSaverOptions>])[] = [
  ["warm > cold", () => ({})],
  ["hot > warm > cold", () => ({ hot: new MemoryTier() })],
  ["hot > warm > cold, trusted", () => ({ hot: new MemoryTier(), consistency: "trusted" })],
  ["warm > cold, restored by writes alone", () => ({ restoreOn: "write" })],
];

function opened(warm: Tier, cold: Tier, options: Partial<TieredSaverOptions> = {}): TieredSaver {
  const archive = new FaultyTier(cold, "archive");
  const stack = { warm, cold: archive, archiveAfter: "7d", pause: "0ms", ...options } as const;
  return new TieredSaver(stack, () => Date.now() + 30 * day);
}

const archivedBy = async (saver: TieredSaver): Promise<unknown[]> =>
  (await saver.maintain()).steps.map(({ what, threadId, done }) => [what, threadId, done]);

const told = (threadId: string) => ({
  code: "EVICTED",
  data: { tier: "archive", threadId },
  message: expect.stringContaining("the archive (tier archive) doesn't have them"),
});

/** Every way to read, copy or restore a thread, but for what is in the warm tier. */
function* waysTo(saver: TieredSaver, threadId: string, lost: number): Generator<() => Promise<unknown>> {
  yield () => valueOf(saver, threadId, lost);
  yield () => saver.list(configOf(threadId, lost)).next();
  yield () => stepsOf(saver, threadId);
  yield () => saver.copyThread(threadId, "copy");
  yield () => saver.tier.restoreThread!(threadId);
}

describe.each(shapes)("%s", (_, options) => {
  test("another archive: calls that need the right one say so, and with the right one everything is there", async () => {
    const [warm, cold] = [new MemoryTier(), new MemoryTier()];
    const saver = opened(warm, cold, options());
    for (const n of [1, 2, 3]) await put(saver, "t", n, text(`t ${n}`));
    expect(await archivedBy(saver)).toEqual([["archive", "t", true]]);
    const wrong = opened(warm, new MemoryTier(), options());
    for (const call of [() => valueOf(wrong, "t"), ...waysTo(wrong, "t", 2)])
      await expect(call()).rejects.toMatchObject(told("t"));
    expect(await valueOf(wrong, "unknown")).toBeUndefined();
    expect(await valueOf(wrong, "copy")).toBeUndefined();
    await put(wrong, "other", 1, text("other"));
    expect(await archivedBy(wrong)).toEqual([["archive", "other", true]]);
    const right = opened(warm, cold, options());
    expect(await stepsOf(right, "t")).toEqual([3, 2, 1]);
    await put(right, "t", 4, text("t 4"));
    expect(await valueOf(right, "t", 1)).toBe(text("t 1"));
  });

  test("an archive that was restored from a backup: what it has is read, and no history becomes shorter", async () => {
    const [warm, cold] = [new MemoryTier(), setBackTier()];
    const saver = opened(warm, cold, options());
    for (const n of [1, 2]) await put(saver, "t", n, text(`t ${n}`));
    await archivedBy(saver);
    const { mark } = cold;
    for (const n of [3, 4]) await put(saver, "t", n, text(`t ${n}`));
    expect(await archivedBy(saver)).toEqual([["archive", "t", true]]);
    await cold.setBack(mark);
    const living = [saver, opened(warm, cold, options())];
    for (const each of living) {
      await each.tier.dropCopies("t");
      await each.tier.idle();
      const prune = () => each.prune(["t"], { strategy: "keep_latest" });
      for (const call of [() => valueOf(each, "t"), ...waysTo(each, "t", 3), prune])
        await expect(call()).rejects.toMatchObject(told("t"));
      expect(await valueOf(each, "t", 1)).toBe(text("t 1"));
    }
  });

  test("the root's head is lost, and the archive is open: what is archived isn't taken for nothing, and nothing is changed", async () => {
    const warm = new MemoryTier();
    const cold = new MemoryTier();
    const saver = opened(warm, cold, options());
    for (const id of ["t", "gone"]) for (const n of [1, 2, 3]) await put(saver, id, n, text(`${id} ${n}`));
    await archivedBy(saver);
    const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
    const { revision, head } = await warm.peek({ threadId: "t", namespace: "" });
    await warm.remove({ threadId: "t", revision, ...nothing, heads: [{ namespace: "" }] });
    const other = opened(warm, cold, options());
    const listAll = async (): Promise<void> => {
      for await (const _ of other.list({ configurable: {} }));
    };
    const calls = [() => valueOf(other, "t"), ...waysTo(other, "t", 3), ...waysTo(other, "t", 1), listAll];
    const prune = () => other.prune(["t"], { strategy: "keep_latest" });
    const promote = () => other.promote(configOf("t", 2));
    for (const call of [...calls, prune, promote])
      await expect(call()).rejects.toMatchObject({ code: "CORRUPT", data: { threadId: "t" } });
    expect(await valueOf(other, "copy")).toBeUndefined();
    await saver.deleteThread("gone");
    expect(await stepsOf(other, "gone")).toEqual([]);
    const seen: unknown[] = [];
    for await (const { record, head: to } of other.tier.list({ recordsOnly: true }))
      seen.push([record.threadId, to]);
    expect(seen).toEqual([1, 2, 3].map(() => ["t", undefined]));
    const heads = [{ namespace: "", to: head!, expected: [] }];
    await warm.append({ threadId: "t", records: [], blobs: [], heads, onConflict: "refuse" });
    expect(await stepsOf(other, "t")).toEqual([3, 2, 1]);
  });

  test("a thread that was continued since: its newest state is read and continued, and no shorter history is returned", async () => {
    const [warm, cold] = [new MemoryTier(), new MemoryTier()];
    const saver = opened(warm, cold, options());
    for (const n of [1, 2]) await put(saver, "t", n, text(`t ${n}`));
    await archivedBy(saver);
    await put(saver, "t", 3, text("t 3"));
    const wrong = opened(warm, new MemoryTier(), options());
    for (const call of waysTo(wrong, "t", 1)) await expect(call()).rejects.toMatchObject(told("t"));
    expect(await valueOf(wrong, "t")).toBe(text("t 3"));
    await put(wrong, "t", 4, text("t 4"));
    // It stays in the warm tier: in a second archive it would begin with what is here, and look whole.
    const { steps } = await wrong.maintain();
    expect(steps).toMatchObject([{ what: "archive", done: false, error: told("t") }]);
    expect(await valueOf(new TierSaver(warm), "t")).toBe(text("t 4"));
    expect(await archivedBy(opened(warm, cold, options()))).toEqual([["archive", "t", true]]);
    expect(await stepsOf(opened(warm, cold, options()), "t")).toEqual([4, 3, 2, 1]);
  });
});

test("a thread in use whose archive was deleted after its time is archived anew", async () => {
  // The archive, and one that has forgotten since that it deleted something.
  for (const forgets of [false, true]) {
    const [warm, cold] = [new MemoryTier(), new MemoryTier()];
    const saver = opened(warm, cold);
    for (const n of [1, 2]) await put(saver, "t", n, text(`t ${n}`));
    await archivedBy(saver);
    await put(saver, "t", 3, text("t 3"));
    const expiring = opened(warm, cold, { archiveAfter: undefined, deleteArchivedAfter: "7d" });
    expect((await expiring.maintain()).steps).toMatchObject([{ what: "delete", threadId: "t", done: true }]);
    const later = opened(warm, forgets ? new MemoryTier() : cold);
    expect(await stepsOf(later, "t")).toEqual([3]);
    await put(later, "t", 4, text("t 4"));
    expect(await archivedBy(later)).toEqual([["archive", "t", true]]);
    expect(await stepsOf(later, "t")).toEqual([4, 3]);
  }
});

test("an archive that was told to delete a thread isn't another one", async () => {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const saver = opened(warm, cold);
  for (const n of [1, 2]) await put(saver, "t", n, text(`t ${n}`));
  await archivedBy(saver);
  await put(saver, "t", 3, text("t 3"));
  await cold.deleteThread("t");
  expect(await archivedBy(saver)).toEqual([["archive", "t", true]]);
  expect(await stepsOf(saver, "t")).toEqual([3]);
});

test("a checkpoint that was pruned from a healthy archive isn't there, and that is all", async () => {
  const saver = opened(new MemoryTier(), new MemoryTier());
  for (const n of [1, 2, 3]) await put(saver, "t", n, text(`t ${n}`));
  await archivedBy(saver);
  await saver.prune(["t"], { strategy: "keep_latest" });
  expect(await valueOf(saver, "t", 1)).toBeUndefined();
  expect(await stepsOf(saver, "t")).toEqual([3]);
  expect((await saver.getTuple(configOf("t", 9)))?.checkpoint).toBeUndefined();
});

test("a list of an archived checkpoint that a filter or a place leaves out is empty, and nothing is lost", async () => {
  const saver = opened(new MemoryTier(), new MemoryTier());
  for (const n of [1, 2]) await put(saver, "t", n, text(`t ${n}`));
  await archivedBy(saver);
  const listed = async (options: CheckpointListOptions): Promise<number> => {
    let count = 0;
    for await (const _ of saver.list(configOf("t", 2), options)) count += 1;
    return count;
  };
  expect(await listed({})).toBe(1);
  expect(await listed({ filter: { source: "input" } })).toBe(0);
  expect(await listed({ before: configOf("t", 1) })).toBe(0);
});

test("a value that the archive lost is named when the thread is restored, and isn't taken for a busy thread", async () => {
  const cold = new MemoryTier();
  const saver = opened(new MemoryTier(), cold);
  for (const n of [1, 2]) await put(saver, "t", n, text(`t ${n}`));
  await archivedBy(saver);
  const { hash } = (await cold.blobs("t"))[0]!;
  const { revision } = await cold.peek({ threadId: "t", namespace: "" });
  const nothing = { checkpoints: [], heads: [], replaceBlobs: [] };
  await cold.remove({ threadId: "t", revision, dropBlobs: [hash], ...nothing });
  await expect(saver.tier.restoreThread!("t")).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringContaining(`blob ${hash} is missing in its archive (tier archive)`),
  });
});
