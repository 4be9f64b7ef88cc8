import fc from "fast-check";
import { expect, test } from "vitest";
import { type CachedPayload, PayloadCache } from "../../src/incremental/payloadCache.ts";
import { AppendOnlyBuffer } from "../../src/incremental/appendOnlyBuffer.ts";
import { Payload } from "../../src/incremental/payload.ts";

const chain = { depth: 0, bytes: 0 };
const end = Uint8Array.of(0x5d);

function cached(payload: Payload): CachedPayload {
  return {
    payload,
    whole: { stored: 1, length: 1 },
    beginning: undefined,
    sinceBeginning: chain,
    underBeginning: chain,
  };
}

/** A value with a buffer of its own. */
function alone(bytes: number): CachedPayload {
  return cached(Payload.of(new Uint8Array(bytes)));
}

/** Values that share a buffer, each this many bytes longer than the one before. */
function growing(count: number, bytes: number): CachedPayload[] {
  const buffer = AppendOnlyBuffer.withRoomFor(0);
  return Array.from({ length: count }, (_, n) => {
    buffer.reserve((n + 1) * bytes + end.length);
    buffer.add(new Uint8Array(bytes).fill(n));
    return cached(new Payload(buffer, buffer.length, end));
  });
}

test("the least recently used value is evicted first", () => {
  const values = new PayloadCache(3000);
  for (const hash of ["a", "b"]) values.set("thread", hash, alone(1000));
  values.get("thread", "a");
  values.set("thread", "c", alone(1000));
  expect(["a", "b", "c"].filter((hash) => values.has("thread", hash))).toEqual(["a", "c"]);
  expect(values.get("thread", "b")).toBeUndefined();
});

test("values that share a buffer count it once, and are evicted together", () => {
  const values = new PayloadCache(100_000);
  const all = growing(50, 1000);
  for (const [n, each] of all.entries()) values.set("thread", `${n}`, each);
  expect(all.every((each, n) => values.get("thread", `${n}`) === each)).toBe(true);
  values.set("other", "large", alone(90_000));
  expect(all.some((_, n) => values.has("thread", `${n}`))).toBe(false);
  expect(values.has("other", "large")).toBe(true);
});

test("a buffer keeps at most 256 values, among them one that is used all the time, such as a chain's beginning", () => {
  const values = new PayloadCache(1 << 20);
  for (const [n, each] of growing(600, 10).entries()) {
    values.set("thread", `${n}`, each);
    values.get("thread", "0");
  }
  const left = Array.from({ length: 600 }, (_, n) => n).filter((n) => values.has("thread", `${n}`));
  expect(left.length).toBe(256);
  expect(left.slice(0, 2)).toEqual([0, 345]);
});

test("a value larger than the limit is not remembered, nor are the earlier values in its buffer", () => {
  const values = new PayloadCache(2000);
  for (const [n, each] of growing(4, 1000).entries()) values.set("thread", `${n}`, each);
  expect([0, 1, 2, 3].filter((n) => values.has("thread", `${n}`))).toEqual([]);
  values.set("thread", "0", alone(100));
  expect(values.has("thread", "0")).toBe(true);
  expect(new PayloadCache(0).get("thread", "0")).toBeUndefined();
});

test("forgetting a thread leaves another one whose id begins with the same characters", () => {
  const values = new PayloadCache(10_000);
  for (const thread of ["1", "10"]) for (const hash of ["a", "b"]) values.set(thread, hash, alone(10));
  values.forgetThread("1");
  expect(["1", "10"].map((thread) => values.has(thread, "a"))).toEqual([false, true]);
  values.forgetThread("none");
});

test("any sequence of calls keeps to the limit, and gives what was set last", () => {
  const step = fc.record({
    thread: fc.constantFrom("1", "10", "2"),
    hash: fc.constantFrom("a", "b", "c", "d"),
    what: fc.oneof(fc.nat(3000), fc.constantFrom("get", "forget", "grow")),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const values = new PayloadCache(5000);
      const model = new Map<string, CachedPayload>();
      const buffer = AppendOnlyBuffer.withRoomFor(0);
      const set = (thread: string, hash: string, value: CachedPayload): void => {
        values.set(thread, hash, value);
        model.set(`${thread} ${hash}`, value);
      };
      for (const { thread, hash, what } of steps) {
        if (what === "get") values.get(thread, hash);
        else if (what === "forget") {
          values.forgetThread(thread);
          for (const key of model.keys()) if (key.startsWith(`${thread} `)) model.delete(key);
        } else if (what === "grow") {
          buffer.reserve(buffer.length + 400);
          buffer.add(new Uint8Array(400));
          set(thread, hash, cached(new Payload(buffer, buffer.length, end)));
        } else set(thread, hash, alone(what));
        const left = [...model].filter(([key, value]) => {
          const [id, name] = key.split(" ") as [string, string];
          if (!values.has(id, name)) return false;
          expect(values.get(id, name)).toBe(value);
          return true;
        });
        const buffers = new Set(left.map(([, { payload }]) => payload.buffer));
        const bytes = [...buffers].reduce((sum, { capacity }) => sum + capacity, left.length * 256);
        expect(bytes).toBeLessThanOrEqual(5000);
      }
    }),
    { numRuns: 300 },
  );
});
