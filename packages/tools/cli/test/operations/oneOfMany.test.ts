import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CorruptionError, MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { operations } from "../../src/operations/index.ts";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { ran } from "./support/ran.ts";
import { putValues } from "./support/threads.ts";
import { allRounds } from "../../../../../test/rounds.ts";

// One of more threads than an operation lists can't be read. If an operation is asked for all of them, its exit code says so.

const bad = "bad";
const many = Array.from({ length: 1001 }, (_, n) => `t ${n}`);
const ids = [...many.slice(0, 1000), bad, ...many.slice(1000)];
const fewIds = [many[0]!, bad];
const file = join(tmpdir(), `one-of-many-${process.pid}.jsonl`);
afterAll(() => rm(file, { force: true }));

const encryption = { activeKey: "new", keys: { new: Buffer.alloc(32, 1) }, hashKey: Buffer.alloc(32, 2) };
const tiers = ["warm", "cold"].map((name) => new FaultyTier(new MemoryTier(), name));
const [warm, cold] = tiers as [FaultyTier, FaultyTier];
const saver = new TieredSaver(
  { warm, cold, archiveAfter: "7d", pause: "0ms", encryption },
  () => Date.now() + 30 * 86_400_000,
);
let heal: () => void;

beforeAll(async () => {
  for (const n of [1, 2, 3]) await putValues(saver, "source", { value: n });
  // The bad one is the oldest: maintenance, which takes a hundred at once, comes to it first, and so does a sample.
  for (const id of [bad, ...many]) await warm.copyThread!("source", id);
  await warm.deleteThread("source");
  const heals = tiers.map((tier) =>
    tier.failWhen(({ args: [first] }) => {
      const threadId =
        typeof first === "string" ? first : (first as { threadId?: string } | undefined)?.threadId;
      return threadId === bad
        ? new CorruptionError({ threadId, namespace: "", checkpointId: "c" }, "damaged")
        : undefined;
    }),
  );
  heal = () => heals.forEach((each) => each());
});

/** Exit codes: 1 where it ends with an error, 2 where it went through all threads and found one. In this order, on one storage. */
const expected: readonly (readonly [name: string, exit: 1 | 2, input: object])[] = [
  ["glance", 2, { threads: fewIds }],
  ["conflicts", 2, {}],
  ["keys", 2, {}],
  ["questions", 1, { thread: bad }],
  ["compare", 1, { threads: fewIds }],
  ["verify", 2, {}],
  ["repair", 2, {}],
  ["export", 2, { to: file }],
  ["move", 2, { to: "target" }],
  ["reencrypt", 2, {}],
  ["prune", 2, { thread: ids, keepLast: 2 }],
  ["maintain", 2, {}],
  ["archive", 2, { thread: ids }],
  ["restore", 2, { thread: ids }],
  ["delete", 2, { thread: ids }],
];

/** Those that go through threads by a loop of their own, or destroy; the others with all rounds. */
const few = ["glance", "conflicts", "compare", "verify", "export", "maintain", "delete"];

test.each(expected.filter(([name]) => allRounds || few.includes(name)))(
  "%s exits with %i",
  { timeout: 60_000 },
  async (name, exit, input) => {
    const call = ran(name, input, saver, { places: { target: new MemorySaver({ encryption }) } });
    if (exit === 1)
      await expect(call).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining(bad) });
    else expect((await call).found).toBe(true);
  },
);

test("stats, which measures a sample, exits with 2 where one of it can't be read", async () => {
  const tier = new FaultyTier(new MemoryTier());
  for (const id of ["a", bad]) await putValues(new TierSaver(tier), id, { value: 1 });
  tier.failWhen(({ args: [first] }) => (first as { threadId?: string } | undefined)?.threadId === bad);
  const { output, found } = await ran("stats", {}, new TierSaver(tier));
  expect(output).toMatchObject({ threads: { failed: 1 } });
  expect(found).toBe(true);
});

test("an import of threads of which one can't be stored ends with an error", async () => {
  heal();
  await putValues(saver, bad, { value: 1 });
  await putValues(saver, "another", { value: 1 });
  await ran("export", { to: file, thread: ["another", bad] }, saver);
  const into = new FaultyTier(new MemoryTier());
  into.failWhen(
    ({ method, args: [first] }) => method === "append" && (first as { threadId: string }).threadId === bad,
  );
  await expect(ran("import", { from: file }, new TierSaver(into, { encryption }))).rejects.toThrow();
});

test("every operation that may go through several threads is here", () => {
  const isOfMany = ({ args = [], input }: (typeof operations)[number]): boolean =>
    args.includes("threads") || (args.includes("thread") && "cursor" in input.shape);
  const known = [...expected.map(([name]) => name), "stats", "history", "calls", "subagents"];
  const missing = operations
    .filter(isOfMany)
    .map(({ name }) => name)
    .filter((name) => !known.includes(name));
  expect(missing).toEqual([]);
});
