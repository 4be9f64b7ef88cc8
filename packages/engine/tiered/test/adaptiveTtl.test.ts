import { collectGarbage } from "../../../../test/collected.ts";
import { randomNumbers } from "../../../../test/bench/randomNumbers.ts";
import {
  AdaptiveTtl,
  choosePlaces,
  count,
  countNext,
  outlookOf,
  placeOfTtl,
  unknownKind,
  type Outlook,
} from "../src/adaptiveTtl.ts";

const minute = 60_000;

/** An adaptive ttl of 15 minutes whose clock is set by hand. */
function opened(): { clock: { now: number }; ttl: AdaptiveTtl } {
  const clock = { now: 0 };
  return { clock, ttl: new AdaptiveTtl(15 * minute, () => clock.now) };
}

/** Turns of threads that each come back every hour, and of nine times as many others that never do, for some hours. */
function learn({ clock, ttl }: ReturnType<typeof opened>, hours: number): void {
  for (let hour = 0; hour < hours; hour += 1) {
    for (let n = 0; n < 100; n += 1) {
      const thread = n % 10 === 0 ? `hourly ${n}` : `once ${hour} ${n}`;
      ttl.used(thread, "read");
      ttl.sized(thread, 20_000);
      clock.now += 1_000;
      ttl.used(thread, "write", 100);
    }
    clock.now = (hour + 1) * 60 * minute;
  }
}

test("threads that come back every hour are kept for it, those that never came back go sooner, and what is unknown gets the ttl", () => {
  const all = opened();
  expect(all.ttl.ttlMsOf("new")).toBe(15 * minute);
  learn(all, 40);
  expect(all.ttl.ttlMsOf("new")).toBe(15 * minute);
  expect(all.ttl.ttlMsOf("hourly 30")).toBeGreaterThanOrEqual(59 * minute);
  expect(all.ttl.ttlMsOf("hourly 30")).toBeLessThanOrEqual(120 * minute);
  all.ttl.used("another", "write", 1_000);
  expect(all.ttl.ttlMsOf("another")).toBeLessThan(15 * minute);
});

test("a scan of all threads doesn't keep them, and doesn't push out those in use", () => {
  const all = opened();
  const { clock, ttl } = all;
  learn(all, 20);
  // Each scan reads once what nobody has used for hours.
  for (let scan = 0; scan < 4; scan += 1) {
    for (let hour = 0; hour < 20; hour += 1)
      for (let n = 1; n < 100; n += n % 10 === 9 ? 2 : 1) {
        ttl.used(`once ${hour} ${n}`, "read");
        ttl.sized(`once ${hour} ${n}`, 20_000);
      }
    clock.now += 600 * minute;
  }
  ttl.used("once 3 3", "read");
  expect(ttl.ttlMsOf("once 3 3")).toBeLessThanOrEqual(2 * minute);
  ttl.used("hourly 30", "read");
  clock.now += 1_000;
  ttl.used("hourly 30", "write", 1_000);
  expect(ttl.ttlMsOf("hourly 30")).toBeGreaterThanOrEqual(15 * minute);
});

test("times are whole and within a sixteenth and eight times the ttl, whatever happens", () => {
  const { clock, ttl } = opened();
  for (let n = 0; n < 30_000; n += 1) {
    const thread = `t${(n * 7_919) % 613}`;
    ttl.used(thread, n % 3 === 0 ? "write" : "read", (n * 31) % 5_000);
    clock.now += (n * 104_729) % (5 * minute);
    const ttlMs = ttl.ttlMsOf(thread);
    expect(Number.isInteger(ttlMs) && ttlMs >= (15 * minute) / 16 && ttlMs <= 8 * 15 * minute).toBe(true);
  }
});

test("what is remembered is bounded: a million threads take a few megabytes", () => {
  const { clock, ttl } = opened();
  for (let n = 0; n < 50_000; n += 1) ttl.used(`warm up ${n}`, "write", 100);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 300_000; n += 1) {
    clock.now += 10;
    ttl.used(`thread ${n}`, "write", 100);
  }
  collectGarbage();
  // Entries of all these threads would take over 60 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5e6);
});

/** What is known of a kind of threads of so many bytes each, which were used again after so many ttls, or never. */
function outlook(bytes: number, after: readonly (number | "never")[]): Outlook {
  const kind = unknownKind();
  for (const each of after) {
    count(kind.all, bytes);
    if (each !== "never") countNext(kind, each, bytes);
  }
  return outlookOf(kind);
}

test("uses found and memory grow with the time, and a use exactly after the ttl finds the copy", () => {
  const places = outlook(100, [1 / 60, 0.5, 1, 2, 9, "never"]);
  expect([places[placeOfTtl]!.found, places.at(-1)!.found]).toEqual([3, 4]);
  for (const [n, { found, taken }] of places.entries()) {
    expect(found).toBeGreaterThanOrEqual(places[n - 1]?.found ?? 0);
    expect(taken).toBeGreaterThan(places[n - 1]?.taken ?? 0);
  }
});

test("what never comes back goes at once; of two kinds that come back alike, the smaller threads are kept longer", () => {
  const after = [0.5, 0.5, 0.5, 2, 2, 2, "never", "never", "never", "never"] as const;
  const [gone, small, large] = choosePlaces([
    outlook(1_000, ["never"]),
    outlook(10, after),
    outlook(1_000, after),
  ]);
  expect(gone).toBe(0);
  expect(small).toBeGreaterThan(large!);
});

test("whatever the past was: no more memory than the fixed ttl, and no fewer uses found", () => {
  const random = randomNumbers(17);
  for (let round = 0; round < 300; round += 1) {
    const outlooks = Array.from({ length: Math.floor(random() * 20) }, () => {
      const [scale, never] = [2 ** (12 * random() - 8), random()];
      const uses = Array.from({ length: 1 + Math.floor(random() * 60) }, () =>
        random() < never ? "never" : scale * 2 ** (4 * random() - 2),
      );
      return outlook(10 ** (6 * random()), uses);
    });
    const places = choosePlaces(outlooks);
    const sum = (of: "found" | "taken", place: (n: number) => number): number =>
      outlooks.reduce((total, each, n) => total + each[place(n)]![of], 0);
    expect(sum("taken", (n) => places[n]!)).toBeLessThanOrEqual(sum("taken", () => placeOfTtl) * (1 + 1e-9));
    expect(sum("found", (n) => places[n]!)).toBeGreaterThanOrEqual(sum("found", () => placeOfTtl));
  }
});
