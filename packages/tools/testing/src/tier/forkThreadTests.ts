import type { Tier } from "@stratigraph/core";
import { forksThreads } from "@stratigraph/core/internal";
import type { ForkRequest, ForkTip, ThreadForker } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import {
  at,
  batch,
  blob,
  line,
  listed,
  listedIds,
  plainRecord,
  plainWrites,
  put,
  record,
} from "./fixtures.ts";

const reflog = "reflog";

/** ThreadForker, the optional fast path for forks. */
export function forkThreadTests(context: TierContext): void {
  const forking = (test: TestContext): Tier & ThreadForker => {
    const { tier } = context;
    context.need(test, forksThreads(tier), "forkThread");
    return tier as Tier & ThreadForker;
  };
  const all = [...Array(9).keys()];
  const tip = (checkpointId: string, parts: Partial<ForkTip> = {}): ForkTip => ({
    namespace: "",
    checkpointId,
    writes: all,
    ancestors: 0,
    ...parts,
  });
  const request = async (
    tier: Tier & ThreadForker,
    [sourceId, targetId]: readonly [string, string],
    tips: readonly ForkTip[],
  ): Promise<ForkRequest> => ({
    sourceId,
    targetId,
    seen: (await tier.outline(sourceId))!.revision,
    tips,
    also: {
      records: [record(targetId, "origin", { namespace: reflog, names: [blob("origin")], terms: [7] })],
      blobs: [blob("origin")],
      heads: [{ namespace: reflog, to: "origin", expected: [] }],
    },
  });
  const names = (): readonly [string, string] => [context.thread(), context.thread()];
  /** c1 ← c2 ← c3, where c3 has a patch on a patch; also a side branch of c1, a subgraph, and pending writes. */
  const family = async (tier: Tier, threadId: string): Promise<void> => {
    const whole = blob("whole");
    const first = blob("patch", whole);
    await tier.append(put(threadId, "c1", { names: [whole, blob("old")], terms: [5] }));
    await tier.append(put(threadId, "c2", { parentId: "c1", names: [first], runId: "run", terms: [6] }));
    await tier.append(put(threadId, "c3", { parentId: "c2", names: [blob("patch 2", first)] }));
    await tier.append(put(threadId, "x2", { parentId: "c1", onConflict: "branch", names: [blob("side")] }));
    await line(tier, threadId, ["s1", "s2"], { namespace: "sub:1" });
    for (const task of ["t9", "t1", "t5"])
      await tier.appendWrites(batch(at(threadId, "c3"), task, { names: [blob(`of ${task}`)] }));
    await tier.appendWrites(batch(at(threadId, "c2"), "older"));
  };

  describe("outline (optional)", () => {
    test("heads of all namespaces with their writes, and no blobs", async (test) => {
      const tier = forking(test);
      const [thread, unknown] = names();
      await family(tier, thread);
      const { revision, checkpoint, continued, heads } = (await tier.outline(thread))!;
      expect(revision).toBe((await tier.peek({ threadId: thread, namespace: "" })).revision);
      expect(continued).toBe(false);
      expect(
        heads.map(({ record: { namespace, checkpointId } }) => `${namespace}/${checkpointId}`).sort(),
      ).toEqual(["/c3", "sub:1/s2"]);
      expect(plainRecord(checkpoint!.record)).toEqual(
        plainRecord((await tier.read(at(thread, "c3"))).checkpoint!.record),
      );
      expect(plainWrites(checkpoint!.writes).map((text) => text.slice(0, 2))).toEqual(["t9", "t1", "t5"]);
      for (const { blobs } of heads) expect(blobs.size).toBe(0);
      expect(await tier.outline(unknown)).toMatchObject({ revision: 0, continued: false, heads: [] });
    });

    test("an older checkpoint with or without children, and one that isn't there", async (test) => {
      const tier = forking(test);
      const [thread] = names();
      await family(tier, thread);
      for (const [id, continued] of [
        ["c2", true],
        ["x2", false],
        ["none", false],
      ] as const) {
        const outline = (await tier.outline(thread, id))!;
        expect(outline.checkpoint?.record.checkpointId).toBe(id === "none" ? undefined : id);
        expect(outline.continued).toBe(continued);
        expect(outline.heads).toHaveLength(2);
      }
    });
  });

  describe("forkThread (optional)", () => {
    test("copies the tips, their blobs and the bases of these, and nothing else", async (test) => {
      const tier = forking(test);
      const [source, target] = names();
      await family(tier, source);
      const done = await tier.forkThread(
        await request(tier, [source, target], [tip("c3"), tip("s2", { namespace: "sub:1" })]),
      );
      const copied = await listed(tier, { threadId: target });
      expect(copied.map((one) => one.record.checkpointId).sort()).toEqual(["c3", "origin", "s2"]);
      for (const one of copied) {
        expect(one.head).toBe(one.record.checkpointId);
        if (one.record.namespace === reflog) continue;
        const own = (await tier.read({ ...one.record, threadId: source })).checkpoint!;
        expect({ ...plainRecord(one.record), threadId: "" }).toEqual({
          ...plainRecord(own.record),
          threadId: "",
        });
        expect(plainWrites(one.writes)).toEqual(plainWrites(own.writes));
      }
      expect((await tier.read(at(target, "c3"))).checkpoint!.blobs.size).toBeGreaterThanOrEqual(6);
      const stored = await tier.blobs(target);
      expect(stored).toHaveLength(7);
      const bytes = stored
        .filter(({ hash }) => hash !== blob("origin").hash)
        .reduce((sum, { size }) => sum + size, 0);
      expect(done).toEqual({
        checkpoints: 2,
        bytes: bytes + "body of c3body of s2writes of t9writes of t1writes of t5".length,
      });
    });

    test("copies a number of ancestors, or those until each term was found, or all, with their writes", async (test) => {
      const tier = forking(test);
      const [source] = names();
      await family(tier, source);
      for (const [parts, ids] of [
        [{ ancestors: 1 }, ["c2", "c3"]],
        [{ ancestors: 9, until: [6] }, ["c2", "c3"]],
        [{ ancestors: 9, until: [6, 5] }, ["c1", "c2", "c3"]],
        [{ ancestors: 1, until: [5] }, ["c2", "c3"]],
        [{ ancestors: 9, until: [] }, ["c3"]],
        [{ ancestors: Number.POSITIVE_INFINITY }, ["c1", "c2", "c3"]],
        [{ ancestors: Number.POSITIVE_INFINITY, until: [8] }, ["c1", "c2", "c3"]],
      ] as const) {
        const target = context.thread();
        await tier.forkThread(await request(tier, [source, target], [tip("c3", { ...parts, writes: [] })]));
        expect((await listedIds(tier, { threadId: target, namespace: "" })).sort()).toEqual(ids);
        expect((await tier.peek(at(target, "c3"))).writes).toEqual([]);
        const older = await tier.peek(at(target, "c2"));
        expect(plainWrites(older.writes)).toEqual(ids.length > 1 ? ["older: writes of older"] : []);
      }
    });

    test("copies the chosen writes in their order, and later writes come after them", async (test) => {
      const tier = forking(test);
      const [source, target] = names();
      await family(tier, source);
      await tier.forkThread(await request(tier, [source, target], [tip("c3", { writes: [0, 2] })]));
      await tier.appendWrites(batch(at(target, "c3"), "t0"));
      const { checkpoint } = await tier.read(at(target, "c3"));
      expect(checkpoint!.writes.map(({ taskId }) => taskId)).toEqual(["t9", "t5", "t0"]);
      expect((await tier.blobs(target)).map(({ hash }) => hash)).not.toContain(blob("of t1").hash);
      expect((await tier.peek(at(source, "c3"))).writes).toHaveLength(3);
    });

    test("a side branch becomes the fork's main line, and the fork doesn't need its source any more", async (test) => {
      const tier = forking(test);
      const [source, target] = names();
      await family(tier, source);
      await tier.forkThread(await request(tier, [source, target], [tip("x2")]));
      await tier.deleteThread(source);
      const { checkpoint, head } = await tier.read({ threadId: target, namespace: "" });
      expect(head).toBe("x2");
      expect(checkpoint!.record.lostTo).toBeUndefined();
      const { heads } = await tier.append(put(target, "x3", { parentId: "x2" }));
      expect(heads[0]!.moved).toBe(true);
      const known: string[] = [];
      for await (const { threadId } of tier.threads({})) known.push(threadId);
      expect(known).toContain(target);
    });

    test("refuses a target that has a head and doesn't change it; a deleted thread may be a target", async (test) => {
      const tier = forking(test);
      const [source, target] = names();
      await family(tier, source);
      const { revision } = await tier.append(put(target, "mine"));
      const asked = await request(tier, [source, target], [tip("c3")]);
      await expect(tier.forkThread(asked)).rejects.toMatchObject({
        code: "THREAD_EXISTS",
        data: { threadId: target },
      });
      expect(await tier.peek({ threadId: target, namespace: "" })).toMatchObject({ revision, head: "mine" });
      expect(await listedIds(tier, { threadId: target })).toEqual(["mine"]);
      await tier.deleteThread(target);
      expect(await tier.forkThread(asked)).toMatchObject({ checkpoints: 1 });
      expect((await tier.peek({ threadId: target, namespace: "" })).head).toBe("c3");
      await tier.deleteThread(target);
      const alone = { ...asked, also: { records: [], blobs: [], heads: [] } };
      expect(await tier.forkThread(alone)).toMatchObject({ checkpoints: 1 });
    });

    test("does nothing if a tip, a blob or the source is missing", async (test) => {
      const tier = forking(test);
      const [source, target] = names();
      await family(tier, source);
      await tier.append(put(source, "c4", { parentId: "c3", names: [blob("absent")], brings: [] }));
      await tier.append(put(source, "c5", { parentId: "c4", names: [blob("on absent", blob("absent"))] }));
      for (const tips of [[tip("c3"), tip("nowhere")], [tip("c4")], [tip("c3"), tip("c5")]])
        expect(await tier.forkThread(await request(tier, [source, target], tips))).toBeUndefined();
      expect(
        await tier.forkThread(await request(tier, [context.thread(), target], [tip("c3")])),
      ).toBeUndefined();
      expect(await tier.peek({ threadId: target, namespace: "" })).toMatchObject({ writes: [] });
      expect(await listedIds(tier, { threadId: target })).toEqual([]);
      expect(await tier.blobs(target)).toEqual([]);
    });

    test("does nothing if something was removed since the outline was read", async (test) => {
      const tier = forking(test);
      const [source, target] = names();
      await family(tier, source);
      const asked = await request(tier, [source, target], [tip("c3", { ancestors: 9 })]);
      const { revision } = await tier.peek({ threadId: source, namespace: "" });
      const gone = { checkpoints: [at(source, "c1")], dropBlobs: [], replaceBlobs: [], heads: [] };
      expect(await tier.remove({ threadId: source, revision, ...gone })).toBe(true);
      expect(await tier.forkThread(asked)).toBeUndefined();
      expect(await listedIds(tier, { threadId: target })).toEqual([]);
      const again = await request(tier, [source, target], [tip("c3", { ancestors: 9 })]);
      expect(await tier.forkThread(again)).toMatchObject({ checkpoints: 2 });
    });

    test("of several forks to one target at the same time, one succeeds", async (test) => {
      const tier = forking(test);
      const [source, target] = names();
      await family(tier, source);
      const asked = await request(tier, [source, target], [tip("c3")]);
      const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => tier.forkThread(asked)));
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "THREAD_EXISTS" });
      expect((await tier.peek(at(target, "c3"))).writes).toHaveLength(3);
    });

    test("ids of any text", async (test) => {
      const tier = forking(test);
      const ids = context.hostileIds;
      for (const [n, id] of ids.entries()) {
        const [source, target] = [`${context.thread()}${id}`, `${context.thread()}${id}`];
        await tier.append(put(source, id, { names: [blob(`v${n}`)] }));
        await tier.append(put(source, id, { namespace: id, runId: id }));
        await tier.appendWrites(batch(at(source, id), id));
        const outline = (await tier.outline(source, id))!;
        expect(outline.checkpoint!.record.checkpointId).toBe(id);
        await tier.forkThread(await request(tier, [source, target], [tip(id), tip(id, { namespace: id })]));
        const { checkpoint } = await tier.read({ threadId: target, namespace: "" });
        expect(checkpoint!.record).toMatchObject({ threadId: target, checkpointId: id });
        expect(checkpoint!.writes[0]!.taskId).toBe(id);
        const inner = await tier.read({ threadId: target, namespace: id });
        expect(inner.checkpoint!.record).toMatchObject({ namespace: id, runId: id });
      }
    });
  });
}
