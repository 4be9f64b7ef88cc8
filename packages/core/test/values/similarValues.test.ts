import { expect, test } from "vitest";
import { Envelope } from "../../src/envelope.ts";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { SimilarValues } from "../../src/similarValues.ts";
import { Values } from "../../src/values.ts";

const limit = 1 << 24;

function open(patchMemory: number): SimilarValues {
  const values = new Values(new Envelope(undefined, limit), { patchMemory, maxValueBytes: limit });
  return SimilarValues.for(new StratigraphSerializer(), values)!;
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
