import { MemoryTier } from "@stratigraph/core";
import type { Address, AppendRequest, AppendWritesRequest } from "@stratigraph/core/tier";
import { expect, test } from "vitest";
import { allRounds } from "../../../../../test/rounds.ts";

const day = 86_400_000;

const at = (threadId: string): Address => ({ threadId, namespace: "", checkpointId: "c1" });

function put(threadId: string): AppendRequest {
  const record = { ...at(threadId), terms: [], blobs: [], body: new Uint8Array(1) };
  const heads = [{ namespace: "", to: "c1", expected: [] }];
  return { threadId, records: [record], blobs: [], heads, onConflict: "refuse" };
}

function early(threadId: string): AppendWritesRequest {
  return { ...at(threadId), taskId: "task", blobs: [], body: new Uint8Array(1), newBlobs: [] };
}

/** A tier with a clock that is moved by hand. */
function clocked() {
  let now = 1_700_000_000_000;
  const tier = new MemoryTier(() => now);
  const pass = (ms: number): void => void (now += ms);
  const deleted = async (threadId: string): Promise<void> => {
    await tier.append(put(threadId));
    await tier.deleteThread(threadId);
  };
  const tombstones = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { threadId } of tier.tombstones({})) found.push(threadId);
    return found;
  };
  return { tier, pass, deleted, tombstones };
}

test("a tombstone goes after a week, and not before", async () => {
  const { tier, pass, deleted, tombstones } = clocked();
  await deleted("first");
  pass(day);
  await deleted("second");
  pass(6 * day - 1);
  expect(await tier.sweep(0)).toBe(0);
  pass(1);
  expect(await tier.sweep(30 * day)).toBe(0);
  expect(await tier.sweep(0)).toBe(1);
  expect(await tombstones()).toEqual(["second"]);
  expect((await tier.peek(at("first"))).revision).toBe(0);
  // Where nobody sweeps, the next deletion takes it along.
  pass(day);
  await deleted("third");
  expect(await tombstones()).toEqual(["third"]);
});

test("pending writes whose checkpoint never came go once they are older than asked", async () => {
  const { tier, pass } = clocked();
  await tier.appendWrites(early("t"));
  await tier.append(put("live"));
  pass(1999);
  expect(await tier.sweep(2000)).toBe(0);
  expect((await tier.peek(at("t"))).writes).toHaveLength(1);
  pass(1);
  expect(await tier.sweep(2000)).toBe(1);
  expect((await tier.peek(at("t"))).writes).toEqual([]);
  expect((await tier.peek(at("live"))).head).toBe("c1");
  expect(await tier.sweep(0)).toBe(0);
});

test("a thread that was begun anew is no tombstone, however old", async () => {
  const { tier, pass, deleted } = clocked();
  await deleted("t");
  await tier.append(put("t"));
  pass(30 * day);
  expect(await tier.sweep(0)).toBe(0);
  expect((await tier.peek(at("t"))).head).toBe("c1");
});

test.runIf(allRounds)(
  "a hundred thousand threads without a checkpoint are kept, a thousand go per sweep",
  async () => {
    const { tier, pass } = clocked();
    for (let n = 0; n < 100_002; n += 1) await tier.appendWrites(early(`t${n}`));
    const revisions = await Promise.all(
      ["t0", "t1", "t2"].map(async (id) => (await tier.peek(at(id))).revision),
    );
    expect(revisions).toEqual([0, 0, 1]);
    pass(1);
    expect(await tier.sweep(1)).toBe(1000);
  },
);

test("the age of tags and pending writes counts from when they were written, not from the age of a thread without a checkpoint", async () => {
  const { tier, pass, deleted } = clocked();
  const tag = { key: "user_id", value: "anna" };
  await deleted("tombstone");
  await tier.appendWrites(early("early"));
  pass(8 * day);
  for (const threadId of ["tombstone", "early"]) {
    await tier.tagThread(threadId, [tag]);
    const { revision: seen } = await tier.peek(at(threadId));
    await tier.appendWrites({ ...early(threadId), seen });
  }
  expect(await tier.sweep(day)).toBe(0);
  for (const threadId of ["tombstone", "early"]) {
    const { revision: seen } = await tier.peek(at(threadId));
    await tier.append({ ...put(threadId), seen });
    expect(await tier.threadTags(threadId)).toEqual([tag]);
    expect((await tier.peek(at(threadId))).writes).not.toEqual([]);
  }
});

test("leases that nobody prolonged go, those that hold stay, and one that is given back is gone at once", async () => {
  const { tier, pass } = clocked();
  await tier.lease("dead", "one", 1000);
  await tier.lease("held", "one", 10_000);
  await tier.lease("done", "one", 1000);
  await tier.lease("done", "one", 0);
  pass(2999);
  expect(await tier.sweep(2000)).toBe(0);
  pass(1);
  expect(await tier.sweep(2000)).toBe(1);
  expect(await tier.lease("held", "two", 1000)).toBe(false);
  pass(10_000);
  expect(await tier.sweep(0)).toBe(1);
});
