import { createHash } from "node:crypto";
import { StratigraphError } from "@stratigraph/core";
import { preferredInstance } from "@stratigraph/service";
import fc from "fast-check";
import { expect, test } from "vitest";

const threads = Array.from({ length: 3000 }, (_, n) => `thread ${n}`);

/** Names of 2 to 12 instances. */
const names = fc.uniqueArray(fc.stringMatching(/^[a-z0-9.:-]{1,20}$/), { minLength: 2, maxLength: 12 });

function placesOf(instances: readonly string[]): Map<string, string> {
  return new Map(threads.map((thread) => [thread, preferredInstance(thread, instances)]));
}

test("it is the instance whose documented score is largest, in any order of names", () => {
  fc.assert(
    fc.property(names, fc.string({ minLength: 1 }), (instances, thread) => {
      const score = (name: string): string =>
        createHash("sha256")
          .update(Buffer.from(`${name}\n${thread}`, "utf8"))
          .digest("hex");
      const expected = instances.toSorted((a, b) => (score(a) < score(b) ? 1 : -1))[0];
      expect(preferredInstance(thread, instances)).toBe(expected);
      expect(preferredInstance(thread, [...instances.toReversed(), instances[0]!])).toBe(expected);
    }),
  );
});

test("processes of other versions answer the same: known answers", () => {
  const instances = ["agents-0", "agents-1", "agents-2"];
  const known = Object.fromEntries(
    ["ada", "grace", "a thread with 😀", "4f6c"].map((thread) => [
      thread,
      preferredInstance(thread, instances),
    ]),
  );
  expect(known).toMatchInlineSnapshot(`
    {
      "4f6c": "agents-0",
      "a thread with 😀": "agents-2",
      "ada": "agents-0",
      "grace": "agents-2",
    }
  `);
});

test("if an instance goes, only its threads move; if one comes, threads move to it alone, and each has its share", () => {
  fc.assert(
    fc.property(names, fc.nat(), (instances, pick) => {
      const gone = instances[pick % instances.length]!;
      const others = instances.filter((name) => name !== gone);
      const [all, fewer] = [placesOf(instances), placesOf(others)];
      for (const [thread, place] of all)
        if (place === gone) expect(others).toContain(fewer.get(thread));
        else expect(fewer.get(thread)).toBe(place);
      // Five standard deviations of a binomial distribution: one run among a million is outside by chance.
      const share = 1 / instances.length;
      const spread = 5 * Math.sqrt(threads.length * share * (1 - share));
      for (const name of instances) {
        const count = [...all.values()].filter((place) => place === name).length;
        expect(Math.abs(count - threads.length * share)).toBeLessThan(spread);
      }
    }),
    { numRuns: 6 },
  );
});

test.each([
  ["no instances", "t", [], "INVALID_OPTION"],
  ["no list", "t", "agents-0", "INVALID_OPTION"],
  ["an empty name", "t", [""], "INVALID_OPTION"],
  ["a name of two lines", "t", ["a\nb"], "INVALID_OPTION"],
  ["a name that is no text", "t", [7], "INVALID_OPTION"],
  ["an empty thread id", "", ["a"], "INVALID_ADDRESS"],
  ["a thread id that is no text", undefined, ["a"], "INVALID_ADDRESS"],
])("%s is refused with a typed error", (_what, thread, instances, code) => {
  const call = () => preferredInstance(thread as string, instances as string[]);
  expect(call).toThrow(expect.objectContaining({ code }));
  expect(call).toThrow(StratigraphError);
});
