import { expect, test } from "vitest";
import { KeyNames } from "../src/keyNames.ts";

// In a cluster a key's slot is that of what stands in its first braces. Keys that one script uses must be in one slot.

/** What Redis Cluster hashes of a key. */
function hashTag(key: string): string {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

const ids = ["plain", "{}", "{a}b", "a{b", "}{", "x".repeat(81), "ü", "a b", "{", "}"];

test("a thread's keys and those of its copies are in one slot, whatever its id", () => {
  const keys = new KeyNames("p:");
  const tags = ids.map((id) => {
    const [tag, ...others] = new Set([...keys.thread(id), ...keys.copyOf(id)].map(hashTag));
    expect([id, others]).toEqual([id, []]);
    expect(tag).toMatch(/^[\w.:~-]+$/);
    return tag;
  });
  // Threads of different ids have different keys.
  expect(new Set(tags).size).toBe(ids.length);
});

test("leases, locks and runs of any name have no braces, so that each has a slot of its own", () => {
  const keys = new KeyNames("p:");
  for (const id of ids)
    for (const key of [keys.lease(id), keys.lock(id), keys.run(id)]) expect(key).not.toMatch(/[{}]/);
});

test("two copies at once have keys of their own", () => {
  const keys = new KeyNames("p:");
  expect(new Set([...keys.copyOf("t"), ...keys.copyOf("t"), ...keys.thread("t")]).size).toBe(6);
});

test("a prefix with braces, which would be the hash tag of every key, is refused", () => {
  for (const prefix of ["{app}:", "app{", "}"]) expect(() => new KeyNames(prefix)).toThrow(/prefix.*braces/s);
});
