import { chooseTtls } from "../../src/adaptive/chooseTtls.ts";
import { placeOfTtl, ReturnTimes, type Outlook } from "../../src/adaptive/returnTimes.ts";
import { randomNumbers } from "../../../../../test/bench/randomNumbers.ts";

const ttlMs = 60_000;

/** What is known of a kind of threads of so many bytes each, which were used again after these times, or never. */
function outlook(bytes: number, afterMs: readonly (number | "never")[]): Outlook {
  const times = new ReturnTimes(ttlMs);
  for (const after of afterMs) {
    times.began(bytes);
    if (after !== "never") times.ended(after, bytes);
  }
  return times.outlook();
}

function many<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

test("the fixed ttl is one of the choices, and both uses and memory grow with the time", () => {
  const { ttlsMs, found, taken } = outlook(100, [1_000, 30_000, ttlMs, 2 * ttlMs, 9 * ttlMs, "never"]);
  expect(ttlsMs[placeOfTtl]).toBeCloseTo(ttlMs);
  expect([ttlsMs[0], ttlsMs.at(-1)]).toEqual([ttlMs / 16, 8 * ttlMs]);
  // A use exactly after the ttl still finds the copy.
  expect(found[placeOfTtl]).toBe(3);
  expect(found.at(-1)).toBe(4);
  for (let place = 1; place < ttlsMs.length; place += 1) {
    expect(found[place]!).toBeGreaterThanOrEqual(found[place - 1]!);
    expect(taken[place]!).toBeGreaterThan(taken[place - 1]!);
  }
});

test("what doesn't come back goes soon, and what comes back after the ttl is kept for that", () => {
  const gone = outlook(1_000, many(1_000, "never"));
  const back = outlook(1_000, many(100, 3 * ttlMs));
  const [forGone, forBack] = chooseTtls([gone, back, undefined]);
  expect(forGone).toBe(ttlMs / 16);
  expect(forBack).toBeGreaterThanOrEqual(3 * ttlMs);
  expect(forBack).toBeLessThan(4 * ttlMs);
});

test("where nothing is known, nothing is chosen; where all kinds are alike, the ttl stays about the same", () => {
  expect(chooseTtls([undefined, undefined])).toEqual([undefined, undefined]);
  const alike = () =>
    outlook(500, [
      ...Array.from({ length: 80 }, (_, n) => 2_000 * 2 ** (n / 10)),
      ...many(20, "never" as const),
    ]);
  for (const chosen of chooseTtls([alike(), alike(), alike()])) {
    expect(chosen).toBeGreaterThan(ttlMs / 3);
    expect(chosen).toBeLessThan(3 * ttlMs);
  }
});

test("of two kinds that come back alike, the smaller threads are kept longer", () => {
  const after = [...many(30, 0.5 * ttlMs), ...many(30, 2 * ttlMs), ...many(40, "never" as const)];
  const [small, large] = chooseTtls([outlook(100, after), outlook(100_000, after)]);
  expect(small).toBeGreaterThan(large!);
});

test("whatever the past was: no more memory than the fixed ttl, and no fewer uses found", () => {
  const random = randomNumbers(17);
  for (let round = 0; round < 300; round += 1) {
    const outlooks = Array.from({ length: 1 + Math.floor(random() * 20) }, () => {
      const scale = ttlMs * 2 ** (12 * random() - 8);
      const never = random();
      return outlook(
        10 ** (6 * random()),
        Array.from({ length: 1 + Math.floor(random() * 60) }, () =>
          random() < never ? "never" : scale * 2 ** (4 * random() - 2),
        ),
      );
    });
    const chosen = chooseTtls(outlooks);
    const sum = (of: "found" | "taken", place: (outlook: Outlook, n: number) => number): number =>
      outlooks.reduce((total, each, n) => total + each[of][place(each, n)]!, 0);
    const place = ({ ttlsMs }: Outlook, n: number): number => ttlsMs.indexOf(chosen[n]!);
    expect(sum("taken", place)).toBeLessThanOrEqual(sum("taken", () => placeOfTtl) * (1 + 1e-9));
    expect(sum("found", place)).toBeGreaterThanOrEqual(sum("found", () => placeOfTtl));
  }
});
