import { TierSaver } from "@stratigraph/core";
import {
  emptyCheckpoint,
  uuid6,
  type BaseCheckpointSaver,
  type CheckpointListOptions,
} from "@langchain/langgraph-checkpoint";
import type { RunnableConfig } from "@langchain/core/runnables";
import { expect } from "vitest";
import type { GraphContext } from "../graphs/context.ts";

const reserved = "__stratigraph_records__";

/** Tests that records in Stratigraph's own namespaces, such as those of forks and archives, never appear as checkpoints. */
export const reservedTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  const tierSaver = (): TierSaver => {
    const given = saver();
    if (!(given instanceof TierSaver)) throw new Error("these tests need one of Stratigraph's savers");
    return given;
  };

  /** Stores a record as Stratigraph's packages do, or with `mark` only a head without a checkpoint. */
  const keep = async (threadId: string, mark: boolean): Promise<void> => {
    const { tier, coder } = tierSaver();
    const checkpointId = uuid6(-1);
    const at = { threadId, namespace: mark ? "\u0001stratigraph.mark" : reserved, checkpointId };
    const before = { parentId: undefined, parent: undefined, again: undefined };
    const put = {
      checkpoint: { ...emptyCheckpoint(), id: checkpointId },
      metadata: { source: "fork", step: -1, parents: {} } as const,
      newVersions: {},
      runId: undefined,
    };
    const { record } = await coder.encode(at, before, put);
    const heads = [{ namespace: at.namespace, to: checkpointId, expected: "any" as const }];
    await tier.append({ threadId, records: mark ? [] : [record], blobs: [], heads, onConflict: "refuse" });
  };

  const listed = async (
    by: BaseCheckpointSaver,
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): Promise<string[]> => {
    const found: string[] = [];
    for await (const { checkpoint, config: at } of by.list(config, options))
      found.push(`${String(at.configurable?.["checkpoint_ns"])}|${checkpoint.id}`);
    return found;
  };

  test("they appear in no list, whatever its limit", async () => {
    const config = thread();
    const threadId = config.configurable.thread_id;
    const ids: string[] = [];
    let at: RunnableConfig = config;
    for (let n = 0; n < 4; n += 1) {
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(n) };
      ids.unshift(`|${checkpoint.id}`);
      at = await saver().put(at, checkpoint, { source: "loop", step: n, parents: {} }, {});
      for (let more = 0; more < 3; more += 1) await keep(threadId, false);
    }
    await keep(threadId, true);
    for (const by of [saver(), await reopen()]) {
      expect(await listed(by, config)).toEqual(ids);
      for (let limit = 0; limit <= 5; limit += 1)
        expect(await listed(by, config, { limit })).toEqual(ids.slice(0, limit));
      expect(await listed(by, config, { limit: 1, before: at })).toEqual(ids.slice(1, 2));
      expect(await listed(by, config, { filter: { source: "fork" } })).toEqual([]);
      const named = { configurable: { ...config.configurable, checkpoint_ns: reserved } };
      expect(await listed(by, named)).toEqual([]);
      expect((await listed(by, {})).filter((line) => line.includes("stratigraph"))).toEqual([]);
    }
    expect(await tierSaver().conflicts(threadId)).toEqual([]);
    expect((await saver().getTuple(config))?.checkpoint.id).toBe(ids[0]!.slice(1));
  });

  test("their namespaces can't be read or written with a config", async () => {
    const config = thread();
    await saver().put(config, emptyCheckpoint(), { source: "loop", step: 0, parents: {} }, {});
    await keep(config.configurable.thread_id, false);
    const there = { configurable: { ...config.configurable, checkpoint_ns: reserved } };
    const refused = { code: "INVALID_ADDRESS", data: { field: "checkpoint_ns" } };
    await expect(saver().getTuple(there)).rejects.toMatchObject(refused);
    const put = saver().put(there, emptyCheckpoint(), { source: "loop", step: 1, parents: {} }, {});
    await expect(put).rejects.toMatchObject(refused);
    const at = { configurable: { ...there.configurable, checkpoint_id: uuid6(0) } };
    await expect(saver().putWrites(at, [["a", 1]], "task")).rejects.toMatchObject(refused);
  });
};
