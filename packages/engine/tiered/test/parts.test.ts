import { MemoryTier, StratigraphError, type Tier } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { TieredSaver, TierStack } from "@stratigraph/tiered";
import { contentsOf, largeId, largeThread, weighed } from "../../../../test/weighedTier.ts";

// Threads that are larger than what is read and appended at once, and are archived in parts.

const mb = 1 << 20;
const threadId = "large";
/** What a part has, as core says. */
const part = 8 * mb;
/** 24 MB in four parts; one checkpoint has more than a part. */
const sizes = [...Array<number>(10).fill(mb), 9 * mb, ...Array<number>(5).fill(mb)];
const thread = largeThread(threadId, sizes);
/** All bytes are the same: nothing is to be decoded. */
const check = async (): Promise<never> => Promise.reject(new Error("something was decoded"));

async function opened(without: readonly string[] = []) {
  const [warm, cold] = [weighed(new MemoryTier(), without), weighed(new MemoryTier())];
  await warm.tier.append(thread);
  warm.most.appended = 0;
  return { warm, cold, ...stackOf(warm.tier, cold.tier) };
}

function stackOf(warm: Tier, cold: Tier) {
  const stack = new TierStack({ warm, cold });
  return { stack, archive: () => stack.archiveThread!(threadId, check) };
}

const ids = Array.from(sizes, (_, n) => largeId(n + 1)).reverse();
const idsIn = async (tier: Tier): Promise<string[]> => {
  const found: string[] = [];
  for await (const { record } of tier.list({ threadId, recordsOnly: true })) found.push(record.checkpointId);
  return found;
};
const headIn = async (tier: Tier): Promise<string | undefined> =>
  (await tier.peek({ threadId, namespace: "" })).head;

test("nothing holds more than a part of a thread, or its largest checkpoint, while it is archived and read back", async () => {
  const { warm, cold, stack, archive } = await opened();
  const before = await contentsOf(warm.tier, threadId);
  for (const { most } of [warm, cold]) most.listed = 0;
  expect(await archive()).toEqual({ done: true, checkpoints: sizes.length, bytes: expect.any(Number) });
  expect(cold.most.appended).toBeLessThan(9 * mb + 1000);
  // A part is read with the whole values that its patches need, and with those of the first checkpoint that no longer fits.
  for (const { most } of [warm, cold]) expect(most.listed).toBeLessThan(part + 10 * mb);
  expect(cold.calls.filter((call) => call === "append")).toHaveLength(4);
  expect(await idsIn(warm.tier)).toEqual([]);
  expect(await contentsOf(stack, threadId)).toEqual(before);
  expect(await headIn(cold.tier)).toBe(largeId(sizes.length));
});

test("a thread of one part is archived with these calls", async () => {
  const [warm, cold] = [weighed(new MemoryTier()), weighed(new MemoryTier())];
  await warm.tier.append(largeThread(threadId, [1000, 1000, 1000]));
  warm.calls.length = 0;
  await stackOf(warm.tier, cold.tier).archive();
  expect(warm.calls).toEqual([
    ...[
      "peek",
      "peek",
      "list records",
      "list records",
      "peek",
      "peek",
      "claimKeyCheck",
      "append",
      "strays",
      "list",
      "peek",
      "peek",
      "append",
    ],
    "evict",
  ]);
  expect(cold.calls).toEqual(["peek", "list records", "append", "list"]);
  expect((await cold.tier.peek({ threadId, namespace: reservedNamespaces.copy })).head).toBeUndefined();
});

test("a dry run of a large thread tells its size without reading it", async () => {
  const { warm, stack } = await opened();
  warm.most.listed = 0;
  const all = sizes.reduce((sum, size) => sum + size, 0);
  const planned = await stack.archiveThread!(threadId, check, { dryRun: true });
  expect(planned).toMatchObject({ done: false, checkpoints: sizes.length });
  expect(planned!.bytes - all).toBeLessThan(1000);
  expect(warm.most.listed).toBeLessThan(part + 10 * mb);
});

test("until the last part is there, the copy has no head, and the owner answers", async () => {
  const { warm, cold, stack, archive } = await opened();
  const before = await contentsOf(stack, threadId);
  const seen: unknown[] = [];
  cold.beforeAppend = async (number) => {
    seen.push([await headIn(cold.tier), (await idsIn(cold.tier)).length]);
    if (number === 3) expect(await contentsOf(stack, threadId)).toEqual(before);
  };
  await archive();
  expect(seen).toEqual([
    [undefined, 0],
    [undefined, 7],
    [undefined, 10],
    [undefined, 11],
  ]);
  expect(await idsIn(warm.tier)).toEqual([]);
});

describe.each([
  ["for the first time", false],
  ["again, after it was restored and continued", true],
])("archived %s", (_name, again) => {
  async function begun() {
    const places = await opened();
    if (again) {
      await places.archive();
      await places.stack.restoreThread!(threadId);
      await places.warm.tier.append(largeThread(threadId, [mb], sizes.length + 1));
    }
    return { ...places, all: again ? [largeId(sizes.length + 1), ...ids] : ids };
  }

  test.each([1, 2, 3, 4])("an archiver that dies before part %i is followed by another one", async (dies) => {
    const { warm, cold, archive, stack, all } = await begun();
    const before = await contentsOf(stack, threadId);
    let appends = 0;
    cold.beforeAppend = () => {
      if ((appends += 1) === dies) throw new StratigraphError("UNAVAILABLE", "gone");
    };
    await expect(archive()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    cold.beforeAppend = () => undefined;
    expect(await contentsOf(stack, threadId)).toEqual(before);
    const next = stackOf(warm.tier, cold.tier);
    expect(await next.archive()).toMatchObject({ done: true, checkpoints: all.length });
    expect(await idsIn(warm.tier)).toEqual([]);
    expect(await idsIn(cold.tier)).toEqual(all);
    expect(await contentsOf(next.stack, threadId)).toEqual(before);
  });

  test("a write between two parts: the thread stays where it is, and is archived the next time", async () => {
    const { warm, cold, archive, stack } = await begun();
    const last = again ? sizes.length + 1 : sizes.length;
    cold.beforeAppend = async (number) => {
      if (number % 2 === 0) await warm.tier.append(largeThread(threadId, [mb], last + number));
    };
    const missing = largeThread(threadId, [10], last + 1);
    await warm.tier.append({ ...missing, heads: [{ ...missing.heads[0]!, expected: [largeId(last)] }] });
    await archive().catch(() => undefined);
    expect((await idsIn(warm.tier)).length).toBeGreaterThan(last);
    cold.beforeAppend = () => undefined;
    const before = await contentsOf(stack, threadId);
    expect(await archive()).toMatchObject({ done: true });
    expect(await contentsOf(stack, threadId)).toEqual(before);
  });

  test.each([2, 3, 4])("a deletion before part %i: nothing of the thread is there", async (when) => {
    const { warm, cold, archive } = await begun();
    let appends = 0;
    cold.beforeAppend = async () => {
      if ((appends += 1) === when) await stackOf(warm.tier, cold.tier).stack.deleteThread(threadId);
    };
    expect(await archive()).toMatchObject({ done: false });
    expect([await idsIn(warm.tier), await idsIn(cold.tier)]).toEqual([[], []]);
    expect(await cold.tier.blobs(threadId)).toEqual([]);
  });

  test.each([1, 2, 12])("checkpoint %i is pruned before part 3: it doesn't come back", async (n) => {
    const { warm, cold, archive, all } = await begun();
    const pruned = { threadId, namespace: "", checkpointId: largeId(n) };
    let appends = 0;
    cold.beforeAppend = async () => {
      if ((appends += 1) !== 3) return;
      const { stack } = stackOf(warm.tier, cold.tier);
      const { revision } = await stack.peek({ threadId, namespace: "" });
      const rest = { dropBlobs: [], replaceBlobs: [], heads: [] };
      expect(await stack.remove({ threadId, revision, checkpoints: [pruned], ...rest })).toBe(true);
    };
    expect(await archive()).toMatchObject({ done: false });
    cold.beforeAppend = () => undefined;
    const left = all.filter((id) => id !== pruned.checkpointId);
    expect(await idsIn(stackOf(warm.tier, cold.tier).stack)).toEqual(left);
    expect(await archive()).toMatchObject({ done: true, checkpoints: left.length });
    expect(await idsIn(cold.tier)).toEqual(left);
  });

  test("two archivers at once: one of them finishes, and everything is there once", async () => {
    const { warm, cold, archive, stack, all } = await begun();
    const before = await contentsOf(stack, threadId);
    const other = stackOf(warm.tier, cold.tier);
    let appends = 0;
    cold.beforeAppend = async () => {
      if ((appends += 1) === 3) await other.archive();
    };
    await archive();
    cold.beforeAppend = () => undefined;
    if ((await idsIn(warm.tier)).length > 0) expect(await archive()).toMatchObject({ done: true });
    expect(await idsIn(cold.tier)).toEqual(all);
    expect(await contentsOf(stack, threadId)).toEqual(before);
  });
});

test.each([1, 8, 14])(
  "a value of checkpoint %i that the archive loses is noticed, and the thread stays",
  async (n) => {
    const warm = weighed(new MemoryTier());
    const request = largeThread(threadId, sizes);
    await warm.tier.append(request);
    const lost = request.blobs[n - 1]!.hash;
    const inner = new MemoryTier();
    const cold = new Proxy(inner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "append")
          return (each: typeof thread) =>
            target.append({
              ...each,
              relies: false,
              blobs: each.blobs.map((blob) =>
                blob.hash === lost ? { ...blob, bytes: Buffer.alloc(9) } : blob,
              ),
            });
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    await expect(stackOf(warm.tier, cold).archive()).rejects.toThrow("something was decoded");
    expect(await idsIn(warm.tier)).toEqual(ids);
  },
);

test.each([[[]], [["tombstones", "strays"]]])(
  "what a killed archiver left goes with its thread, also if nobody got to the archive at the deletion (without %j)",
  async (without) => {
    const { warm, cold } = await opened(without);
    const open = () =>
      new TieredSaver({ warm: warm.tier, cold: cold.tier, deleteArchivedAfter: "90d", pause: "0ms" });
    // The archive is looked through once a day.
    await open().maintain();
    let appends = 0;
    cold.beforeAppend = () => {
      if ((appends += 1) === 3) throw new StratigraphError("UNAVAILABLE", "gone");
    };
    await expect(stackOf(warm.tier, cold.tier).archive()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    cold.beforeAppend = () => undefined;
    expect(await idsIn(cold.tier)).not.toEqual([]);
    // The deletion's process dies before it gets to the archive.
    await warm.tier.deleteThread(threadId);
    await open().maintain();
    expect(await idsIn(cold.tier)).toEqual([]);
    expect(await cold.tier.blobs(threadId)).toEqual([]);
  },
);

test("a copy of a thread that is under way isn't archived", async () => {
  const { warm, cold, archive } = await opened();
  const mark = { namespace: reservedNamespaces.copy, to: "somebody", expected: [] };
  await warm.tier.deleteThread(threadId);
  await warm.tier.append({ ...largeThread(threadId, [10, 10]), heads: [mark] });
  expect(await archive()).toBeUndefined();
  expect(await idsIn(cold.tier)).toEqual([]);
  expect((await warm.tier.peek({ threadId, namespace: reservedNamespaces.life })).head).toBeUndefined();
});
