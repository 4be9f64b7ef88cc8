import type { ThreadInfo, Tier } from "@stratigraph/core";
import { copiesThreads, forksThreads, tagsThreads } from "@stratigraph/core/internal";
import {
  maxTagBytes,
  tagKey,
  type ThreadQuery,
  type ThreadTag,
  type ThreadTagger,
} from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import { thrown, type TierContext } from "./context.ts";
import { blob, line, put } from "./fixtures.ts";
import { separators } from "./hostileIds.ts";

/** ThreadTagger, the optional part that finds threads by tags. */
export function tagTests(context: TierContext): void {
  const tagger = (test: TestContext): Tier & ThreadTagger => {
    const { tier } = context;
    if (!tagsThreads(tier)) {
      context.need(test, false, "tags");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };
  /** A tag that no other test uses. */
  const own = (key = "user_id"): ThreadTag => ({ key, value: context.thread() });
  const infos = async (tier: Tier, query: ThreadQuery): Promise<ThreadInfo[]> => {
    const found: ThreadInfo[] = [];
    for await (const info of tier.threads(query)) found.push(info);
    return found;
  };
  const ids = async (tier: Tier, tags: readonly ThreadTag[]): Promise<string[]> =>
    (await infos(tier, { tags })).map(({ threadId }) => threadId).sort();
  const plain = async (tier: ThreadTagger, threadId: string): Promise<string[]> =>
    (await tier.threadTags(threadId)).map(tagKey).sort();
  /** Makes a thread with tags. It is tagged before its first checkpoint, as a saver does. */
  const tagged = async (
    tier: Tier & ThreadTagger,
    threadId: string,
    tags: readonly ThreadTag[],
  ): Promise<string> => {
    await tier.tagThread(threadId, tags);
    await line(tier, threadId, ["c1", "c2"], { names: [blob("value")] });
    return threadId;
  };

  describe("tags (optional)", () => {
    test("find the threads that carry all of them, and no others", async (test) => {
      const tier = tagger(test);
      const [anna, shop, other] = [own(), own("shop"), own()];
      const both = await tagged(tier, context.thread(), [anna, shop]);
      const one = await tagged(tier, context.thread(), [anna]);
      await tagged(tier, context.thread(), [shop, other]);
      await line(tier, context.thread(), ["c1"]);
      expect(await ids(tier, [anna])).toEqual([both, one].sort());
      expect(await ids(tier, [anna, shop])).toEqual([both]);
      expect(await ids(tier, [shop, anna])).toEqual([both]);
      expect(await ids(tier, [anna, other])).toEqual([]);
      expect(await ids(tier, [{ key: "shop", value: anna.value }])).toEqual([]);
      expect(await ids(tier, [{ key: anna.key, value: `${anna.value} ` }])).toEqual([]);
    });

    test("find threads with the same information as threads() without tags, in order and page by page", async (test) => {
      const tier = tagger(test);
      const anna = own();
      const threads: string[] = [];
      for (let n = 0; n < 5; n += 1) threads.push(await tagged(tier, context.thread(), [anna]));
      const all = (await infos(tier, {})).filter(({ threadId }) => threads.includes(threadId));
      expect(await infos(tier, { tags: [anna] })).toEqual(all);
      expect(await infos(tier, { tags: [anna], order: "newest" })).toEqual(all.toReversed());
      for (const order of ["oldest", "newest"] as const) {
        const paged: ThreadInfo[] = [];
        for (let after: ThreadInfo | undefined; paged.length < 5; after = paged.at(-1)) {
          const page = await infos(tier, { tags: [anna], order, after, limit: 2 });
          expect(page.length).toBeLessThanOrEqual(2);
          expect(page.length).toBeGreaterThan(0);
          paged.push(...page);
        }
        expect(paged).toEqual(order === "oldest" ? all : all.toReversed());
      }
      expect(await infos(tier, { tags: [anna], writtenBeforeMs: 1 })).toEqual([]);
    });

    test("tags of several writers add up; repeating changes nothing, and the revision stays", async (test) => {
      const tier = tagger(test);
      const [anna, ben] = [own(), own()];
      const threadId = await tagged(tier, context.thread(), [anna]);
      const { revision } = await tier.peek({ threadId, namespace: "" });
      expect(await tier.tagThread(threadId, [ben])).toBe(revision);
      expect(await tier.tagThread(threadId, [anna, ben])).toBe(revision);
      expect(await plain(tier, threadId)).toEqual([anna, ben].map(tagKey).sort());
      expect(await ids(tier, [anna, ben])).toEqual([threadId]);
      expect((await tier.peek({ threadId, namespace: "" })).revision).toBe(revision);
    });

    test("can be removed one by one; removing a missing tag is no error", async (test) => {
      const tier = tagger(test);
      const [anna, ben] = [own(), own()];
      const threadId = await tagged(tier, context.thread(), [anna, ben]);
      await tier.untagThread(threadId, [anna, own()]);
      expect(await ids(tier, [anna])).toEqual([]);
      expect(await ids(tier, [ben])).toEqual([threadId]);
      expect(await plain(tier, threadId)).toEqual([tagKey(ben)]);
      await tier.untagThread(context.thread(), [ben]);
      expect(await tier.threadTags(context.thread())).toEqual([]);
    });

    test("may be stored before the thread, which is found as soon as it has a checkpoint", async (test) => {
      const tier = tagger(test);
      const anna = own();
      const threadId = context.thread();
      await tier.tagThread(threadId, [anna]);
      expect(await ids(tier, [anna])).toEqual([]);
      expect((await tier.peek({ threadId, namespace: "" })).head).toBeUndefined();
      expect((await tier.append(put(threadId, "c1", { seen: 0 }))).heads[0]!.moved).toBe(true);
      expect(await ids(tier, [anna])).toEqual([threadId]);
    });

    test("stay when checkpoints are removed or evicted, and are deleted with the thread", async (test) => {
      const tier = tagger(test);
      const anna = own();
      const threadId = await tagged(tier, context.thread(), [anna]);
      let { revision } = await tier.peek({ threadId, namespace: "" });
      const removal = { threadId, revision, dropBlobs: [], replaceBlobs: [], heads: [] };
      expect(
        await tier.remove({ ...removal, checkpoints: [{ threadId, namespace: "", checkpointId: "c1" }] }),
      ).toBe(true);
      expect(await ids(tier, [anna])).toEqual([threadId]);
      ({ revision } = await tier.peek({ threadId, namespace: "" }));
      expect(await tier.evict(threadId, revision)).toBe(true);
      expect(await ids(tier, [anna])).toEqual([threadId]);
      expect(await infos(tier, { tags: [anna], includeEvicted: false })).toEqual([]);
      await tier.deleteThread(threadId);
      expect(await ids(tier, [anna])).toEqual([]);
      expect(await tier.threadTags(threadId)).toEqual([]);
      await tier.append(put(threadId, "d1"));
      expect(await ids(tier, [anna])).toEqual([]);
    });

    test("a writer that tagged a thread before its deletion is late", async (test) => {
      const tier = tagger(test);
      for (const isThere of [true, false]) {
        const anna = own();
        const threadId = context.thread();
        if (isThere) await line(tier, threadId, ["c1"]);
        const seen = await tier.tagThread(threadId, [anna]);
        await tier.deleteThread(threadId);
        await thrown(tier.append(put(threadId, "d1", { seen })), "THREAD_DELETED");
        const again = await tier.tagThread(threadId, [anna]);
        expect(await ids(tier, [anna])).toEqual([]);
        await tier.append(put(threadId, "d1", { seen: again }));
        expect(await ids(tier, [anna])).toEqual([threadId]);
      }
    });

    test("writers and a deletion at the same time leave no thread without its tags", async (test) => {
      const tier = tagger(test);
      const anna = own();
      const threads = Array.from({ length: 8 }, () => context.thread());
      await Promise.all(
        threads.flatMap((threadId) => [
          ...Array.from({ length: 3 }, async () => {
            const seen = await tier.tagThread(threadId, [anna, own("run")]);
            await tier.append(put(threadId, "c1", { seen })).catch(() => undefined);
          }),
          tier.deleteThread(threadId),
        ]),
      );
      const live: string[] = [];
      for (const threadId of threads)
        if ((await tier.peek({ threadId, namespace: "" })).head !== undefined) live.push(threadId);
      expect(await ids(tier, [anna])).toEqual(live.sort());
    });

    test("are distinguished whatever text they and the thread ids are", async (test) => {
      const tier = tagger(test);
      const mark = context.thread();
      const threads = new Map<string, string>();
      for (const text of context.hostileIds) {
        const threadId = `${mark} ${text}`;
        await tagged(tier, threadId, [{ key: text, value: `${mark}${text}` }]);
        threads.set(text, threadId);
      }
      for (const [text, threadId] of threads) {
        expect(await ids(tier, [{ key: text, value: `${mark}${text}` }])).toEqual([threadId]);
        expect(await tier.threadTags(threadId)).toEqual([{ key: text, value: `${mark}${text}` }]);
      }
      for (const separator of separators) {
        const [one, two] = [context.thread(), context.thread()];
        const value = context.thread();
        await tagged(tier, one, [{ key: `a${separator}b`, value }]);
        await tagged(tier, two, [{ key: "a", value: `b${separator}${value}` }]);
        expect(await ids(tier, [{ key: `a${separator}b`, value }])).toEqual([one]);
        expect(await ids(tier, [{ key: "a", value: `b${separator}${value}` }])).toEqual([two]);
      }
    });

    test("may be as long as the limit allows", async (test) => {
      const tier = tagger(test);
      const long = own().value.padEnd(maxTagBytes, "x");
      const threadId = await tagged(tier, context.thread(), [{ key: long, value: long }]);
      const almost = `${long.slice(0, -1)}y`;
      expect(await ids(tier, [{ key: long, value: long }])).toEqual([threadId]);
      expect(await ids(tier, [{ key: long, value: almost }])).toEqual([]);
    });

    test("are inherited by copies, which also keep the tags they had", async (test) => {
      const tier = tagger(test);
      if (!copiesThreads(tier)) return context.need(test, false, "copyThread");
      const [anna, ben] = [own(), own()];
      const source = await tagged(tier, context.thread(), [anna]);
      const target = context.thread();
      await tier.tagThread(target, [ben]);
      expect(await tier.copyThread(source, target)).toBe(true);
      expect(await ids(tier, [anna])).toEqual([source, target].sort());
      expect(await ids(tier, [ben])).toEqual([target]);
      await tier.deleteThread(source);
      expect(await ids(tier, [anna])).toEqual([target]);
    });

    test("are inherited by forks", async (test) => {
      const tier = tagger(test);
      if (!forksThreads(tier)) return context.need(test, false, "forkThread");
      const anna = own();
      const source = await tagged(tier, context.thread(), [anna]);
      const target = context.thread();
      const { revision } = await tier.peek({ threadId: source, namespace: "" });
      const forked = await tier.forkThread({
        sourceId: source,
        targetId: target,
        seen: revision,
        tips: [{ namespace: "", checkpointId: "c2", writes: [], ancestors: 0 }],
        also: { records: [], blobs: [], heads: [] },
      });
      expect(forked).toBeDefined();
      expect(await ids(tier, [anna])).toEqual([source, target].sort());
    });

    test("can be read by another process", async (test) => {
      const tier = tagger(test);
      const { reopen } = context.opened;
      if (reopen === undefined) return context.need(test, false, "reopen");
      const anna = own();
      const threadId = await tagged(tier, context.thread(), [anna]);
      expect(await ids(await reopen(), [anna])).toEqual([threadId]);
    });
  });

  describe("threads with the terms of their heads", () => {
    test("find every thread whose head carries them, and answer true records", async () => {
      const { tier } = context;
      const [has, lacks, had] = [context.thread(), context.thread(), context.thread()];
      await tier.append(put(has, "c1", { terms: [1, 2, 3] }));
      await tier.append(put(lacks, "c1", { terms: [1, 3] }));
      await line(tier, had, ["c1"], { terms: [1, 2, 3] });
      await tier.append(put(had, "c2", { parentId: "c1", terms: [1] }));
      const found = (await infos(tier, { headTerms: [1, 2] })).filter(({ threadId }) =>
        [has, lacks, had].includes(threadId),
      );
      expect(found.map(({ threadId }) => threadId)).toContain(has);
      for (const { threadId, head, headRecord } of found) {
        if (headRecord === undefined) continue;
        expect(threadId).toBe(has);
        expect([headRecord.threadId, headRecord.checkpointId, headRecord.namespace]).toEqual([has, head, ""]);
        expect(Buffer.from(headRecord.body).toString()).toBe("body of c1");
      }
    });
  });
}
