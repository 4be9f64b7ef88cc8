import { randomBytes } from "node:crypto";
import type { TieredSaver, TieredSaverOptions } from "@stratigraph/tiered";
import { configOf, isExpected, Ledger } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { monthMs, Site, warmUp } from "./site.ts";
import type { World } from "./world.ts";

/** Longer than any lease lasts. Milliseconds. */
const stoppedMs = 120_000;

/** What a process does when it is stopped. */
interface Work {
  /** Options of all processes, besides those of the site. */
  readonly options?: Partial<TieredSaverOptions>;
  /** Options of the one that wrote the thread. */
  readonly old?: Partial<TieredSaverOptions>;
  readonly isArchived?: boolean;
  run(saver: TieredSaver): Promise<unknown>;
  /** What it may take away. */
  readonly removes?: "checkpoints" | "thread";
}

const maintain = async (saver: TieredSaver): Promise<unknown> => await saver.maintain();
const hashKey = randomBytes(32);
const keys = { one: randomBytes(32), two: randomBytes(32) };

const works: Record<string, Work> = {
  "an archiving": { run: maintain },
  "an archiving of old checkpoints": { options: { archiveAfter: undefined, keepLast: 1 }, run: maintain },
  "a deletion of idle threads": {
    options: { cold: undefined, archiveAfter: undefined, deleteAfter: "7d" },
    run: maintain,
    removes: "thread",
  },
  "a deletion of old archives": {
    isArchived: true,
    options: { deleteArchivedAfter: "7d" },
    run: maintain,
    removes: "thread",
  },
  "a prune": {
    run: async (saver) => await saver.prune(["t"], { strategy: "keep_latest" }),
    removes: "checkpoints",
  },
  "a read of an archived thread": {
    isArchived: true,
    run: async (saver) => await saver.getTuple(configOf("t")),
  },
  "a reencryption": {
    old: { encryption: { keys, activeKey: "one", hashKey } },
    options: { encryption: { keys, activeKey: "two", hashKey } },
    run: async (saver) => await saver.reencrypt(),
  },
};

/** The error by which work was refused. @throws one that nobody is told to expect */
async function refusal(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => {
      if (isExpected(error)) return error;
      throw error;
    },
  );
}

/** What the thread has after its writers were acknowledged: what was taken away isn't looked for. */
async function check(saver: TieredSaver, ledger: Ledger, { removes }: Work): Promise<void> {
  if (removes === undefined) return await ledger.checkAll(saver);
  const head = await saver.getTuple(configOf("t"));
  ledger.check(head);
  const newest = [...ledger.attempts.values()].findLast(({ acknowledged }) => acknowledged);
  expect(head?.checkpoint.id).toBe(newest?.id);
}

/**
 * Stops a process at its call `nth` to a storage, before the call arrives there or before its answer does. Another one does the same
 * work meanwhile, and the thread goes on.
 * @returns whether there is such a call
 */
async function play(
  world: World,
  work: Work,
  nth: number,
  arrives: boolean,
  goesOn: boolean,
): Promise<boolean> {
  const site = new Site(world);
  let ledger = new Ledger("t");
  const before = site.open(world.machine("before"), work.old);
  for (let n = 0; n < 4; n += 1) await ledger.turn(before, ["task"]);
  if (work.isArchived === true) await before.maintain();
  await world.pass(monthMs);

  const opened = (name: string) => {
    const process = world.machine(name);
    return { process, saver: site.open(process, work.options, () => Date.now()) };
  };
  const [one, other, writer] = [opened("one"), opened("other"), opened("writer")];
  let calls = 0;
  const held = world.hold(undefined, { from: one.process, when: () => calls++ === nth });
  const working = one.process.run(async () => await work.run(one.saver));
  const isReached = await Promise.race([held.reached.then(() => true), refusal(working).then(() => false)]);
  if (!isReached) {
    await working;
    return false;
  }
  if (arrives) await held.arrive();
  one.process.suspend();
  await world.pass(stoppedMs);
  await other.process.run(async () => await refusal(work.run(other.saver)));

  const turn = async (): Promise<void> => {
    const found = await writer.saver.getTuple(configOf("t"));
    if (found === undefined && work.removes === "thread")
      ledger = new Ledger("t", ledger.attempts.size + 100);
    expect(await ledger.turn(writer.saver, ["task"]), "the turn").toBeDefined();
  };
  for (let n = goesOn ? 2 : 0; n > 0; n -= 1) await turn();
  one.process.resume();
  await held.release();
  await refusal(working);
  const { saver } = opened("reader");
  if (goesOn || work.removes !== "thread") await check(saver, ledger, work);
  await turn();
  await check(saver, ledger, work);
  return true;
}

async function played(...of: [work: Work, nth: number, arrives: boolean, goesOn: boolean]): Promise<boolean> {
  let is = false;
  await simulate(async (world) => {
    is = await play(world, ...of);
  });
  return is;
}

beforeAll(warmUp);

describe.each(Object.entries(works))(
  "%s is stopped, and wakes up when another one has done it",
  (_, work) => {
    test.each([
      { when: "before a call, and the thread went on", arrives: false, goesOn: true },
      { when: "before an answer, and the thread went on", arrives: true, goesOn: true },
      { when: "before an answer", arrives: true, goesOn: false },
    ])("$when", async ({ arrives, goesOn }) => {
      let nth = 0;
      while (await played(work, nth, arrives, goesOn)) nth += 1;
      expect(nth).toBeGreaterThan(2);
    });
  },
);
