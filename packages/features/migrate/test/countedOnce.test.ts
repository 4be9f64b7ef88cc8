import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { importThreads, moveThreads, type CopyReport, type ThreadSource } from "@stratigraph/migrate";
import { tierSource } from "@stratigraph/migrate/internal";
import { PostgresSaver } from "@stratigraph/postgres";
import { FaultyTier } from "@stratigraph/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { history, say } from "./support/conversation.ts";
import { allRounds } from "../../../../test/rounds.ts";

// Two copies of the same threads at once: what one of them brought, the other doesn't count as its own.

let database: FreshDatabase;
let from: MemorySaver;

beforeAll(async () => {
  database = await freshDatabase();
  from = new MemorySaver();
  for (const id of ["ada", "bob", "carl"]) await say(from, id, "One");
  await putLong(from, "long");
});

afterAll(() => database?.drop());

/** A thread that is appended in several parts. */
async function putLong(saver: MemorySaver, threadId: string): Promise<void> {
  let config: Awaited<ReturnType<MemorySaver["put"]>> = {
    configurable: { thread_id: threadId, checkpoint_ns: "" },
  };
  for (let n = 1; n <= 600; n += 1) {
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(n),
      channel_values: { n },
      channel_versions: { n },
    };
    config = await saver.put(config, checkpoint, { source: "loop", step: n, parents: {} }, { n });
    if (n % 10 === 0) await saver.putWrites(config, [["n", n]], `task ${n}`);
  }
}

/** A source that lets something else happen after some checkpoints of a thread, once. */
function interruptedBy(source: ThreadSource, threadId: string, after: number, work: () => Promise<unknown>) {
  let isDone = false;
  const threads: ThreadSource["threads"] = async function* (selection) {
    for await (const thread of source.threads(selection))
      yield thread.threadId !== threadId
        ? thread
        : {
            ...thread,
            checkpoints: async function* () {
              let left = after;
              for await (const each of thread.checkpoints()) {
                if (left-- === 0 && !isDone) {
                  isDone = true;
                  await work();
                }
                yield each;
              }
            },
          };
  };
  return { ...source, threads };
}

/** Two savers on one storage, as two processes have them. */
async function twoOn(kind: string): Promise<[TierSaver, TierSaver]> {
  if (kind === "memory") {
    const tier = new MemoryTier();
    return [new TierSaver(tier), new TierSaver(tier)];
  }
  const [one, two] = [PostgresSaver.fromConnString(database.url), PostgresSaver.fromConnString(database.url)];
  for (const saver of [one, two]) onTestFinished(() => saver.end());
  await one.setup();
  return [one, two];
}

test.each(["memory", "PostgreSQL"])("two imports at once, on %s", async (kind) => {
  const [one, two] = await twoOn(kind);
  let other: CopyReport | undefined;
  const work = async () => (other = await importThreads(tierSource(from), two));
  // The other one comes in when two checkpoints of the second thread were read.
  const report = await importThreads(interruptedBy(tierSource(from), "bob", 2, work), one);
  expect(other).toMatchObject({ threads: 4, checkpoints: 606, skipped: 1, differences: [] });
  expect(report).toMatchObject({ threads: 4, checkpoints: 3, skipped: 3, differences: [] });
  expect(other!.writes + report.writes).toBe(9 + 60);
  for (const id of ["bob", "long"]) expect(await history(one, id)).toEqual(await history(from, id));
});

test("one that comes in between two parts of a thread counts the rest of it", async () => {
  const [one, two] = await twoOn("memory");
  let other: CopyReport | undefined;
  const threadIds = ["long"];
  const work = async () => (other = await importThreads(tierSource(from), two, { threadIds }));
  const report = await importThreads(interruptedBy(tierSource(from), "long", 300, work), one, { threadIds });
  expect(report.checkpoints).toBeGreaterThan(0);
  expect(report.checkpoints + other!.checkpoints).toBe(600);
  expect(report.writes + other!.writes).toBe(60);
  expect(await history(one, "long")).toEqual(await history(from, "long"));
});

test("two moves at once", async () => {
  const [one, two] = await twoOn("memory");
  const source = new FaultyTier(from.tier);
  const hold = source.hold("threadTags");
  const threadIds = ["bob"];
  const moving = moveThreads(new TierSaver(source), one, { threadIds });
  // It has looked at what the target has, and hasn't written yet.
  await hold.reached;
  expect(await moveThreads(from, two, { threadIds })).toMatchObject({ checkpoints: 3, skipped: 0 });
  hold.release();
  expect(await moving).toMatchObject({ checkpoints: 0, writes: 0, skipped: 1, differences: [] });
  expect(await history(one, "bob")).toEqual(await history(from, "bob"));
});

test.runIf(allRounds)(
  "two imports at once through one saver don't rely on each other's unfinished work",
  async () => {
    const to = new MemorySaver();
    const reports = await Promise.all([1, 2].map(() => importThreads(tierSource(from), to)));
    for (const report of reports) expect(report).toMatchObject({ threads: 4, differences: [] });
    expect(reports[0]!.checkpoints + reports[1]!.checkpoints).toBe(609);
    for (const id of ["bob", "long"]) expect(await history(to, id)).toEqual(await history(from, id));
  },
);
