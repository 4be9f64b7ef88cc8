import { emptyCheckpoint, uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { TierSaver } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { Storage, contents, historyOf, logOf, text, turns, twoSteps } from "./support.ts";

const thread = { configurable: { thread_id: "t" } };
const metadata: CheckpointMetadata = { source: "input", step: 0, parents: {} };

describe("prune", () => {
  test("keeps the newest, rebuilt so that nothing of the rest is needed", async () => {
    for (const keepLast of [1, 3]) {
      const storage = new Storage();
      const { saver } = storage.open();
      await turns(saver, ["a", "b", "c"]);
      const before = await historyOf(saver);
      expect((await storage.tier.blobs("t")).some(({ base }) => base !== undefined)).toBe(true);
      await saver.prune(["t"], { strategy: "keep_latest", keepLast });
      const other = storage.open().saver;
      expect(await historyOf(other)).toEqual(before.slice(0, keepLast));
      await turns(saver, ["d"]);
      expect((await twoSteps(other).getState(thread)).values.log).toEqual(logOf("a", "b", "c", "d"));
    }
  });

  test("keepLast defaults to 1; strategy delete takes the thread", async () => {
    const { saver } = new Storage().open();
    await turns(saver, ["a"]);
    await saver.prune(["t"], { strategy: "keep_latest" });
    expect(await historyOf(saver)).toHaveLength(1);
    await saver.prune(["t"], { strategy: "delete" });
    expect(await historyOf(saver)).toEqual([]);
  });

  test("nothing to do is no error; options are checked", async () => {
    const storage = new Storage();
    const { saver } = storage.open();
    await turns(saver, ["a"]);
    const before = await contents(storage.tier, "t");
    await saver.prune([], { strategy: "keep_latest" });
    await saver.prune(["unknown"], { strategy: "keep_latest" });
    await saver.prune(["t"], { strategy: "keep_latest", keepLast: 100 });
    expect(await contents(storage.tier, "t")).toEqual(before);
    for (const options of [{ strategy: "newest" }, { strategy: "keep_latest", keepLast: 0 }]) {
      const pruning = saver.prune(["t"], options as Parameters<TierSaver["prune"]>[1]);
      await expect(pruning).rejects.toMatchObject({ code: "INVALID_OPTION" });
    }
    await expect(saver.prune([""], { strategy: "keep_latest" })).rejects.toMatchObject({
      code: "INVALID_ADDRESS",
    });
  });

  test("a writer that had read before it reads again, once, and goes on", async () => {
    const storage = new Storage();
    const { saver: a, door } = storage.open();
    await turns(a, ["a", "b"]);
    const { saver: b } = storage.open();
    const graph = twoSteps(a);
    const { config } = await graph.getState(thread);
    const hold = door.hold("append");
    const update = graph.updateState(config, { who: "updated" });
    await hold.reached;
    await b.prune(["t"], { strategy: "keep_latest" });
    hold.release();
    await update;
    const appends = door.calls.filter(({ method }) => method === "append");
    expect(appends.slice(-2).map(({ outcome }) => outcome)).toEqual(["failed", "returned"]);
    const state = await twoSteps(storage.open().saver).getState(thread);
    expect(state.values).toEqual({ who: "updated", log: logOf("a", "b") });
  });

  test("a value that was pruned is stored again, though the thread was read since", async () => {
    const storage = new Storage();
    const { saver } = storage.open();
    const put = async (id: string, note: string, checkpoint_id?: string): Promise<unknown> =>
      await saver.put(
        { configurable: { thread_id: "t", checkpoint_id } },
        { ...emptyCheckpoint(), id, channel_values: { note }, channel_versions: { note: Number(id) } },
        metadata,
        { note: Number(id) },
      );
    await put("1", text("old"));
    await put("2", text("new"), "1");
    await storage.open().saver.prune(["t"], { strategy: "keep_latest" });
    await saver.getTuple(thread);
    const at = { configurable: { thread_id: "t", checkpoint_id: "2" } };
    await saver.putWrites(at, [["note", text("old")]], "task");
    await put("3", text("old"), "2");
    const other = storage.open().saver;
    expect((await other.getTuple(thread))?.checkpoint.channel_values).toEqual({ note: text("old") });
    expect((await other.getTuple(at))?.pendingWrites).toEqual([["task", "note", text("old")]]);
  });

  test("a side branch whose patch base was pruned meanwhile is stored whole", async () => {
    const storage = new Storage();
    const { saver: a, door } = storage.open();
    const { saver: b } = storage.open();
    await turns(a, ["a"]);
    const hold = door.hold("append");
    const run = turns(a, ["loser"], { durability: "async" });
    await hold.reached;
    await turns(b, ["winner"]);
    await b.prune(["t"], { strategy: "keep_latest" });
    hold.release();
    await run;
    const { saver: c } = storage.open();
    const [conflict] = await c.conflicts("t");
    const side = await twoSteps(c).getState({
      configurable: { thread_id: "t", checkpoint_id: conflict!.checkpointId },
    });
    expect(side.values).toEqual({ who: "loser", log: logOf("a", "loser") });
    const logs = (await historyOf(c)).map(({ values }) => values.log);
    for (const log of logs) expect(log.slice(0, 3)).toEqual(logOf("a"));
    expect(logs).toContainEqual(logOf("a", "winner"));
  });

  test("a put whose only value is a patch on what was pruned meanwhile is stored whole", async () => {
    const storage = new Storage();
    const { saver: a } = storage.open({ conflict: "branch" });
    const { saver: b } = storage.open();
    const config = (id?: string) => ({ configurable: { ...thread.configurable, checkpoint_id: id } });
    const put = (saver: TierSaver, n: number, log: string[], parent?: number) => {
      const checkpoint = {
        ...emptyCheckpoint(),
        id: `c${n}`,
        channel_values: { log },
        channel_versions: { log: n },
      };
      return saver.put(config(parent === undefined ? undefined : `c${parent}`), checkpoint, metadata, {
        log: n,
      });
    };
    const log = [text("log", 2)];
    await put(a, 1, log);
    await put(a, 2, [...log, "two"], 1);
    await b.getTuple(thread);
    await put(b, 3, [text("another", 2)], 2);
    await b.prune(["t"], { strategy: "keep_latest" });
    await put(a, 4, [...log, "two", "four"], 2);
    const { saver: c } = storage.open();
    expect((await c.getTuple(config("c4")))?.checkpoint.channel_values).toEqual({
      log: [...log, "two", "four"],
    });
    expect(await c.conflicts("t")).toMatchObject([{ checkpointId: "c4", lostTo: "c3" }]);
  });

  test("a put whose thread was pruned is repeated once, also where pending writes from before are stored meanwhile", async () => {
    const storage = new Storage();
    const { saver: a, door } = storage.open();
    const { saver: b } = storage.open();
    await turns(a, ["a", "b"]);
    const { config } = await twoSteps(a).getState(thread);
    const write = door.hold("appendWrites");
    const writing = a.putWrites(config, [["who", "small"]], "task");
    await write.reached;
    await b.prune(["t"], { strategy: "keep_latest" });
    const read = door.read.bind(door);
    // The repetition reads the parent again; then the pending writes come through, of a writer who read before the pruning.
    Object.assign(door, {
      read: async (at: Parameters<typeof read>[0]) => {
        const reading = await read(at);
        write.release();
        await writing;
        return reading;
      },
    });
    const { checkpoint } = (await b.getTuple(config))!;
    const [log, id] = [[...logOf("a", "b"), "more"], uuid6(9)];
    const next = { ...checkpoint, id, channel_values: { log }, channel_versions: { log: 99 } };
    await a.put(config, next, metadata, { log: 99 });
    const appends = door.calls.filter(({ method }) => method === "append");
    expect(appends.filter(({ outcome }) => outcome === "failed")).toHaveLength(1);
  });

  test("a put is repeated while its thread is pruned again and again", async () => {
    const storage = new Storage();
    const { saver, door } = storage.open();
    await turns(saver, ["a"]);
    const append = door.append.bind(door);
    let removals = 0;
    Object.assign(door, {
      append: async (request: Parameters<typeof append>[0]) => {
        removals += 1;
        const { revision } = await door.peek({ threadId: "t", namespace: "" });
        const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] };
        if (removals < 4) await door.remove({ threadId: "t", revision, ...nothing });
        return await append(request);
      },
    });
    await twoSteps(saver).updateState(thread, { who: "updated" });
    expect(removals).toBe(4);
    expect((await twoSteps(storage.open().saver).getState(thread)).values).toEqual({
      who: "updated",
      log: logOf("a"),
    });
  });

  describe("what was encoded before another call forgot what it relies on", () => {
    /** A put of a value that the thread has, held once it is encoded; `after` is called then. */
    async function heldPut(after: (saver: TierSaver, storage: Storage) => Promise<unknown>) {
      const storage = new Storage();
      const { saver, door } = storage.open({ conflict: "branch", threadTags: ["user_id"] });
      const put = async (n: number, value: string, parent?: number, user_id?: string) => {
        const id = parent === undefined ? undefined : `c${parent}`;
        const configurable = { ...thread.configurable, checkpoint_id: id, user_id };
        const values = { channel_values: { value }, channel_versions: { value: n } };
        const checkpoint = { ...emptyCheckpoint(), id: `c${n}`, ...values };
        await saver.put({ configurable }, checkpoint, metadata, { value: n });
      };
      await put(1, text("one", 2));
      await put(2, text("two", 2), 1);
      const hold = door.hold("tagThread");
      const held = put(3, text("one", 2), 2, "ben");
      await hold.reached;
      await after(saver, storage);
      hold.release();
      await held;
      return storage.open().saver;
    }

    test("isn't stored on values that were pruned", async () => {
      const reader = await heldPut(async (saver, storage) => {
        await storage.open().saver.prune(["t"], { strategy: "keep_latest" });
        await saver.prune(["t"], { strategy: "keep_latest" });
        await saver.getTuple(thread);
      });
      const { checkpoint } = (await reader.getTuple({
        configurable: { thread_id: "t", checkpoint_id: "c3" },
      }))!;
      expect(checkpoint.channel_values).toEqual({ value: text("one", 2) });
    });

    test("brings no deleted thread back", async () => {
      const reader = await heldPut((saver) => saver.deleteThread("t"));
      expect(await reader.getTuple(thread)).toBeUndefined();
    });
  });

  test("a thread that is written to all the time: the tier is asked again, then it is an error", async () => {
    const storage = new Storage();
    const { saver, door } = storage.open();
    const { saver: other } = storage.open();
    await turns(saver, ["a", "b"]);
    let writes = 0;
    const removal = door.remove.bind(door);
    const busy = Object.assign(door, {
      remove: async (request: Parameters<typeof removal>[0]) => {
        writes += 1;
        if (writes <= limit) await twoSteps(other).updateState(thread, { who: `write ${writes}` }, "two");
        return await removal(request);
      },
    });
    let limit = 2;
    await new TierSaver(busy).prune(["t"], { strategy: "keep_latest" });
    expect((await twoSteps(other).getState(thread)).values.who).toBe("write 2");
    expect(await historyOf(other)).toHaveLength(1);
    limit = Number.POSITIVE_INFINITY;
    await turns(other, ["c"]);
    await expect(new TierSaver(busy).prune(["t"], { strategy: "keep_latest" })).rejects.toMatchObject({
      code: "OVERLOADED",
    });
  });
});
