import { MemorySaver, MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { contentsOf, largeId, largeThread, weighed } from "../../../../../test/weighedTier.ts";

// Copies of threads that are larger than what is read and appended at once. The tier can't copy inside, as between two databases.

const mb = 1 << 20;
const sizes = [...Array<number>(10).fill(mb), 9 * mb, ...Array<number>(5).fill(mb)];
const thread = largeThread("large", sizes);

async function opened() {
  const inner = new MemoryTier();
  await inner.append(thread);
  const place = weighed(inner, ["copyThread"]);
  const saver = new TierSaver(place.tier);
  return { ...place, place, inner, saver, copy: () => saver.copyThread("large", "copy") };
}

const rootOf = (threadId: string) => ({ threadId, namespace: "" });

async function withoutHead(found: Promise<unknown[]>): Promise<unknown[]> {
  return (await found).map((each) => ({ ...(each as object), head: undefined }));
}

test("a copy holds a part of the thread at once, or its largest checkpoint", async () => {
  const { most, calls, tier, copy } = await opened();
  const before = await contentsOf(tier, "large");
  most.listed = 0;
  calls.length = 0;
  await copy();
  expect(most.appended).toBeLessThan(9 * mb + 1000);
  expect(most.listed).toBeLessThan(18 * mb);
  expect(calls.filter((call) => call === "append")).toHaveLength(5);
  expect(await contentsOf(tier, "copy")).toEqual(before);
});

test("a small copy asks whether source and target are archived, and takes few calls", async () => {
  const { tier, calls } = weighed(new MemoryTier(), ["copyThread"]);
  await tier.append(largeThread("small", [1000, 1000]));
  calls.length = 0;
  await new TierSaver(tier).copyThread("small", "copy");
  expect(calls).toEqual(["peek", "list records", "peek", "list", "threadTags", "peek", "append"]);
});

test("until the last part is there, the copy is no thread: it has no head, and no list names it", async () => {
  const { place, tier, saver, copy } = await opened();
  const seen: unknown[] = [];
  place.beforeAppend = async () => {
    const { threads } = await saver.listThreads();
    seen.push([(await tier.peek(rootOf("copy"))).head, threads.map(({ threadId }) => threadId)]);
  };
  await copy();
  expect(seen).toEqual(Array.from({ length: 4 }, () => [undefined, ["large"]]));
});

test.each([1, 2, 3, 4])(
  "what a process left that died before part %i is replaced by the next copy",
  async (dies) => {
    const { place, tier, saver, copy } = await opened();
    await tier.append(largeThread("other", [mb, mb]));
    let appends = 0;
    place.beforeAppend = () => {
      if ((appends += 1) === dies) throw new StratigraphError("UNAVAILABLE", "gone");
    };
    await expect(copy()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    place.beforeAppend = () => undefined;
    expect((await tier.peek(rootOf("copy"))).head).toBeUndefined();
    await saver.copyThread("other", "copy");
    expect(await contentsOf(tier, "copy")).toEqual(await contentsOf(tier, "other"));
    await expect(copy()).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  },
);

test("a head that is lost after a copy in parts is lost", async () => {
  const { tier, copy } = await opened();
  await copy();
  const { revision } = await tier.peek(rootOf("copy"));
  const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  expect(await tier.remove({ threadId: "copy", revision, ...nothing, heads: [{ namespace: "" }] })).toBe(
    true,
  );
  expect((await tier.peek(rootOf("copy"))).headless).toBe(true);
});

test("checkpoints without a head that aren't a copy's are left alone", async () => {
  const { tier, copy } = await opened();
  await tier.append({ ...largeThread("copy", [10]), heads: [] });
  await expect(copy()).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  expect(await contentsOf(tier, "copy")).toHaveLength(1);
});

test.each([2, 4])(
  "another copy to the same id before append %i: one of them is there, whole",
  async (when) => {
    const { place, tier, saver, copy } = await opened();
    await tier.append({ ...largeThread("other", [5 * mb, 5 * mb, 5 * mb]) });
    let other: unknown;
    place.beforeAppend = async (number) => {
      if (number === when) other = await saver.copyThread("other", "copy").catch((error: unknown) => error);
    };
    await expect(copy()).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    expect(other).toBeUndefined();
    expect(await contentsOf(tier, "copy")).toEqual(await contentsOf(tier, "other"));
  },
);

test("a part that comes after what was brought before was removed isn't accepted", async () => {
  const { place, inner, tier, saver, copy } = await opened();
  place.beforeAppend = async (number) => {
    // What a copy begins with: it removes what another one left. That one isn't dead.
    if (number === 3) await saver.copyThread("nothing", "copy");
  };
  await expect(copy()).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  expect(await contentsOf(tier, "copy")).toEqual([]);
  expect(await inner.blobs("copy")).toEqual([]);
});

test("a thread that is copied to the same id after it was looked for stays as it is", async () => {
  const { inner, tier, saver, copy } = await opened();
  await tier.append(largeThread("other", [10, 10]));
  const { threadTags } = inner;
  inner.threadTags = async (threadId) => {
    inner.threadTags = threadTags;
    await saver.copyThread("other", "copy");
    return await inner.threadTags(threadId);
  };
  await expect(copy()).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  expect(await contentsOf(tier, "copy")).toEqual(await contentsOf(tier, "other"));
});

test("a thread that somebody begins meanwhile has nothing of the copy", async () => {
  const { place, inner, tier, copy } = await opened();
  place.beforeAppend = async (number) => {
    if (number === 4) await inner.append({ ...largeThread("copy", [10], 100), seen: 0 });
  };
  await expect(copy()).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
  expect(await contentsOf(tier, "copy")).toMatchObject([{ checkpointId: largeId(100) }]);
});

test.each([2, 3])("a checkpoint that is pruned before part %i isn't in the copy", async (when) => {
  const { place, tier, copy } = await opened();
  let appends = 0;
  place.beforeAppend = async () => {
    if ((appends += 1) !== when) return;
    const { revision } = await tier.peek(rootOf("large"));
    const checkpoints = [{ ...rootOf("large"), checkpointId: largeId(12) }];
    const rest = { dropBlobs: [], replaceBlobs: [], heads: [] };
    expect(await tier.remove({ threadId: "large", revision, checkpoints, ...rest })).toBe(true);
  };
  await copy();
  expect(await contentsOf(tier, "copy")).toEqual(await contentsOf(tier, "large"));
});

test("a thread that goes on meanwhile is copied as it was, and can be copied again", async () => {
  const { place, inner, tier, saver, copy } = await opened();
  const before = await contentsOf(tier, "large");
  place.beforeAppend = async (number) => {
    await inner.append(largeThread("large", [10], sizes.length + number));
  };
  await copy();
  expect(await withoutHead(contentsOf(tier, "copy"))).toEqual(await withoutHead(Promise.resolve(before)));
  place.beforeAppend = () => undefined;
  await saver.copyThread("large", "again");
  expect(await contentsOf(tier, "again")).toEqual(await contentsOf(tier, "large"));
});

test.each(["", "a deleted one's"])("the copy gets an id, %s", async (what) => {
  const { tier, copy } = await opened();
  if (what !== "") {
    await tier.append(largeThread("copy", [10, 10]));
    await tier.deleteThread("copy");
  }
  // Its oldest checkpoint names a parent, as that of a pruned thread does.
  const { revision } = await tier.peek(rootOf("large"));
  const checkpoints = [{ ...rootOf("large"), checkpointId: largeId(1) }];
  await tier.remove({
    threadId: "large",
    revision,
    checkpoints,
    dropBlobs: [],
    replaceBlobs: [],
    heads: [],
  });
  await copy();
  expect(await contentsOf(tier, "copy")).toEqual(await contentsOf(tier, "large"));
});

test("a saver keeps the mark of a copy from users", async () => {
  const saver = new MemorySaver();
  const configurable = { thread_id: "t", checkpoint_ns: reservedNamespaces.copy };
  await expect(saver.getTuple({ configurable })).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
});
