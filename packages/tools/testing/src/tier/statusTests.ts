import type { ThreadInfo, Tier } from "@stratigraph/core";
import { keepsStatus, statusTerms } from "@stratigraph/core/internal";
import type { StatusKeeper, ThreadQuery, WritesOutcome } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, put } from "./fixtures.ts";

/** Terms of a checkpoint with a step that is due, and of one without. */
const due = [statusTerms.interrupted, 1];
const idle = [1, statusTerms.idle];

/** StatusKeeper, the optional part that finds threads by how they stand. */
export function statusTests(context: TierContext): void {
  const keeper = (test: TestContext): Tier & StatusKeeper => {
    const { tier } = context;
    if (!keepsStatus(tier)) {
      context.need(test, false, "status");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };
  const listed = async (tier: Tier, query: ThreadQuery): Promise<ThreadInfo[]> => {
    const found: ThreadInfo[] = [];
    for await (const info of tier.threads(query)) found.push(info);
    return found;
  };
  /** How the tier knows a thread to stand. "unknown": it is listed whatever is asked for, and nothing is said of it. */
  const standing = async (tier: Tier, threadId: string): Promise<string> => {
    const told = new Set<string>();
    for (const status of ["waiting", "failed", "interrupted", "idle", "unknown"] as const) {
      const info = (await listed(tier, { status })).find((each) => each.threadId === threadId);
      if (info !== undefined) told.add(info.status ?? "unknown");
    }
    expect([...told]).toHaveLength(1);
    return [...told][0]!;
  };
  let order = 0;
  const writes = async (
    tier: Tier,
    threadId: string,
    id: string,
    ...outcomes: (readonly [task: string, outcome: WritesOutcome | undefined])[]
  ): Promise<void> => {
    for (const [task, outcome] of outcomes) {
      order += 1;
      await tier.appendWrites({ ...batch(at(threadId, id), task, { body: `batch ${order}` }), outcome });
    }
  };

  describe("status", () => {
    test("the head's terms say whether a step is due; without them it isn't known", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { terms: due }));
      expect(await standing(tier, threadId)).toBe("interrupted");
      await tier.append(put(threadId, "c2", { parentId: "c1", terms: idle }));
      expect(await standing(tier, threadId)).toBe("idle");
      await tier.append(put(threadId, "s1", { namespace: "sub", terms: due }));
      expect(await standing(tier, threadId)).toBe("idle");
      await tier.append(put(threadId, "c3", { parentId: "c2" }));
      expect(await standing(tier, threadId)).toBe("unknown");
      await tier.append(put(threadId, "c4", { parentId: "c3", terms: idle }));
      expect(await standing(tier, threadId)).toBe("idle");
    });

    test("a thread without a root head is idle", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.append(put(threadId, "s1", { namespace: "sub", terms: due }));
      expect(await standing(tier, threadId)).toBe("idle");
    });

    test("the last batch of each task counts", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { terms: due }));
      const after = async (...outcomes: Parameters<typeof writes>[3][]): Promise<string> => {
        await writes(tier, threadId, "c1", ...outcomes);
        return await standing(tier, threadId);
      };
      expect(await after(["a", "waiting"])).toBe("waiting");
      expect(await after(["b", "failed"])).toBe("waiting");
      expect(await after(["a", "answered"])).toBe("failed");
      expect(await after(["b", "ended"])).toBe("interrupted");
      expect(await after(["a", "waiting"], ["c", "waiting"], ["x", "all-answered"])).toBe("interrupted");
      expect(await after(["c", "waiting"])).toBe("waiting");
      expect(await after(["c", "nothing"])).toBe("waiting");
      expect(await after(["c", "ended"])).toBe("interrupted");
      await writes(tier, threadId, "c1", ["d", undefined]);
      expect(await standing(tier, threadId)).toBe("unknown");
    });

    test("writes of a checkpoint that isn't the head count once it is", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { terms: due }));
      await writes(tier, threadId, "c2", ["a", "waiting"]);
      expect(await standing(tier, threadId)).toBe("interrupted");
      await tier.append(put(threadId, "c2", { parentId: "c1", terms: due }));
      expect(await standing(tier, threadId)).toBe("waiting");
      await tier.append(put(threadId, "c3", { parentId: "c2", terms: idle }));
      await writes(tier, threadId, "c2", ["a", "waiting"]);
      expect(await standing(tier, threadId)).toBe("idle");
    });

    test("a status is noted at the revision that it was found at", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      expect(await tier.noteStatus(threadId, revision + 1, "failed")).toBe(false);
      expect(await standing(tier, threadId)).toBe("unknown");
      expect(await tier.noteStatus(threadId, revision, "failed")).toBe(true);
      expect(await standing(tier, threadId)).toBe("failed");
      await tier.append(put(threadId, "c2", { parentId: "c1", terms: idle }));
      expect(await standing(tier, threadId)).toBe("idle");
      expect(await tier.noteStatus(context.thread(), 1, "idle")).toBe(false);
    });

    test("a thread whose bytes are dropped stands as before", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1", { terms: due }));
      if (!(await tier.evict(threadId, revision))) throw new Error("it wasn't evicted");
      expect(await standing(tier, threadId)).toBe("interrupted");
    });

    test("a deleted thread isn't listed, and its id begins anew", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { terms: due }));
      await writes(tier, threadId, "c1", ["a", "waiting"]);
      await tier.deleteThread(threadId);
      const found = await listed(tier, { status: "waiting" });
      expect(found.map((info) => info.threadId)).not.toContain(threadId);
      const { revision } = await tier.peek({ threadId, namespace: "" });
      await tier.append({ ...put(threadId, "s1", { namespace: "sub" }), seen: revision });
      expect(await standing(tier, threadId)).toBe("idle");
    });

    test("pages have each thread once, in order", async (test) => {
      const tier = keeper(test);
      const threads = Array.from({ length: 7 }, () => context.thread());
      for (const [n, threadId] of threads.entries()) {
        await tier.append(put(threadId, "c1", { terms: due }));
        if (n % 2 === 0) await writes(tier, threadId, "c1", ["a", "failed"]);
      }
      for (const order of ["oldest", "newest"] as const) {
        const found: ThreadInfo[] = [];
        for (let after: ThreadInfo | undefined; ;) {
          const page = await listed(tier, { status: "failed", order, after, limit: 2 });
          found.push(...page);
          after = page.at(-1);
          if (page.length < 2) break;
        }
        const own = found.filter(({ threadId }) => threads.includes(threadId));
        expect(own.map(({ threadId }) => threadId).toSorted()).toEqual(
          threads.filter((_, n) => n % 2 === 0).toSorted(),
        );
        expect(new Set(found.map(({ threadId }) => threadId)).size).toBe(found.length);
        const times = found.map(({ writtenAtMs }) => writtenAtMs * (order === "oldest" ? 1 : -1));
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }
    });
  });
}
