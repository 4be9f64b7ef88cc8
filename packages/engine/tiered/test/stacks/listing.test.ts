import { MemoryTier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { TieredSaver } from "@stratigraph/tiered";
import { available } from "../../../../../test/servers/available.ts";
import { freshDatabase, type FreshDatabase } from "../../../../../test/servers/shared.ts";
import { CallChain } from "../../../../tools/testing/src/promises/callChain.ts";
import { put, stepsOf, text } from "../support.ts";

// PostgreSQL is listed by pages of 16 checkpoints and more. A thread may be archived, or restored, between two of them.

const count = 60;
const steps = Array.from({ length: count }, (_, n) => count - n);

describe.skipIf(!available.postgres)("a history that is being read", () => {
  let database: FreshDatabase;
  let saver: TieredSaver;
  let archiver: TieredSaver;
  beforeEach(async () => {
    database = await freshDatabase();
    const cold = new MemoryTier();
    const open = () =>
      new TieredSaver(
        { warm: postgres({ url: database.url }), cold, archiveAfter: "0s", pause: "0ms" },
        () => Date.now() + 120_000,
      );
    [saver, archiver] = [open(), open()];
    await saver.setup();
    for (let n = 1; n <= count; n += 1) await put(saver, "t", n, text(String(n)));
  });
  afterEach(async () => {
    await Promise.all([saver.end(), archiver.end()]);
    await database.drop();
  });

  /** Steps in the order of a listing, during which something happens after the first few checkpoints. */
  async function listed(threadId: string | undefined, meanwhile: () => Promise<unknown>): Promise<number[]> {
    const found: number[] = [];
    for await (const { metadata } of saver.list({ configurable: { thread_id: threadId } })) {
      found.push(metadata!.step);
      if (found.length === 5) await meanwhile();
    }
    return found;
  }

  const archived = async (): Promise<void> => {
    const report = await archiver.maintain();
    expect(report.steps).toMatchObject([{ what: "archive", threadId: "t", done: true }]);
  };

  test("is whole, though the thread is archived meanwhile", async () => {
    expect(await listed("t", archived)).toEqual(steps);
    expect(await stepsOf(saver, "t")).toEqual(steps);
  });

  test("has checkpoints whose ids have no order in common with others, as those of tool calls, before and after it is archived", async () => {
    const calls = new CallChain(saver, "t");
    await calls.add(3);
    expect(await stepsOf(saver, "t")).toEqual(steps);
    const all = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const { record } of saver.tier.list({ threadId: "t", recordsOnly: true }))
        found.push(`${record.namespace} ${record.checkpointId}`);
      return found.toSorted();
    };
    const before = await all();
    expect(before).toHaveLength(count + 3);
    expect(await listed("t", archived)).toEqual(steps);
    expect(await all()).toEqual(before);
  });

  test("is whole, though checkpoints that were added since it was archived are archived meanwhile", async () => {
    await archived();
    for (let n = count + 1; n <= 2 * count; n += 1) await put(saver, "t", n, text(String(n)));
    const all = Array.from({ length: 2 * count }, (_, n) => 2 * count - n);
    expect(await listed("t", archived)).toEqual(all);
  });

  test("is whole, though the thread is restored meanwhile", async () => {
    await archived();
    expect(await listed("t", () => archiver.tier.restoreThread!("t"))).toEqual(steps);
  });

  test("of all threads is whole, though one of them is archived meanwhile", async () => {
    expect([...new Set(await listed(undefined, archived))]).toEqual(steps);
  });
});
