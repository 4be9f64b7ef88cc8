import { setImmediate as tick } from "node:timers/promises";
import type { ThreadInfo } from "@stratigraph/core";
import type { ThreadQuery } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, put } from "./fixtures.ts";

/** Waits for the clock to advance, so that writes have different times in a tier that stores milliseconds. */
async function nextMillisecond(): Promise<void> {
  for (const from = Date.now(); Date.now() <= from + 1;) await tick();
}

/** Tier.threads. */
export function threadsTests(context: TierContext): void {
  const found = async (query: ThreadQuery): Promise<ThreadInfo[]> => {
    const infos: ThreadInfo[] = [];
    for await (const info of context.tier.threads(query)) infos.push(info);
    return infos;
  };
  const infoOf = async (threadId: string): Promise<ThreadInfo | undefined> =>
    (await found({})).find((info) => info.threadId === threadId);
  const ids = (infos: readonly ThreadInfo[]): string[] => infos.map(({ threadId }) => threadId);

  /** Writes four threads in this order, and then the first one again, so that it is the newest. */
  const someThreads = async (): Promise<string[]> => {
    const [first, ...others] = [context.thread(), context.thread(), context.thread(), context.thread()];
    await context.tier.append(put(first!, "c1"));
    for (const threadId of others) {
      await nextMillisecond();
      await context.tier.append(put(threadId, "c1"));
    }
    await nextMillisecond();
    await context.tier.append(put(first!, "c2", { parentId: "c1" }));
    return [...others, first!];
  };

  describe("threads", () => {
    test("answers revision, root head and time", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const from = Date.now();
      await tier.append(put(threadId, "c1"));
      const { revision } = await tier.append(put(threadId, "s1", { namespace: "sub" }));
      const info = (await infoOf(threadId))!;
      expect(info.head).toBe("c1");
      expect(info.revision).toBe(revision);
      expect(info.evicted).toBe(false);
      expect(info.writtenAtMs).toBeGreaterThan(from - 60_000);
      expect(info.writtenAtMs).toBeLessThan(Date.now() + 60_000);
    });

    test("a thread that has a head only in another namespace has no root head", async () => {
      const threadId = context.thread();
      await context.tier.append(put(threadId, "s1", { namespace: "sub" }));
      const info = (await infoOf(threadId))!;
      expect(info.head).toBeUndefined();
    });

    test("threads with pending writes only, and deleted threads, aren't listed", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.appendWrites(batch(at(threadId, "c1"), "early"));
      expect(await infoOf(threadId)).toBeUndefined();
      await tier.append(put(threadId, "c1"));
      expect(await infoOf(threadId)).toBeDefined();
      await tier.deleteThread(threadId);
      expect(await infoOf(threadId)).toBeUndefined();
      await tier.append(put(threadId, "c2"));
      expect((await infoOf(threadId))?.head).toBe("c2");
    });

    test("least recently written first", async () => {
      const own = await someThreads();
      const infos = await found({});
      const times = infos.map(({ writtenAtMs }) => writtenAtMs);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      const mine = own.map((threadId) => infos.find((info) => info.threadId === threadId)!.writtenAtMs);
      expect(mine).toEqual([...mine].sort((a, b) => a - b));
      // A tier may store only minutes. If the times of these writes differ, it must order by them.
      if (new Set(mine).size === own.length)
        expect(ids(infos).filter((threadId) => own.includes(threadId))).toEqual(own);
      expect(
        ids(infos)
          .filter((threadId) => own.includes(threadId))
          .sort(),
      ).toEqual([...own].sort());
    });

    test("newest first is the same order the other way round; oldest is the default", async () => {
      await someThreads();
      const oldest = ids(await found({ order: "oldest" }));
      expect(ids(await found({}))).toEqual(oldest);
      expect(ids(await found({ order: "newest" }))).toEqual(oldest.reverse());
    });

    test("continues after a given thread, in both orders, without repeating or leaving out any", async () => {
      await someThreads();
      for (const order of ["oldest", "newest"] as const) {
        const all = ids(await found({ order }));
        const paged: string[] = [];
        for (let after: ThreadInfo | undefined; ;) {
          const page = await found({ order, limit: 3, ...(after === undefined ? {} : { after }) });
          expect(page.length).toBeLessThanOrEqual(3);
          paged.push(...ids(page));
          after = page.at(-1);
          if (page.length < 3) break;
        }
        expect(paged).toEqual(all);
      }
    });

    test("only those written before an instant", async () => {
      const own = await someThreads();
      const infos = (await found({})).filter(({ threadId }) => own.includes(threadId));
      for (const { writtenAtMs } of infos) {
        const older = await found({ writtenBeforeMs: writtenAtMs });
        expect(older.filter((info) => info.writtenAtMs >= writtenAtMs)).toEqual([]);
        const expected = infos.filter((info) => info.writtenAtMs < writtenAtMs);
        expect(ids(older).filter((threadId) => own.includes(threadId))).toEqual(ids(expected));
        const upTo = ids(await found({ writtenBeforeMs: writtenAtMs + 1 }));
        for (const info of infos)
          expect(upTo.includes(info.threadId), info.threadId).toBe(info.writtenAtMs <= writtenAtMs);
      }
      expect(await found({ writtenBeforeMs: 0 })).toEqual([]);
    });

    test("evicted threads are listed unless the query excludes them", async () => {
      const { tier } = context;
      const [kept, gone] = [context.thread(), context.thread()];
      await tier.append(put(kept, "c1"));
      const { revision } = await tier.append(put(gone, "c1"));
      expect(await tier.evict(gone, revision)).toBe(true);
      const all = (await found({})).filter(({ threadId }) => threadId === kept || threadId === gone);
      expect(new Map(all.map((info) => [info.threadId, info.evicted]))).toEqual(
        new Map([
          [kept, false],
          [gone, true],
        ]),
      );
      expect(all.find(({ threadId }) => threadId === gone)!.head).toBe("c1");
      const without = ids(await found({ includeEvicted: false }));
      expect([without.includes(kept), without.includes(gone)]).toEqual([true, false]);
    });

    test("a consumer may stop at any item, however often", async () => {
      await someThreads();
      const [first] = await found({ limit: 1 });
      for (let round = 0; round < 30; round += 1) {
        for await (const info of context.tier.threads({})) {
          expect(info.threadId).toBe(first!.threadId);
          break;
        }
      }
      expect((await found({})).length).toBeGreaterThanOrEqual(4);
    });
  });
}
