import fc from "fast-check";
import { expect, test } from "vitest";
import { type Known, PayloadCache } from "../../src/incremental/payloadCache.ts";
import { AppendOnlyBuffer, Payload } from "../../src/incremental/payload.ts";

const chain = { depth: 0, bytes: 0 };
const end = Uint8Array.of(0x5d);

function known(payload: Payload): Known {
  return { payload, whole: { stored: 1, length: 1 }, beginning: undefined, upper: chain, lower: chain };
}

/** A value with memory of its own. */
function alone(bytes: number): Known {
  return known(Payload.of(new Uint8Array(bytes)));
}

/** Values in one memory, each so many bytes longer than the one before. */
function growing(count: number, bytes: number): Known[] {
  const memory = AppendOnlyBuffer.for(0);
  return Array.from({ length: count }, (_, n) => {
    memory.reserve((n + 1) * bytes + end.length);
    memory.add(new Uint8Array(bytes).fill(n));
    return known(new Payload(memory, memory.used, end));
  });
}

test("what was asked for longest ago is forgotten first", () => {
  const values = new PayloadCache(3000);
  for (const hash of ["a", "b"]) values.set("thread", hash, alone(1000));
  values.get("thread", "a");
  values.set("thread", "c", alone(1000));
  expect(["a", "b", "c"].filter((hash) => values.has("thread", hash))).toEqual(["a", "c"]);
  expect(values.get("thread", "b")).toBeUndefined();
});

test("values that share their memory take it once, and go together", () => {
  const values = new PayloadCache(100_000);
  const all = growing(50, 1000);
  for (const [n, each] of all.entries()) values.set("thread", `${n}`, each);
  expect(all.every((each, n) => values.get("thread", `${n}`) === each)).toBe(true);
  values.set("other", "large", alone(90_000));
  expect(all.some((_, n) => values.has("thread", `${n}`))).toBe(false);
  expect(values.has("other", "large")).toBe(true);
});

test("of those in one memory only so many are remembered, the first chain's beginning among them as long as it is asked for", () => {
  const values = new PayloadCache(1 << 20);
  for (const [n, each] of growing(600, 10).entries()) {
    values.set("thread", `${n}`, each);
    values.get("thread", "0");
  }
  const left = Array.from({ length: 600 }, (_, n) => n).filter((n) => values.has("thread", `${n}`));
  expect(left.length).toBe(256);
  expect(left.slice(0, 2)).toEqual([0, 345]);
});

test("a value larger than everything is not remembered, whatever was in its memory before", () => {
  const values = new PayloadCache(2000);
  for (const [n, each] of growing(4, 1000).entries()) values.set("thread", `${n}`, each);
  expect([0, 1, 2, 3].filter((n) => values.has("thread", `${n}`))).toEqual([]);
  values.set("thread", "0", alone(100));
  expect(values.has("thread", "0")).toBe(true);
  expect(new PayloadCache(0).get("thread", "0")).toBeUndefined();
});

test("forgetting a thread leaves one whose id only begins alike", () => {
  const values = new PayloadCache(10_000);
  for (const thread of ["1", "10"]) for (const hash of ["a", "b"]) values.set(thread, hash, alone(10));
  values.forgetThread("1");
  expect(["1", "10"].map((thread) => values.has(thread, "a"))).toEqual([false, true]);
  values.forgetThread("none");
});

test("random use keeps to the limit, and what is there is what was set last", () => {
  const step = fc.record({
    thread: fc.constantFrom("1", "10", "2"),
    hash: fc.constantFrom("a", "b", "c", "d"),
    what: fc.oneof(fc.nat(3000), fc.constantFrom("get", "forget", "grow")),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const values = new PayloadCache(5000);
      const model = new Map<string, Known>();
      const memory = AppendOnlyBuffer.for(0);
      const set = (thread: string, hash: string, value: Known): void => {
        values.set(thread, hash, value);
        model.set(`${thread} ${hash}`, value);
      };
      for (const { thread, hash, what } of steps) {
        if (what === "get") values.get(thread, hash);
        else if (what === "forget") {
          values.forgetThread(thread);
          for (const key of model.keys()) if (key.startsWith(`${thread} `)) model.delete(key);
        } else if (what === "grow") {
          memory.reserve(memory.used + 400);
          memory.add(new Uint8Array(400));
          set(thread, hash, known(new Payload(memory, memory.used, end)));
        } else set(thread, hash, alone(what));
        const left = [...model].filter(([key, value]) => {
          const [id, name] = key.split(" ") as [string, string];
          if (!values.has(id, name)) return false;
          expect(values.get(id, name)).toBe(value);
          return true;
        });
        const memories = new Set(left.map(([, { payload }]) => payload.memory));
        const bytes = [...memories].reduce((sum, { capacity }) => sum + capacity, left.length * 256);
        expect(bytes).toBeLessThanOrEqual(5000);
      }
    }),
    { numRuns: 300 },
  );
});
