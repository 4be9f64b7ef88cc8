import { randomBytes } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { TierSaver, type Tier } from "@stratigraph/core";
import { archivesThreads, onDeletedRuns } from "@stratigraph/core/internal";
import { expect } from "vitest";
import type { GraphContext, ThreadConfig } from "../graphs/context.ts";
import { CallChain } from "./callChain.ts";

/** Tests that a thread's chain of tool calls stays whole until the thread is deleted, and that no list shows it. */
export const callsTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  const given = (): TierSaver => {
    const one = saver();
    if (!(one instanceof TierSaver)) throw new Error("these tests need one of Stratigraph's savers");
    return one;
  };

  const chainOf = (config: ThreadConfig, by: TierSaver = given()): CallChain =>
    new CallChain(by, config.configurable.thread_id);

  /** Puts checkpoints of a graph, each followed by an event that shares its value, a patch. @returns the events' ids, newest first */
  const turns = async (config: ThreadConfig, count: number, runId?: string): Promise<string[]> => {
    const events: string[] = [];
    let at: RunnableConfig = (await saver().getTuple(config))?.config ?? config;
    for (let n = 0; n < count; n += 1) {
      const log = Array.from({ length: 20 + n }, (_, item) => `line ${item} ${"x".repeat(40)}`);
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(n),
        channel_values: { log },
        channel_versions: { log: n + 1 },
      };
      const metadata = { source: "loop", step: n, parents: {}, run_id: runId ?? `run ${n}` } as const;
      at = await saver().put(at, checkpoint, metadata, { log: n + 1 });
      events.unshift(...(await chainOf(config).add(1, log)));
    }
    return events;
  };

  const counted = async (config: ThreadConfig): Promise<number> => {
    let count = 0;
    for await (const _ of saver().list(config)) count += 1;
    return count;
  };

  /** The chain as this saver and another one over the same storage read it. */
  const expectChain = async (config: ThreadConfig, events: readonly string[]): Promise<void> => {
    expect(await chainOf(config).read()).toEqual(events);
    expect(await chainOf(config, (await reopen()) as TierSaver).read()).toEqual(events);
  };

  test("prune keeps the whole chain", async () => {
    const config = thread();
    const events = await turns(config, 4);
    await given().prune([config.configurable.thread_id], { strategy: "keep_latest" });
    expect(await counted(config)).toBe(1);
    await expectChain(config, events);
    await expectChain(config, [...(await chainOf(config).add(1)), ...events]);
  });

  test("deleteForRuns keeps the whole chain, and waits for what erases calls", async () => {
    const config = thread();
    const threadId = config.configurable.thread_id;
    const runId = `run of ${threadId}`;
    const events = await turns(config, 3, runId);
    await expect(given().deleteForRuns([runId])).rejects.toMatchObject({ code: "MISCONFIGURED" });
    expect(await counted(config)).toBe(3);
    onDeletedRuns(given(), async (thread, runs) => {
      expect([thread, [...runs], await counted(config)]).toEqual([threadId, [runId], 3]);
    });
    await given().deleteForRuns([runId]);
    expect(await counted(config)).toBe(0);
    await expectChain(config, events);
  });

  test("no list shows it, and no conflict", async () => {
    const config = thread();
    const threadId = config.configurable.thread_id;
    await turns(config, 2);
    await chainOf(config).add(5);
    expect(await counted(config)).toBe(2);
    for (let limit = 1; limit <= 4; limit += 1) {
      const found: unknown[] = [];
      for await (const tuple of saver().list(config, { limit }))
        found.push(tuple.config.configurable?.["checkpoint_ns"]);
      expect(found).toEqual(Array.from({ length: Math.min(limit, 2) }, () => ""));
    }
    expect(await given().conflicts(threadId)).toEqual([]);
    const alone = thread("calls alone");
    await chainOf(alone).add(1);
    const { threads } = await given().listThreads({ limit: 1000 });
    const listed = threads.map((info) => info.threadId);
    expect(listed).toContain(threadId);
    expect(listed).not.toContain(alone.configurable.thread_id);
  });

  test("copyThread copies it, and both go on apart", async () => {
    const config = thread();
    const events = await turns(config, 3);
    const copy = thread("copy");
    await given().copyThread(config.configurable.thread_id, copy.configurable.thread_id);
    const more = await chainOf(copy).add(2);
    await expectChain(config, events);
    await expectChain(copy, [...more.reverse(), ...events]);
  });

  test("deleteThread takes it, and refuses an event that comes too late", async () => {
    const config = thread();
    const threadId = config.configurable.thread_id;
    await turns(config, 2);
    const late = await chainOf(config).next();
    await given().deleteThread(threadId);
    await expect(given().tier.append(late)).rejects.toMatchObject({ code: "THREAD_DELETED" });
    await expectChain(config, []);
    const other = thread();
    const first = await chainOf(other).next();
    await turns(other, 1);
    await given().deleteThread(other.configurable.thread_id);
    await expect(given().tier.append(first)).rejects.toMatchObject({ code: "THREAD_DELETED" });
  });

  test("of two that append at once, one is refused, and nothing of it is stored", async () => {
    const config = thread();
    const events = await turns(config, 1);
    const rivals = [await chainOf(config).next(), await chainOf(config).next()] as const;
    const settled = await Promise.allSettled(rivals.map((request) => given().tier.append(request)));
    const refused = settled.filter((one) => one.status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "CHECKPOINT_CONFLICT" } }]);
    const winner = rivals[settled[0]!.status === "fulfilled" ? 0 : 1].records[0]!.checkpointId;
    await expectChain(config, [winner, ...events]);
  });

  test("it can be encrypted anew", async () => {
    const config = thread();
    const threadIds = [config.configurable.thread_id];
    const [one, two, hashKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];
    // The thread has nothing else: the saver under test may encrypt with its own keys, whose check values are in the storage.
    const tier = withoutKeyChecks(given().tier);
    const first = new TierSaver(tier, { encryption: { keys: { one }, activeKey: "one", hashKey } });
    const sealed = await chainOf(config, first).add(2);
    const keys = { one, two };
    const rotated = new TierSaver(tier, { encryption: { keys, activeKey: "two", hashKey } });
    expect((await rotated.keysInUse({ threadIds })).keys.map(({ keyId }) => keyId)).toContain("one");
    await rotated.reencrypt({ threadIds });
    const { keys: inUse } = await rotated.keysInUse({ threadIds });
    expect(inUse.map(({ keyId }) => keyId)).toEqual(["two"]);
    expect(await chainOf(config, rotated).read()).toEqual(sealed.reverse());
  });

  test("it goes to the archive with its thread, and comes back", async () => {
    const config = thread();
    const threadId = config.configurable.thread_id;
    const { tier, coder } = given();
    if (!archivesThreads(tier)) return;
    const events = await turns(config, 3);
    await tier.archiveThread(threadId, (hash, blobs) => coder.blobs.payload(hash, blobs));
    await expectChain(config, events);
    await tier.restoreThread(threadId);
    await expectChain(config, [...(await chainOf(config).add(1)), ...events]);
    await tier.archiveThread(threadId, (hash, blobs) => coder.blobs.payload(hash, blobs));
    const [another] = await chainOf(config).add(1);
    expect((await chainOf(config).read())[0]).toBe(another);
    expect(await chainOf(config).read()).toHaveLength(events.length + 2);
  });
};

/** The tier without check values of keys, whether it is one storage or made of several. */
function withoutKeyChecks(tier: Tier): Tier {
  const hidden: ReadonlySet<unknown> = new Set(["claimKeyCheck", "keyCheckPlaces", "layers"]);
  return new Proxy(tier, {
    get(target, name) {
      const value: unknown = hidden.has(name) ? undefined : Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
