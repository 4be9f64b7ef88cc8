import { MemoryTier, TierSaver } from "@stratigraph/core";
import { BoundedMemoryTier, boundedMemory, TieredSaver, TierStack } from "@stratigraph/tiered";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { put } from "./support.ts";
import { expectRefused } from "../../../../test/expectRefused.ts";

// Constructors and maintenance, called wrongly: refused with an error that names the field, says what was found and what to do, and
// the thread that is due for the archive is still in the warm tier alone.

const warm = new MemoryTier();
const cold = new MemoryTier();
const hour = 3_600_000;
let now = Date.now();
const saver = new TieredSaver({ warm, cold, archiveAfter: "1h", pause: "0ms" }, () => now);

function make(what: new (...args: never[]) => unknown, ...args: unknown[]): unknown {
  return Reflect.construct(what, args) as unknown;
}
const maintain = (options: unknown) =>
  Reflect.apply(saver.maintain.bind(saver), undefined, [options]) as unknown;
const start = (...args: unknown[]) => {
  const started = Reflect.apply(saver.startMaintenance.bind(saver), undefined, args) as {
    stop(): Promise<void>;
  };
  onTestFinished(() => started.stop());
};

const rows: readonly (readonly [name: string, work: () => unknown, field: string, says: string])[] = [
  ["maintain: dryrun", () => maintain({ dryrun: true }), "dryrun", "Did you mean dryRun?"],
  ["maintain: true", () => maintain(true), "options", "takes an object of dryRun, signal"],
  ["maintain: text for true", () => maintain({ dryRun: "yes" }), "dryRun", "true or false"],
  [
    "maintain: a controller for its signal",
    () => maintain({ signal: new AbortController() }),
    "signal",
    "signal of an AbortController",
  ],
  ["startMaintenance: nothing", () => start(), "every", "units"],
  ["startMaintenance: text", () => start("10m"), "options", "takes an object of every"],
  ["startMaintenance: interval", () => start({ interval: "10m" }), "interval", "Write every"],
  ["startMaintenance: a number", () => start({ every: 600 }), "every", "units"],
  ["startMaintenance: without a rest", () => start({ every: "0ms" }), "every", "at least 1ms"],
  [
    "setup: options",
    () => Reflect.apply(saver.setup.bind(saver), undefined, [{ verifyOnly: true }]) as unknown,
    "verifyOnly",
    "no such option",
  ],
  ["TieredSaver: nothing", () => make(TieredSaver), "options", "Pass { warm }"],
  [
    "TieredSaver: a warm tier that forgets",
    () => make(TieredSaver, { warm: boundedMemory() }),
    "warm",
    "only be a hot tier",
  ],
  [
    "TierStack: a cold tier that forgets",
    () => make(TierStack, { warm, cold: boundedMemory() }),
    "cold",
    "{ memory: true }",
  ],
  ["TierSaver: a tier that forgets", () => make(TierSaver, boundedMemory()), "tier", "only be a hot tier"],
  ["TieredSaver: no warm tier", () => make(TieredSaver, { hot: boundedMemory() }), "warm", "pass warm"],
  [
    "TieredSaver: a URL",
    () => make(TieredSaver, { warm: "postgresql://u:hunter2@h/d" }),
    "warm",
    "createCheckpointer",
  ],
  [
    "TieredSaver: a hot tier that is none",
    () => make(TieredSaver, { warm, hot: [boundedMemory(), {}] }),
    "hot[1]",
    "has no peek()",
  ],
  [
    "TieredSaver: one replica",
    () => make(TieredSaver, { warm, replicas: boundedMemory() }),
    "replicas",
    "Pass a list",
  ],
  [
    "TieredSaver: archiveAfer",
    () => make(TieredSaver, { warm, cold, archiveAfer: "7d" }),
    "archiveAfer",
    "Did you mean archiveAfter?",
  ],
  [
    "TieredSaver: archiveAfter without cold",
    () => make(TieredSaver, { warm, archiveAfter: "7d" }),
    "archiveAfter",
    "needs a cold tier",
  ],
  [
    "TieredSaver: deleteArchivedAfter without cold",
    () => make(TieredSaver, { warm, deleteArchivedAfter: "7d" }),
    "deleteArchivedAfter",
    "Without one, deleteAfter",
  ],
  [
    "TieredSaver: parallel without cold",
    () => make(TieredSaver, { warm, parallel: 2 }),
    "parallel",
    "needs a cold tier",
  ],
  [
    "TieredSaver: keepLast and a cold tier that isn't set",
    () => make(TieredSaver, { warm, cold: undefined, keepLast: 5 }),
    "cold",
    "for good",
  ],
  [
    "TieredSaver: trimAfter and a cold tier that isn't set",
    () => make(TieredSaver, { warm, cold: undefined, trimAfter: "5d" }),
    "cold",
    "environment variable",
  ],
  [
    "TieredSaver: deleteAfter before archiveAfter",
    () => make(TieredSaver, { warm, cold, archiveAfter: "7d", deleteAfter: "7d" }),
    "deleteAfter",
    "before they are archived",
  ],
  ["TieredSaver: parallel 0", () => make(TieredSaver, { warm, cold, parallel: 0 }), "parallel", "1 or more"],
  ["TieredSaver: keepLast 0", () => make(TieredSaver, { warm, cold, keepLast: 0 }), "keepLast", "1 or more"],
  [
    "TieredSaver: a number of days",
    () => make(TieredSaver, { warm, cold, archiveAfter: 7 }),
    "archiveAfter",
    "units",
  ],
  [
    "TieredSaver: conflcit",
    () => make(TieredSaver, { warm, conflcit: "throw" }),
    "conflcit",
    "Did you mean conflict?",
  ],
  ["TieredSaver: ttl", () => make(TieredSaver, { warm, ttl: "15m" }), "ttl", "redis({ client, ttl })"],
  [
    "TieredSaver: an unknown consistency",
    () => make(TieredSaver, { warm, consistency: "strong" }),
    "consistency",
    '"verified"',
  ],
  [
    "TieredSaver: an unknown restoreOn",
    () => make(TieredSaver, { warm, restoreOn: "demand" }),
    "restoreOn",
    '"never"',
  ],
  ["TieredSaver: a number of seconds", () => make(TieredSaver, { warm, drainFor: 5 }), "drainFor", "units"],
  [
    "TieredSaver: a time to drain that no timer can wait",
    () => make(TieredSaver, { warm, drainFor: "25d" }),
    "drainFor",
    "at most 24d",
  ],
  ["TieredSaver: no time to end", () => make(TieredSaver, { warm, endFor: "0ms" }), "endFor", "above 0"],
  ["TieredSaver: drain", () => make(TieredSaver, { warm, drain: "5s" }), "drain", "drainFor"],
  [
    "health: timeOut",
    () => Reflect.apply(saver.health.bind(saver), undefined, [{ timeOut: "1s" }]) as unknown,
    "timeOut",
    "Did you mean timeout?",
  ],
  ["health: a timeout of nothing", () => saver.health({ timeout: "0s" }), "timeout", "above 0"],
  [
    "startMaintenance: longer than timers can be",
    () => new TieredSaver({ warm }).startMaintenance({ every: "25d" }),
    "every",
    "at most 24d",
  ],
  [
    "breaker: timeOut",
    () => make(TieredSaver, { warm, breaker: { timeOut: "1s" } }),
    "breaker.timeOut",
    "Did you mean timeout?",
  ],
  [
    "breaker: a duration",
    () => make(TieredSaver, { warm, breaker: "1s" }),
    "breaker",
    "takes an object of timeout",
  ],
  [
    "breaker: a number of seconds",
    () => make(TieredSaver, { warm, breaker: { timeout: 1 } }),
    "breaker.timeout",
    "units",
  ],
  ["breaker: false", () => make(TieredSaver, { warm, breaker: false }), "breaker", "takes an object"],
  ["queue: max", () => make(TieredSaver, { warm, queue: { max: 5 } }), "queue.max", "Write maxCopies"],
  ["queue: a number", () => make(TieredSaver, { warm, queue: 5 }), "queue", "takes an object of maxCopies"],
  [
    "queue: no room",
    () => make(TieredSaver, { warm, queue: { maxCopies: 0 } }),
    "queue.maxCopies",
    "1 or more",
  ],
  ["TierStack: nothing", () => make(TierStack), "options", "Pass { warm }"],
  [
    "TierStack: a saver's options",
    () => make(TierStack, { warm, conflict: "throw" }),
    "conflict",
    "TierStack has no such option",
  ],
  [
    "TierStack: maintenance",
    () => make(TierStack, { warm, cold, archiveAfter: "7d" }),
    "archiveAfter",
    "a TieredSaver's",
  ],
  [
    "boundedMemory(): maxsise",
    () => Reflect.apply(boundedMemory, undefined, [{ maxsise: "1mb" }]),
    "maxsise",
    "Did you mean maxSize?",
  ],
  [
    "boundedMemory(): ttl",
    () => Reflect.apply(boundedMemory, undefined, [{ ttl: "15m" }]),
    "ttl",
    "Write forgetAfter",
  ],
  [
    "boundedMemory(): a size",
    () => Reflect.apply(boundedMemory, undefined, ["256mb"]),
    "options",
    "takes an object of maxSize",
  ],
  ["boundedMemory(): no size", () => make(BoundedMemoryTier, { maxSize: 0 }), "maxSize", "above 0"],
];

const threadsOf = async (tier: MemoryTier): Promise<string[]> => {
  const found = [];
  for await (const { record } of tier.list({ recordsOnly: true })) found.push(record.threadId);
  return found;
};

beforeAll(async () => {
  await put(saver, "idle", 1, "a value");
  now = Date.now() + 2 * hour;
});

test.each(rows.map(([name, ...row]) => ({ name, row })))(
  "refuses $name",
  async ({ row: [work, field, says] }) => {
    await expectRefused(work, field, says);
    expect([await threadsOf(warm), await threadsOf(cold)]).toEqual([["idle"], []]);
  },
);

describe("right calls pass", () => {
  test("undefined is as good as absent", async () => {
    const options = {
      warm: new MemoryTier(),
      hot: undefined,
      cold: undefined,
      breaker: undefined,
      queue: { maxCopies: undefined },
    };
    expect(new TieredSaver({ ...options, archiveAfter: undefined, serde: undefined })).toBeInstanceOf(
      TieredSaver,
    );
    expect(make(TieredSaver, { ...options, archiveAfer: undefined })).toBeInstanceOf(TieredSaver);
    expect(boundedMemory({ maxSize: undefined, forgetAfter: undefined })).toBeInstanceOf(BoundedMemoryTier);
    start({ every: "1h", interval: undefined });
  });

  test("maintenance runs with the right spelling: first a plan, then the work", async () => {
    const controller = new AbortController();
    expect(await saver.maintain({ dryRun: true, signal: undefined })).toMatchObject({
      steps: [{ what: "archive", done: false }],
    });
    expect(await threadsOf(cold)).toEqual([]);
    expect(await saver.maintain({ dryRun: undefined, signal: controller.signal })).toMatchObject({
      steps: [{ done: true }],
    });
    expect([await threadsOf(warm), await threadsOf(cold)]).toEqual([[], ["idle"]]);
  });
});
