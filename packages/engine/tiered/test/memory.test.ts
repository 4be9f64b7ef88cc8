import { InvalidOptionError, MemoryTier } from "@stratigraph/core";
import {
  BoundedMemoryTier,
  TieredSaver,
  boundedMemory,
  type BoundedMemoryOptions,
} from "@stratigraph/tiered";
import { put, stepsOf, text, valueOf } from "./support.ts";

/** A saver on the bounded tier alone, which is only for looking at what it holds: nobody may have one, as the tier forgets. */
function opened(options: BoundedMemoryOptions, now?: () => number) {
  const tier = Object.assign(new BoundedMemoryTier(options, now), { forgets: false });
  return { tier, saver: new TieredSaver({ warm: tier }) };
}

test("the least recently used thread goes first, as a whole, and the size is kept", async () => {
  const { tier, saver } = opened({ maxSize: "40kb" });
  for (let thread = 0; thread < 30; thread += 1) {
    for (let n = 1; n <= 3; n += 1)
      await put(saver, `t${thread}`, n, text(`${thread} ${n} ${Math.random()}`));
    expect(tier.size).toBeLessThanOrEqual(40 * 1024);
    if (thread > 0) expect(await valueOf(saver, "t0")).toMatch(/^0 3 /);
  }
  const held: string[] = [];
  for await (const { threadId } of tier.threads({})) held.push(threadId);
  expect(held.length).toBeGreaterThan(3);
  expect(held).toContain("t0");
  expect(held).toContain("t29");
  expect(held).not.toContain("t1");
  for (const threadId of held) expect(await stepsOf(saver, threadId)).toEqual([3, 2, 1]);
  for (const threadId of held) await tier.deleteThread(threadId);
  expect(tier.size).toBe(0);
});

test("a thread that is forgotten while it is written to takes no room", async () => {
  const { tier } = opened({});
  const at = { threadId: "t", namespace: "", checkpointId: "c" };
  const record = { ...at, terms: [], blobs: [], body: new Uint8Array(1000) };
  const writing = tier.append({
    threadId: "t",
    records: [record],
    blobs: [],
    heads: [],
    onConflict: "branch",
  });
  await tier.deleteThread("t");
  await writing;
  expect(tier.size).toBe(0);
});

test("a thread larger than the limit isn't kept at all", async () => {
  const { tier, saver } = opened({ maxSize: "2kb" });
  for (let n = 1; n <= 5; n += 1)
    await put(
      new TieredSaver({ warm: tier }),
      "t",
      n,
      Array.from({ length: 300 }, () => Math.random()),
    );
  expect(await valueOf(saver, "t")).toBeUndefined();
  expect(tier.size).toBe(0);
});

test("threads not used for forgetAfter go", async () => {
  const clock = { now: 0 };
  const { tier, saver } = opened({ forgetAfter: "1m" }, () => clock.now);
  await put(saver, "idle", 1, text("one"));
  await put(saver, "used", 1, text("one"));
  clock.now += 50_000;
  await valueOf(saver, "used");
  clock.now += 50_000;
  expect(await valueOf(saver, "idle")).toBeUndefined();
  expect(await valueOf(saver, "used")).toBe(text("one"));
  expect(tier.size).toBeLessThan(3000);
});

test("lists go over all threads, the newest or oldest first, up to a limit", async () => {
  const clock = { now: 0 };
  const { tier, saver } = opened({}, () => clock.now);
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  for (const thread of ["one", "two", "three"]) {
    vi.setSystemTime(Date.now() + 1000);
    for (let n = 1; n <= 2; n += 1) await put(saver, thread, n, text(thread));
  }
  vi.useRealTimers();
  const idsOf = async (order: "newest" | "oldest", limit?: number) => {
    const found: string[] = [];
    for await (const { threadId } of tier.threads({ order, ...(limit === undefined ? {} : { limit }) }))
      found.push(threadId);
    return found;
  };
  expect(await idsOf("newest")).toEqual(["three", "two", "one"]);
  expect(await idsOf("oldest", 2)).toEqual(["one", "two"]);
  let listed = 0;
  for await (const _ of tier.list({ limit: 3 })) listed += 1;
  expect(listed).toBe(3);
});

test("a slice of a driver's large buffer doesn't keep the buffer", async () => {
  const tier = boundedMemory();
  const large = new Uint8Array(1_000_000);
  const blob = { hash: "a".repeat(40), bytes: large.subarray(10, 100) };
  const at = { threadId: "t", namespace: "", checkpointId: "c" };
  const record = { ...at, terms: [], blobs: [blob.hash], body: large.subarray(0, 10) };
  await tier.append({ threadId: "t", records: [record], blobs: [blob], heads: [], onConflict: "branch" });
  const { checkpoint } = await tier.read(at);
  expect(checkpoint!.blobs.get(blob.hash)!.bytes.buffer.byteLength).toBe(90);
  expect(checkpoint!.record.body.buffer.byteLength).toBe(10);
});

test("a write looks only at what it brings, however long its thread is", async () => {
  const { saver } = opened({});
  const listed = vi.spyOn(MemoryTier.prototype, "blobs");
  const asked = vi.spyOn(MemoryTier.prototype, "hasBlob");
  try {
    const looks: number[] = [];
    for (let n = 1; n <= 100; n += 1) {
      listed.mockClear();
      asked.mockClear();
      await put(saver, "t", n, text(`value ${n}`));
      const blobs = await Promise.all(listed.mock.results.map(({ value }) => value as Promise<unknown[]>));
      looks.push(asked.mock.calls.length + blobs.flat().length);
    }
    expect(new Set(looks)).toEqual(new Set([1]));
  } finally {
    listed.mockRestore();
    asked.mockRestore();
  }
});

test("an ended tier refuses calls, and holds nothing", async () => {
  const { tier, saver } = opened({});
  await put(saver, "t", 1, text("one"));
  await tier.end();
  await tier.end();
  expect(tier.size).toBe(0);
  const closed = { code: "CLOSED", data: { tier: "memory" } };
  await expect(tier.ping()).rejects.toMatchObject(closed);
  await expect(tier.peek({ threadId: "t", namespace: "" })).rejects.toMatchObject(closed);
  await expect(put(saver, "t", 2, text("two"))).rejects.toMatchObject(closed);
});

test("options are checked", () => {
  for (const options of [{ maxSize: 0 }, { maxSize: "lots" }, { forgetAfter: "soon" }])
    expect(() => boundedMemory(options as never)).toThrow(InvalidOptionError);
});
