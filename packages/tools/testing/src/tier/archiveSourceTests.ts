import type { Tier } from "@stratigraph/core";
import { isArchiveSource } from "@stratigraph/core/internal";
import type { ArchiveSource, Tombstone } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, line, put } from "./fixtures.ts";

/** ArchiveSource, the optional part that saves an archiver a query for each thread. */
export function archiveSourceTests(context: TierContext): void {
  const source = (test: TestContext): Tier & ArchiveSource => {
    const { tier } = context;
    if (!isArchiveSource(tier)) {
      context.need(test, false, "archiveSource");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };
  const found = async (stones: AsyncIterable<Tombstone>, among: readonly string[]): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { threadId } of stones) if (among.includes(threadId)) ids.push(threadId);
    return ids;
  };

  describe("archive source (optional)", () => {
    test("lists threads that were deleted, but none that exist or exist again", async (test) => {
      const tier = source(test);
      const name = context.thread();
      const ids = ["gone", "back", "there", "\0'{}*😀", "x".repeat(context.options.maxIdBytes ?? 2000)].map(
        (id) => (id.length > 500 ? id : `${name} ${id}`),
      );
      const before = Date.now() - 120_000;
      for (const id of ids) await line(tier, id, ["c1"]);
      for (const id of ids) if (!id.endsWith("there")) await tier.deleteThread(id);
      await tier.append(put(`${name} back`, "c9"));
      const gone = ids.filter((id) => !/(there|back)$/.test(id));
      expect((await found(tier.tombstones({}), ids)).sort()).toEqual(gone.toSorted());
      expect((await found(tier.tombstones({ deletedFromMs: before }), ids)).sort()).toEqual(gone.toSorted());
      expect(await found(tier.tombstones({ deletedFromMs: Date.now() + 120_000 }), ids)).toEqual([]);
    });

    test("continues after a given tombstone", async (test) => {
      const tier = source(test);
      const ids = Array.from({ length: 5 }, () => context.thread());
      for (const id of ids) {
        await line(tier, id, ["c1"]);
        await tier.deleteThread(id);
      }
      const all: Tombstone[] = [];
      for await (const stone of tier.tombstones({})) all.push(stone);
      for (const [position, after] of all.entries()) {
        const rest: Tombstone[] = [];
        for await (const stone of tier.tombstones({ after })) rest.push(stone);
        expect(rest).toEqual(all.slice(position + 1));
      }
    });

    test("lists checkpoints that have pending writes but no record", async (test) => {
      const tier = source(test);
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      await tier.appendWrites(batch(at(threadId, "c2"), "task"));
      expect(await tier.strays(threadId)).toEqual([]);
      await tier.appendWrites(batch(at(threadId, "c3"), "task"));
      await tier.appendWrites(batch(at(threadId, "c3"), "other"));
      expect(await tier.strays(threadId)).toEqual([at(threadId, "c3")]);
      expect(await tier.strays(context.thread())).toEqual([]);
      await tier.append(put(threadId, "c3", { parentId: "c2" }));
      expect(await tier.strays(threadId)).toEqual([]);
      const { revision } = await tier.peek({ threadId, namespace: "" });
      expect(await tier.evict(threadId, revision)).toBe(true);
      expect(await tier.strays(threadId)).toEqual([]);
    });
  });
}
