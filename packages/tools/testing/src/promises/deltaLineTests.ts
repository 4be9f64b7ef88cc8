import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { StratigraphError, type TierSaver, type Tier } from "@stratigraph/core";
import type { Address, AppendWritesRequest } from "@stratigraph/core/tier";
import { expect } from "vitest";
import type { GraphContext, ThreadConfig } from "../graphs/context.ts";
import { makeLongLine } from "./longLine.ts";

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

const listOf = (snapshotFrequency: number) => () =>
  new DeltaChannel<string[], string[]>(append, { snapshotFrequency });

/** Two nodes, one after the other. `between` is called while the second one runs. */
const graphOf = (
  checkpointer: BaseCheckpointSaver,
  {
    frequency = 1000,
    between,
  }: { frequency?: number | undefined; between?: (() => Promise<unknown>) | undefined } = {},
) =>
  new StateGraph(
    Annotation.Root({
      list: listOf(frequency),
      turn: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
    }),
  )
    .addNode("a", ({ turn }) => ({ list: [`a${turn}`] }))
    .addNode("z", async ({ turn }) => {
      await between?.();
      return { list: [`z${turn}`], turn: 1 };
    })
    .addEdge(START, "a")
    .addEdge("a", "z")
    .compile({ checkpointer });

const expected = (turns: number): string[] =>
  Array.from({ length: turns }, (_, turn) => [`in${turn}`, `a${turn}`, `z${turn}`]).flat();

/** The error that a call rejects with. */
const errorOf = async (call: Promise<unknown>): Promise<StratigraphError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!StratigraphError.is(error)) throw new Error("a coded error was expected", { cause: error });
  return error;
};

/** A thread's checkpoints, newest first. */
const checkpointsOf = async ({ tier }: TierSaver, threadId: string): Promise<Address[]> => {
  const found: Address[] = [];
  for await (const { record } of tier.list({ threadId, namespace: "", recordsOnly: true }))
    found.push(record);
  return found;
};

/** Removes checkpoints with their pending writes, to simulate damage. */
const lose = async ({ tier }: TierSaver, checkpoints: readonly Address[]): Promise<void> => {
  const [{ threadId } = { threadId: "" }] = checkpoints;
  const taken = { threadId, checkpoints, dropBlobs: [], replaceBlobs: [], heads: [] };
  // Tries again if it is refused, because a run may be writing to the thread.
  for (let done = false; !done;) {
    const { revision } = await tier.peek({ threadId, namespace: "" });
    done = await tier.remove({ ...taken, revision });
  }
};

/** Does some work while a tier acknowledges the n-th batch of pending writes but loses it. */
const losing = async <T>(tier: Tier, n: number, work: () => Promise<T>): Promise<T> => {
  let batches = 0;
  const stored = tier.appendWrites.bind(tier);
  tier.appendWrites = async (request: AppendWritesRequest): Promise<void> => {
    batches += 1;
    if (batches !== n) return await stored(request);
    // An empty append increments the revision as the batch would have, so that the revision doesn't reveal the loss.
    const { threadId } = request;
    await tier.append({ threadId, records: [], blobs: [], heads: [], onConflict: "refuse" });
  };
  try {
    return await work();
  } finally {
    Reflect.deleteProperty(tier, "appendWrites");
  }
};

/**
 * Tests of threads that lost a part from which DeltaChannels are rebuilt: a read returns the whole value, or throws an error.
 */
export const deltaLineTests = ({
  test,
  isWhole,
  saver,
  reopen,
  thread,
  durabilities,
}: GraphContext): void => {
  const open = async (): Promise<TierSaver> => (await reopen()) as TierSaver;
  const idOf = ({ configurable }: ThreadConfig): string => configurable.thread_id;

  const turns = async (config: ThreadConfig, count: number, frequency?: number, from = 0): Promise<void> => {
    for (let turn = from; turn < from + count; turn += 1)
      await graphOf(await reopen(), { frequency }).invoke({ list: [`in${turn}`] }, config);
  };

  for (const durability of durabilities()) {
    test(`an ancestor is gone: reads and turns are refused, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await turns(config, 3);
      const other = await open();
      const checkpoints = await checkpointsOf(other, idOf(config));
      const gone = checkpoints.at(Math.floor(checkpoints.length / 2))!;
      await lose(other, [gone]);
      const graph = graphOf(await reopen());
      const head = checkpoints[0]!.checkpointId;
      const more = { list: ["more"] };
      for (const call of [() => graph.getState(config), () => graph.invoke(more, config)]) {
        const error = await errorOf(call());
        expect(error.code).toBe("CORRUPT");
        expect(error.data).toMatchObject({
          threadId: idOf(config),
          namespace: "",
          checkpointId: head,
          channel: "list",
          parentId: gone.checkpointId,
        });
        expect(error.message).toContain(gone.checkpointId);
      }
      expect((await checkpointsOf(other, idOf(config)))[0]!.checkpointId).toBe(head);
    });

    test(`pending writes were acknowledged and are gone: reads are refused, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await turns(config, 1);
      // The second batch of the second turn is in the middle of a step; with "exit" it is what is stored of a node.
      const running = await open();
      const { list } = await losing(running.tier, 2, () =>
        graphOf(running).invoke({ list: ["in1"] }, config),
      );
      expect(list).toEqual(expected(2));
      const error = await errorOf(graphOf(await reopen()).getState(config));
      expect(error.code).toBe("CORRUPT");
      expect(error.message).toMatch(
        /pending writes that checkpoint .* was made from are missing \(batch .+\.2\)/,
      );
      expect(error.data).toMatchObject({ threadId: idOf(config), namespace: "" });
      await errorOf(graphOf(await reopen()).invoke({ list: ["more"] }, config));
    });

    test(`the thread vanishes while a node runs: the run is refused, or its thread is whole, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await turns(config, 2);
      const other = await open();
      const vanish = async (): Promise<void> => await lose(other, await checkpointsOf(other, idOf(config)));
      const running = graphOf(await reopen(), { between: vanish });
      const listed = async (call: Promise<{ list?: string[] }>): Promise<string[] | undefined> => {
        try {
          return (await call).list;
        } catch (error) {
          expect(StratigraphError.is(error), String(error)).toBe(true);
          return undefined;
        }
      };
      const ran = await listed(running.invoke({ list: ["in2"] }, config));
      if (ran !== undefined) expect(ran).toEqual(expected(3));
      const state = graphOf(await reopen()).getState(config);
      const read = await listed(state.then(({ values }) => values as { list?: string[] }));
      if (read !== undefined && read.length > 0) expect(read).toEqual(expected(3));
    });

    test(`pruned, copied and continued, a line is whole, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await turns(config, 3, 4);
      const other = await open();
      await other.prune([idOf(config)], { strategy: "keep_latest" });
      expect((await graphOf(await reopen(), { frequency: 4 }).getState(config)).values.list).toEqual(
        expected(3),
      );
      const copy = { ...thread(), durability };
      await other.copyThread(idOf(config), idOf(copy));
      for (const each of [config, copy]) {
        await turns(each, 2, 4, 3);
        expect((await graphOf(await reopen(), { frequency: 4 }).getState(each)).values.list).toEqual(
          expected(5),
        );
      }
    });
  }

  test("what is older than the gap, and what has a snapshot since, is read as ever", async () => {
    const config = thread();
    await turns(config, 2);
    const other = await open();
    const before = (await checkpointsOf(other, idOf(config)))[0]!;
    await turns(config, 1, 1000, 2);
    const [head, ...rest] = await checkpointsOf(other, idOf(config));
    const gone = rest.at(rest.findIndex(({ checkpointId }) => checkpointId === before.checkpointId) - 1)!;
    await lose(other, [gone]);
    const at = (id: string) => ({ configurable: { ...config.configurable, checkpoint_id: id } });
    const graph = graphOf(await reopen());
    expect((await graph.getState(at(before.checkpointId))).values.list).toEqual(expected(2));
    const middle = rest[0]!.checkpointId;
    const error = await errorOf(graph.getState(at(middle)));
    expect(error.code).toBe("NOT_FOUND");
    expect(error.data).toMatchObject({
      checkpointId: middle,
      parentId: gone.checkpointId,
      channels: ["list"],
    });
    expect((await errorOf(graph.getState(at(head!.checkpointId)))).code).toBe("CORRUPT");
    // A snapshot and the line after it are enough.
    const snapped = thread();
    await turns(snapped, 1);
    await turns(snapped, 2, 1, 1);
    const line = await checkpointsOf(other, idOf(snapped));
    await lose(other, [line.at(-2)!]);
    expect((await graphOf(await reopen(), { frequency: 1 }).getState(snapped)).values.list).toEqual(
      expected(3),
    );
  });

  test("a DeltaChannel that came later has its value, though what was before it is gone", async () => {
    const config = thread();
    const plain = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(
        Annotation.Root({ turn: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }) }),
      )
        .addNode("a", () => ({ turn: 0 }))
        .addEdge(START, "a")
        .compile({ checkpointer });
    for (let turn = 0; turn < 2; turn += 1) await plain(saver()).invoke({ turn: 0 }, config);
    const other = await open();
    const older = await checkpointsOf(other, idOf(config));
    await turns(config, 2);
    await lose(other, older.slice(1));
    expect((await graphOf(await reopen()).getState(config)).values.list).toEqual(expected(2));
  });

  test("a checkpoint that was read, and pruned before its history is asked for", async () => {
    const config = thread();
    await turns(config, 2, 2);
    const reader = await open();
    const [, old] = (await checkpointsOf(reader, idOf(config))).slice(3);
    const named = { configurable: { ...config.configurable, checkpoint_id: old!.checkpointId } };
    await reader.getTuple(named);
    const other = await open();
    await lose(other, (await checkpointsOf(other, idOf(config))).slice(1));
    const asked = reader.getDeltaChannelHistory({ config: named, channels: ["list"] });
    const error = await errorOf(asked);
    expect(error.code).toBe("NOT_FOUND");
    expect(error.message).toContain("pruned");
  });

  if (isWhole)
    test("the last value is more than a thousand checkpoints back, from before the list was a DeltaChannel", async () => {
      const config = thread();
      const list = await makeLongLine((await open()).tier, idOf(config));
      expect((await graphOf(await reopen(), { frequency: 10_000 }).getState(config)).values.list).toEqual(
        list,
      );
      const graph = graphOf(await reopen(), { frequency: 10_000 });
      const { list: after } = await graph.invoke({ list: ["more"] }, config);
      expect(after).toEqual([...list, "more", "a1", "z1"]);
      expect((await graphOf(await reopen()).getState(config)).values.list).toEqual(after);
    });
};
