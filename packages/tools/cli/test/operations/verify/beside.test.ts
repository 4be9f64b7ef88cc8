import { setImmediate as turn } from "node:timers/promises";
import { TierSaver } from "@stratigraph/core";
import { inRounds } from "../../../../../../test/rounds.ts";
import { promote } from "@stratigraph/branch";
import { agent, line, on, repaired, storages, turns, verified } from "./support.ts";

// Verify beside real writers, a pruner and deletions: what they change while it looks is no damage.

const { s3: _tooSlowForThis, ...quick } = storages;
const threads = ["a", "b", "c"];

const { postgres } = quick;
const wanted = inRounds<Record<string, (typeof quick)[keyof typeof quick]>>({
  few: { postgres },
  all: quick,
});

describe.each(Object.entries(wanted))("in %s", (_, openStorage) => {
  let storage: Awaited<ReturnType<typeof openStorage>>;
  beforeAll(async () => {
    storage = await openStorage();
    for (const threadId of threads) await turns(new TierSaver(storage.open()), threadId, 3);
  });
  afterAll(() => storage.close());

  /**
   * Does something again and again until the work is done. Losing a race, and finding a thread deleted, are part of it.
   * @param least how often, for the work to be enough
   */
  async function beside<T>(
    others: readonly (() => Promise<unknown>)[],
    least: number,
    work: (isEnough: () => boolean) => Promise<T>,
  ): Promise<T> {
    const done = new AbortController();
    let rounds = 0;
    const deadline = performance.now() + 40_000;
    const running = others.map(async (other) => {
      while (!done.signal.aborted && performance.now() < deadline) {
        await other().catch((error: unknown) => {
          expect(error).toHaveProperty(
            "code",
            expect.stringMatching(/CONFLICT|DELETED|OVERLOADED|NOT_FOUND|STALE/),
          );
        });
        rounds += 1;
        await turn();
      }
    });
    try {
      return await work(() => rounds >= least || performance.now() > deadline);
    } finally {
      done.abort();
      await Promise.all(running);
      expect(rounds).toBeGreaterThanOrEqual(least);
    }
  }

  const any = (): string => threads[Math.floor(Math.random() * threads.length)]!;

  test("nothing is found, though everything changes", async () => {
    const [one, other, third] = [0, 1, 2].map(() => new TierSaver(storage.open(), { conflict: "branch" }));
    const writer = (saver: TierSaver) => async () => await turns(saver, any(), 1);
    const traveller = async (): Promise<void> => {
      const threadId = any();
      const states = [];
      for await (const state of agent(third!).getStateHistory(on(threadId))) states.push(state);
      const { config } = states[Math.min(3, states.length - 1)]!;
      if (Math.random() < 0.5) await agent(third!).updateState(config, { log: [line("edited")] });
      else await promote(third!, { threadId, checkpointId: config.configurable!["checkpoint_id"] as string });
    };
    const pruner = (): Promise<void> => one!.prune([any()], { strategy: "keep_latest", keepLast: 4 });
    const deleter = async (): Promise<void> => {
      await turns(other!, "short", 1);
      await other!.deleteThread("short");
    };
    const reports = await beside(
      [writer(one!), writer(other!), traveller, pruner, deleter],
      10,
      async (isEnough) => {
        const found = [];
        for (let n = 0; n < 3 || !isEnough(); n += 1)
          found.push(await verified(storage.open(), { rate: "2mb" }));
        return found;
      },
    );
    expect(reports.flatMap(({ findings }) => findings)).toEqual([]);
    expect(reports.reduce((sum, { totals }) => sum + totals.checkpoints, 0)).toBeGreaterThan(50);
    const quiet = await verified(storage.open());
    expect(quiet).toMatchObject({ findings: [], unsettled: 0 });
  });

  test("repair of a healthy storage beside writers does nothing", async () => {
    const saver = new TierSaver(storage.open());
    const writer = async (): Promise<void> => {
      await turns(saver, "a", 1);
      await saver.prune(["a"], { strategy: "keep_latest", keepLast: 8 });
    };
    const outcomes = await beside([writer], 2, async (isEnough) => {
      const found = [];
      for (let n = 0; n < 3 || !isEnough(); n += 1)
        found.push(await repaired(storage.open(), await verified(storage.open(), { rate: "800kb" })));
      return found;
    });
    for (const outcome of outcomes) expect(outcome).toMatchObject({ results: [], left: [] });
  });
});
