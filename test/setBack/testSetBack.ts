import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import { StratigraphError, type SaverOptions, type TierSaver } from "@stratigraph/core";
import {
  gate,
  historyOf,
  logOf,
  text,
  traced,
  turns,
  twoSteps,
  unhandled,
} from "../../packages/engine/core/test/contract/support.ts";
import { inRounds } from "../rounds.ts";

// The storage loses what was acknowledged last (a failover to a server that lagged, a restored backup), and processes live on.

const thread = { configurable: { thread_id: "t" } };
const durabilities = ["sync", "async", "exit"] as const;

async function logIn(saver: TierSaver): Promise<unknown> {
  return (await twoSteps(saver).getState(thread)).values.log;
}

/** What a process that never saw the thread reads, and that the one that lived through it all reads the same. */
async function logForAll(storage: SetBackStorage, living: TierSaver): Promise<unknown> {
  const fresh = await storage.open();
  const log = await logIn(fresh);
  expect(await logIn(living)).toEqual(log);
  expect((await historyOf(living)).map(({ values }) => values)).toEqual(
    (await historyOf(fresh)).map(({ values }) => values),
  );
  return log;
}

/** What becomes of a run that is in its first step when the storage is set back to where `backTo` ended. */
async function caughtUnderWay(
  storage: SetBackStorage,
  durability: (typeof durabilities)[number],
  before: readonly string[],
  backTo: number,
) {
  const saver = await storage.open();
  const marks = [await storage.mark()];
  for (const name of before) {
    await turns(saver, [name], { durability });
    marks.push(await storage.mark());
  }
  const { during, reached, open } = gate();
  const run = twoSteps(saver, during).invoke(
    { who: "late", log: [text("late", 2)] },
    { ...thread, durability },
  );
  const settled = Promise.allSettled([run]).then(([outcome]) => outcome!);
  await reached;
  await storage.setBack(marks[backTo]!);
  open();
  return { saver, outcome: await settled };
}

/** A list that is rebuilt from what each step wrote. */
function deltaGraph(saver: TierSaver, meanwhile: () => Promise<unknown> = async () => undefined) {
  const append = (list: string[], more: string[][]): string[] => [...list, ...more.flat()];
  const list = () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 });
  return new StateGraph(Annotation.Root({ list }))
    .addNode("one", async () => {
      await meanwhile();
      return { list: ["one"] };
    })
    .addNode("two", () => ({ list: ["two"] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .compile({ checkpointer: saver });
}

/**
 * Sets the storage back after a run has stored what its first node wrote, and before the checkpoint that is made from it.
 * @returns resolves when the checkpoint is stored from which that node starts
 */
function loseWrites(storage: SetBackStorage, saver: TierSaver): Promise<unknown> {
  const [put, putWrites] = [saver.put.bind(saver), saver.putWrites.bind(saver)];
  let mark!: (value: unknown) => void;
  const marked = new Promise<unknown>((resolve) => {
    mark = resolve;
  });
  let first: string | undefined;
  let wrote: Promise<void> | undefined;
  saver.put = async (config, checkpoint, metadata, versions) => {
    if (wrote !== undefined) {
      await wrote;
      await storage.setBack(await marked);
      wrote = undefined;
    }
    if (metadata.source === "loop") first ??= checkpoint.id;
    const stored = await put(config, checkpoint, metadata, versions);
    if (checkpoint.id === first) mark(await storage.mark());
    return stored;
  };
  saver.putWrites = async (config, ...written) => {
    const writing = putWrites(config, ...written);
    if (config.configurable?.["checkpoint_id"] === first) wrote = writing;
    await writing;
  };
  return marked;
}

/** A storage that can be set back to what it was. */
export interface SetBackStorage {
  /** Opens a saver over it, as a process of its own would. */
  open(options?: Pick<SaverOptions, "threadTags">): Promise<TierSaver>;
  /** What it holds now. */
  mark(): Promise<unknown>;
  setBack(mark: unknown): Promise<void>;
  close(): Promise<void>;
}

export interface SetBackOptions {
  /** Whether a thread that is gone may have expired, so that a run on it goes on and stores all that it has. Default false. */
  readonly expires?: boolean;
  /** Default: all; with few rounds one, by the name, as they meet on memory all. */
  readonly durabilities?: readonly (typeof durabilities)[number][];
}

/** What holds where a storage was set back: a failover to a server that lagged, a restored backup. */
export function testSetBack(
  name: string,
  setup: () => Promise<SetBackStorage>,
  options: SetBackOptions = {},
): void {
  describe(`set back: ${name}`, () => {
    let storage: SetBackStorage;
    beforeEach(async () => {
      storage = await setup();
    });
    afterEach(async () => {
      await storage.close();
    });

    const inTurn = inRounds<readonly (typeof durabilities)[number][]>({
      few: [durabilities[name.length % 3]!],
      all: durabilities,
    });
    for (const durability of options.durabilities ?? inTurn) {
      test(`${durability}: the same turn again is stored whole, and read by everybody`, async () => {
        const saver = await storage.open();
        await turns(saver, ["a"], { durability });
        const mark = await storage.mark();
        await turns(saver, ["b"], { durability });
        await storage.setBack(mark);
        await turns(saver, ["b"], { durability });
        expect(await logForAll(storage, saver)).toEqual(logOf("a", "b"));
        await turns(await storage.open(), ["c"], { durability });
        await turns(saver, ["d"], { durability });
        expect(await logForAll(storage, saver)).toEqual(logOf("a", "b", "c", "d"));
      });

      test(`${durability}: a thread that is gone is begun anew by the next turn`, async () => {
        const saver = await storage.open();
        const mark = await storage.mark();
        await turns(saver, ["a", "b"], { durability });
        await storage.setBack(mark);
        expect(await logIn(saver)).toBeUndefined();
        await turns(saver, ["a"], { durability });
        expect(await logForAll(storage, saver)).toEqual(logOf("a"));
      });

      test(`${durability}: others wrote as much as was lost before this process notices`, async () => {
        const saver = await storage.open();
        await turns(saver, ["a"], { durability });
        const mark = await storage.mark();
        await turns(saver, ["b"], { durability });
        await storage.setBack(mark);
        await turns(await storage.open(), ["x", "y"], { durability });
        await turns(saver, ["b"], { durability });
        expect(await logForAll(storage, saver)).toEqual(logOf("a", "x", "y", "b"));
      });

      test(`${durability}: a run on a lost turn gets a conflict, or is a side branch, and the next one goes on from what is there`, async () => {
        const reasons = unhandled();
        const { saver, outcome } = await caughtUnderWay(storage, durability, ["a", "b"], 1);
        const fresh = await storage.open();
        expect(await logIn(fresh)).toEqual(logOf("a"));
        if (durability === "async") {
          expect(outcome).toMatchObject({ status: "fulfilled" });
          const [side] = await fresh.conflicts("t");
          const at = { configurable: { thread_id: "t", checkpoint_id: side!.checkpointId } };
          expect((await twoSteps(fresh).getState(at)).values.log).toEqual(logOf("a", "b", "late"));
        } else {
          expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CHECKPOINT_CONFLICT" } });
          expect(String((outcome as PromiseRejectedResult).reason)).toContain(
            "the storage went back from revision",
          );
          expect(await fresh.conflicts("t")).toEqual([]);
        }
        await turns(saver, ["late"], { durability });
        expect(await logForAll(storage, saver)).toEqual(logOf("a", "late"));
        expect(reasons).toEqual([]);
      });

      test.skipIf(options.expires)(
        `${durability}: a run on a thread that is gone doesn't begin it anew`,
        async () => {
          const [events, reasons] = [traced(), unhandled()];
          const { saver, outcome } = await caughtUnderWay(storage, durability, ["a"], 0);
          expect(await logIn(await storage.open())).toBeUndefined();
          if (durability === "async") {
            expect(outcome).toMatchObject({ status: "fulfilled" });
            expect(events.map(({ type }) => type)).toContain("late-write-dropped");
          } else
            expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CHECKPOINT_CONFLICT" } });
          await turns(saver, ["late"], { durability });
          expect(await logForAll(storage, saver)).toEqual(logOf("late"));
          expect(reasons).toEqual([]);
        },
      );
    }

    for (const durability of inRounds<readonly ("sync" | "async")[]>({
      few: ["async"],
      all: ["sync", "async"],
    }).filter((each) => options.durabilities?.includes(each) !== false))
      test(`${durability}: only what a step wrote is lost: a checkpoint whose DeltaChannel is made from it is refused`, async () => {
        const reasons = unhandled();
        await deltaGraph(await storage.open()).invoke({ list: ["a"] }, { ...thread, durability });
        const saver = await storage.open();
        const marked = loseWrites(storage, saver);
        const late = deltaGraph(saver, () => marked).invoke({ list: ["b"] }, { ...thread, durability });
        await expect(late).rejects.toMatchObject({
          code: durability === "sync" ? "CHECKPOINT_CONFLICT" : "NOT_FOUND",
        });
        for (const reader of [saver, await storage.open()])
          await deltaGraph(reader).invoke({ list: ["c"] }, thread);
        const whole = ["a", "one", "two", "b", "c", "one", "two", "c", "one", "two"];
        const lists: string[][] = [];
        for await (const { values } of deltaGraph(await storage.open()).getStateHistory(thread))
          lists.push(values.list);
        expect(lists[0]).toEqual(whole);
        for (const list of lists) expect(whole.slice(0, list.length)).toEqual(list);
        expect(reasons).toEqual([]);
      });

    test("an update goes on from what is there, and one made from what is lost is refused", async () => {
      const saver = await storage.open();
      await turns(saver, ["a"]);
      const mark = await storage.mark();
      await turns(saver, ["b"]);
      const { config, checkpoint, metadata } = (await saver.getTuple(thread))!;
      await storage.setBack(mark);
      const next = { ...checkpoint, id: "ffffffff-0000-6000-8000-000000000000" };
      const refused = await saver.put(config, next, metadata!, {}).catch((error: unknown) => error);
      expect(StratigraphError.is(refused, "CHECKPOINT_CONFLICT")).toBe(true);
      await expect(saver.putWrites(config, [["who", "b"]], "task")).rejects.toMatchObject({
        code: "CHECKPOINT_CONFLICT",
        data: { checkpointId: config.configurable!["checkpoint_id"] },
      });
      await twoSteps(saver).updateState(thread, { who: "updated" }, "two");
      expect(await logForAll(storage, saver)).toEqual(logOf("a"));
      expect((await twoSteps(await storage.open()).getState(thread)).values.who).toBe("updated");
    });

    test("a checkpoint that is gone isn't served from memory", async () => {
      const saver = await storage.open();
      await turns(saver, ["a"]);
      const mark = await storage.mark();
      await turns(saver, ["b"]);
      const { config } = await twoSteps(saver).getState(thread);
      await storage.setBack(mark);
      expect(await saver.getTuple(config)).toBeUndefined();
      expect(await logForAll(storage, saver)).toEqual(logOf("a"));
    });

    test("tags that are gone are stored again with the next turn", async () => {
      const saver = await storage.open({ threadTags: ["user_id"] });
      const tagged = { configurable: { thread_id: "t", user_id: "anna" } };
      const mark = await storage.mark();
      await twoSteps(saver).invoke({ who: "a" }, tagged);
      await storage.setBack(mark);
      await twoSteps(saver).invoke({ who: "b" }, tagged);
      const other = await storage.open({ threadTags: ["user_id"] });
      const { threads } = await other.listThreads({ tag: { user_id: "anna" } });
      expect(threads.map(({ threadId }) => threadId)).toEqual(["t"]);
    });
  });
}
