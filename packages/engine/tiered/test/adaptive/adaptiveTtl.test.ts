import { collectGarbage } from "../../../../../test/collected.ts";
import { AdaptiveTtl } from "../../src/adaptive/adaptiveTtl.ts";
import { kindOfThread, kindsOfThreads, type ThreadUses } from "../../src/adaptive/kindOfThread.ts";

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

test("before anything is learned, and for unknown threads, it is the fixed ttl", () => {
  const { ttl } = opened();
  expect(ttl.ttlMsOf("new")).toBe(15 * minute);
  ttl.used("new", "write", 100);
  expect(ttl.ttlMsOf("new")).toBe(15 * minute);
});

test("threads that come back every hour are kept for it, those that never came back go sooner", () => {
  const all = opened();
  learn(all, 40);
  expect(all.ttl.ttlMsOf("hourly 30")).toBeGreaterThanOrEqual(59 * minute);
  expect(all.ttl.ttlMsOf("hourly 30")).toBeLessThanOrEqual(120 * minute);
  all.ttl.used("another", "read");
  all.clock.now += 1_000;
  all.ttl.used("another", "write", 1_000);
  expect(all.ttl.ttlMsOf("another")).toBeLessThan(15 * minute);
});

test("a scan of all threads doesn't keep them, nor cost those in use their place", () => {
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

test("every combination is a kind of its own", () => {
  const kinds = new Set<number>();
  for (const last of ["read", "write"] as const)
    for (const returnedAfter of [0, 2, 10, 50, 1_000])
      for (const returns of [0, 1, 3, 9])
        for (const usesSince of [1, 3]) {
          const uses: ThreadUses = { atMs: 0, bytes: 0, last, returnedAfter, returns, usesSince };
          kinds.add(kindOfThread(uses));
        }
  expect(kinds.size).toBe(kindsOfThreads);
  expect(Math.min(...kinds)).toBe(0);
  expect(Math.max(...kinds)).toBe(kindsOfThreads - 1);
});
