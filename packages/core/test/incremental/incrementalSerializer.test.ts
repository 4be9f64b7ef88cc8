import { expect, test } from "vitest";
import { Envelope } from "../../src/encode/envelope.ts";
import type { AppendOnlyBuffer } from "../../src/incremental/payload.ts";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { IncrementalSerializer } from "../../src/incremental/incrementalSerializer.ts";
import { BlobEncoder } from "../../src/encode/blobEncoder.ts";

const limit = 1 << 24;

function open(patchMemory: number): IncrementalSerializer {
  const values = new BlobEncoder(new Envelope(undefined, limit), { patchMemory, maxValueBytes: limit });
  return IncrementalSerializer.for(new StratigraphSerializer(), values)!;
}

const at = (threadId: string) => ({ threadId, namespace: "", checkpointId: "1" });

test("a channel's values share their memory until they are larger than what may be remembered", () => {
  const similar = open(40_000);
  const list: string[] = [];
  const memories = new Set<object>();
  const lengths: number[] = [];
  for (let n = 0; n < 30; n += 1) {
    list.push(`${n}`.repeat(500).slice(0, 500));
    const { payload } = similar.payload(at("thread"), "messages", list)!;
    memories.add(payload.memory);
    lengths.push(payload.length);
  }
  const remembered = lengths.filter((length) => length + 256 <= 10_000).length;
  expect(remembered).toBeGreaterThan(15);
  expect(memories.size).toBe(lengths.length - remembered);
});

test("many threads share what may be remembered, the one used last first", () => {
  const similar = open(40_000);
  const first = (thread: string) =>
    similar.payload(at(thread), "messages", ["x".repeat(3000)])!.payload.memory;
  const memories = ["a", "b", "c", "d"].map(first);
  expect(["d", "c"].map(first)).toEqual([memories[3], memories[2]]);
  expect(first("a")).not.toBe(memories[0]);
  similar.forgetThread("c");
  expect(first("c")).not.toBe(memories[2]);
});

test("what values grew by counts, whether or not it comes to be stored", async () => {
  const values = new BlobEncoder(new Envelope(undefined, limit), {
    patchMemory: 80_000,
    maxValueBytes: limit,
  });
  const similar = IncrementalSerializer.for(new StratigraphSerializer(), values)!;
  const threads = ["a", "b", "c", "d", "e", "f"];
  const memories = new Map<string, AppendOnlyBuffer>();
  for (const thread of threads) {
    const list = ["x".repeat(5000)];
    const stored = similar.payload(at(thread), "messages", list)!;
    values.remember(thread, await values.encode(thread, stored, undefined));
    memories.set(thread, stored.payload.memory);
    list.push("y".repeat(12_000));
    const refused = similar.payload(at(thread), "messages", list)!;
    expect(refused.payload.memory).toBe(stored.payload.memory);
    const { blob } = await values.encode(thread, refused, stored.hash);
    expect(blob?.base).toBe(stored.hash);
    const known = threads.filter((id) => values.lengthOf(id, stored.hash) !== undefined);
    const bytes = known.reduce((sum, id) => sum + memories.get(id)!.capacity, 0);
    expect(bytes).toBeLessThanOrEqual(60_000);
    expect(known).toContain(thread);
  }
});
