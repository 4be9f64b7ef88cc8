import { describe, expect, test } from "vitest";
import { thrown, type TierContext } from "./context.ts";
import { at, batch, blob, line, listedIds, put } from "./fixtures.ts";

/**
 * A storage that was restored to an older state while its writers live on, by a failover to a lagging server or from a backup. Writers
 * then know later revisions than the storage has, and rely on blobs that it doesn't have.
 */
export function setBackTests(context: TierContext): void {
  const contentsOf = async (threadId: string): Promise<unknown> => {
    const { tier } = context;
    const { revision, head, writes } = await tier.peek({ threadId, namespace: "" });
    const blobs = (await tier.blobs(threadId)).map(({ hash }) => hash).sort();
    return { revision, head, writes, ids: await listedIds(tier, { threadId }), blobs };
  };

  describe("a storage that was set back", () => {
    test("whoever read a later revision than there is must read again", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      await tier.appendWrites(batch(at(threadId, "c2"), "task"));
      const before = await contentsOf(threadId);
      const { revision } = await tier.peek({ threadId, namespace: "" });
      for (const onConflict of ["refuse", "branch"] as const)
        for (const parentId of ["c2", "c3"]) {
          const request = put(threadId, "c4", {
            parentId,
            onConflict,
            names: [blob("new")],
            seen: revision + 1,
          });
          await thrown(tier.append(request), "STALE_READ");
        }
      const writes = batch(at(threadId, "c2"), "late", { names: [blob("new")], seen: revision + 1 });
      await thrown(tier.appendWrites(writes), "STALE_READ");
      expect(await contentsOf(threadId)).toEqual(before);
      await tier.appendWrites({ ...writes, seen: revision });
      const now = (await tier.peek({ threadId, namespace: "" })).revision;
      const next = await tier.append(put(threadId, "c4", { parentId: "c2", seen: now }));
      expect(next.heads[0]!.moved).toBe(true);
    });

    test("a write that relies on a blob that isn't there is refused, whatever its writer read", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const [there, gone] = [blob("there"), blob("gone")];
      await tier.append(put(threadId, "c1", { names: [there] }));
      const before = await contentsOf(threadId);
      const { revision: seen } = await tier.peek({ threadId, namespace: "" });
      const relying = { parentId: "c1", relies: true, seen };
      const patch = blob("patch", gone);
      for (const parts of [
        { names: [there, gone], brings: [] },
        { names: [patch], brings: [patch] },
        { names: [gone], brings: [], onConflict: "branch" as const },
      ])
        await thrown(tier.append(put(threadId, "c2", { ...relying, ...parts })), "STALE_READ");
      const plain = put(threadId, "c2", { ...relying, names: [there], brings: [] });
      const writes = { ...at(threadId, "c2"), taskId: "task", blobs: [gone.hash], body: new Uint8Array(1) };
      await thrown(tier.append({ ...plain, writes: [writes] }), "STALE_READ");
      await thrown(tier.appendWrites({ ...writes, newBlobs: [], relies: true, seen }), "STALE_READ");
      expect(await contentsOf(threadId)).toEqual(before);

      const parts = { names: [there, gone, patch], brings: [gone, patch] };
      expect((await tier.append(put(threadId, "c2", { ...relying, ...parts }))).heads[0]!.moved).toBe(true);
      const { revision } = await tier.peek({ threadId, namespace: "" });
      await tier.appendWrites({ ...writes, newBlobs: [], relies: true, seen: revision });
      const { checkpoint } = await tier.read({ threadId, namespace: "" });
      expect(checkpoint!.record.checkpointId).toBe("c2");
    });

    test("a thread that isn't there any more begins anew by what relies on nothing", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const value = blob("value");
      await thrown(
        tier.append(
          put(threadId, "c2", { parentId: "c1", names: [value], brings: [], relies: true, seen: 1 }),
        ),
        "STALE_READ",
      );
      const writes = { ...at(threadId, "c1"), taskId: "task", blobs: [value.hash], body: new Uint8Array(1) };
      await thrown(tier.appendWrites({ ...writes, newBlobs: [], relies: true, seen: 1 }), "STALE_READ");
      expect((await tier.peek({ threadId, namespace: "" })).revision).toBe(0);
      expect(await listedIds(tier, { threadId })).toEqual([]);
      const known: string[] = [];
      for await (const info of tier.threads({})) known.push(info.threadId);
      expect(known).not.toContain(threadId);
      expect((await tier.append(put(threadId, "d1", { names: [value], seen: 0 }))).heads[0]!.moved).toBe(
        true,
      );
      expect(await listedIds(tier, { threadId })).toEqual(["d1"]);
    });

    test("of several writes at the same time, those that rely on what is lost are refused, and no others", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const [there, gone] = [blob("there"), blob("gone")];
      await tier.append(put(threadId, "c1", { names: [there] }));
      const { revision: seen } = await tier.peek({ threadId, namespace: "" });
      const write = async (n: number): Promise<string> => {
        const of = n % 2 === 0 ? there : gone;
        const one = batch(at(threadId, "c1"), `task ${n}`, { relies: true, seen });
        return await tier.appendWrites({ ...one, blobs: [of.hash] }).then(
          () => "stored",
          (error: { code: string }) => error.code,
        );
      };
      const outcomes = await Promise.all(Array.from({ length: 6 }, (_, n) => write(n)));
      const expected = Array.from({ length: 6 }, (_, n) => (n % 2 === 0 ? "stored" : "STALE_READ"));
      expect(outcomes).toEqual(expected);
      const { writes } = await tier.peek({ threadId, namespace: "" });
      expect(writes.map(({ taskId }) => taskId).sort()).toEqual(["task 0", "task 2", "task 4"]);
    });
  });
}
