import { expect, test } from "vitest";
import { Envelope } from "../../src/encode/envelope.ts";
import type { AppendOnlyBuffer } from "../../src/incremental/appendOnlyBuffer.ts";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { IncrementalSerializer } from "../../src/incremental/incrementalSerializer.ts";
import { BlobEncoder } from "../../src/encode/blobEncoder.ts";

const limit = 1 << 24;

function open(patchMemory: number): IncrementalSerializer {
  const values = new BlobEncoder(new Envelope(undefined, limit), { patchMemory, maxValueBytes: limit });
  return IncrementalSerializer.for(new StratigraphSerializer(), values)!;
}

const at = (threadId: string) => ({ threadId, namespace: "", checkpointId: "1" });

test("a channel's successive values share a buffer until they are too large to be remembered", () => {
  const incremental = open(40_000);
  const list: string[] = [];
  const buffers = new Set<object>();
  const lengths: number[] = [];
  for (let n = 0; n < 30; n += 1) {
    list.push(`${n}`.repeat(500).slice(0, 500));
    const { payload } = incremental.payload(at("thread"), "messages", list)!;
    buffers.add(payload.buffer);
    lengths.push(payload.length);
  }
  const remembered = lengths.filter((length) => length + 256 <= 10_000).length;
  expect(remembered).toBeGreaterThan(15);
  expect(buffers.size).toBe(lengths.length - remembered);
});

test("the least recently used thread is forgotten first", () => {
  const incremental = open(40_000);
  const first = (thread: string) =>
    incremental.payload(at(thread), "messages", ["x".repeat(3000)])!.payload.buffer;
  const buffers = ["a", "b", "c", "d"].map(first);
  expect(["d", "c"].map(first)).toEqual([buffers[3], buffers[2]]);
  expect(first("a")).not.toBe(buffers[0]);
  incremental.forgetThread("c");
  expect(first("c")).not.toBe(buffers[2]);
});

test("what is added to a buffer counts against the limit, whether or not it comes to be stored", async () => {
  const values = new BlobEncoder(new Envelope(undefined, limit), {
    patchMemory: 80_000,
    maxValueBytes: limit,
  });
  const incremental = IncrementalSerializer.for(new StratigraphSerializer(), values)!;
  const threads = ["a", "b", "c", "d", "e", "f"];
  const buffers = new Map<string, AppendOnlyBuffer>();
  for (const thread of threads) {
    const list = ["x".repeat(5000)];
    const stored = incremental.payload(at(thread), "messages", list)!;
    values.remember(thread, await values.encode(thread, stored, undefined));
    buffers.set(thread, stored.payload.buffer);
    list.push("y".repeat(12_000));
    const refused = incremental.payload(at(thread), "messages", list)!;
    expect(refused.payload.buffer).toBe(stored.payload.buffer);
    const { blob } = await values.encode(thread, refused, stored.hash);
    expect(blob?.base).toBe(stored.hash);
    const known = threads.filter((id) => values.lengthOf(id, stored.hash) !== undefined);
    const bytes = known.reduce((sum, id) => sum + buffers.get(id)!.capacity, 0);
    expect(bytes).toBeLessThanOrEqual(60_000);
    expect(known).toContain(thread);
  }
});
