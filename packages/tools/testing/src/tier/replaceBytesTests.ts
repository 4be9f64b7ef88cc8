import type { Tier } from "@stratigraph/core";
import { replacesBytes } from "@stratigraph/core/internal";
import type { BytesReplacer, ReplaceBytesRequest } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, bytes, noise, plainWrites, put, shown } from "./fixtures.ts";

/** BytesReplacer, the optional part that replaces stored bytes of a thread by others. */
export function replaceBytesTests(context: TierContext): void {
  const replacer = (test: TestContext): Tier & BytesReplacer => {
    const { tier } = context;
    if (!replacesBytes(tier)) {
      context.need(test, false, "replaceBytes");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };
  const replacement = (
    threadId: string,
    revision: number,
    more: Partial<ReplaceBytesRequest> = {},
  ): ReplaceBytesRequest => ({ threadId, revision, records: [], writes: [], blobs: [], ...more });
  const revisionOf = async (threadId: string): Promise<number> =>
    (await context.tier.peek({ threadId, namespace: "" })).revision;

  describe("replaceBytes (optional)", () => {
    test("replaces bodies, pending writes by their position, and blobs, and nothing else", async (test) => {
      const tier = replacer(test);
      const threadId = context.thread();
      const base = blob("base");
      const patch = blob("patch", base);
      const large = blob(noise(100_000));
      await tier.append(put(threadId, "c1", { names: [base, large], terms: [1, -2], runId: "run" }));
      await tier.append(put(threadId, "c2", { parentId: "c1", names: [patch], brings: [patch] }));
      await tier.append(put(threadId, "c1", { namespace: "sub" }));
      const losing = { parentId: "c1", expected: ["c1"], onConflict: "branch" } as const;
      await tier.append(put(threadId, "c3", losing));
      for (const task of ["a", "b", "c"]) await tier.appendWrites(batch(at(threadId, "c2"), task));
      await tier.appendWrites(batch(at(threadId, "c9"), "early"));
      const before = new Map<string, unknown>();
      for await (const { record, head } of tier.list({ threadId }))
        before.set(`${record.namespace} ${record.checkpointId}`, [{ ...record, body: 0 }, head]);
      const revision = await revisionOf(threadId);
      const now = await tier.replaceBytes(
        replacement(threadId, revision, {
          records: [
            { ...at(threadId, "c1"), body: bytes("new c1") },
            { ...at(threadId, "c3"), body: bytes("new c3") },
          ],
          writes: [
            { ...at(threadId, "c2"), place: 1, body: bytes("new b") },
            { ...at(threadId, "c9"), place: 0, body: bytes("new early") },
          ],
          blobs: [
            { hash: patch.hash, bytes: bytes("new patch") },
            { hash: base.hash, bytes: noise(70_000, 3) },
            { hash: large.hash, bytes: bytes("small now") },
          ],
        }),
      );
      expect(now).toBeGreaterThan(revision);
      expect(await revisionOf(threadId)).toBe(now);
      const bodies: string[] = [];
      for await (const { record, head } of tier.list({ threadId })) {
        const key = `${record.namespace} ${record.checkpointId}`;
        expect([{ ...record, body: 0 }, head]).toEqual(before.get(key));
        bodies.push(`${key}: ${Buffer.from(record.body).toString()}`);
      }
      expect(bodies.sort()).toEqual([" c1: new c1", " c2: body of c2", " c3: new c3", "sub c1: body of c1"]);
      const { checkpoint } = await tier.read(at(threadId, "c2"));
      expect(plainWrites(checkpoint!.writes)).toEqual(["a: writes of a", "b: new b", "c: writes of c"]);
      expect(plainWrites((await tier.peek(at(threadId, "c9"))).writes)).toEqual(["early: new early"]);
      expect(shown(checkpoint!.blobs.get(patch.hash)!.bytes)).toBe(shown(bytes("new patch")));
      expect(checkpoint!.blobs.get(patch.hash)!.base).toBe(base.hash);
      expect(shown(checkpoint!.blobs.get(base.hash)!.bytes)).toBe(shown(noise(70_000, 3)));
      const first = await tier.read(at(threadId, "c1"));
      expect(shown(first.checkpoint!.blobs.get(large.hash)!.bytes)).toBe(shown(bytes("small now")));
      expect(await tier.blobs(threadId)).toHaveLength(3);
    });

    test("writers that rely on what they read before can continue", async (test) => {
      const tier = replacer(test);
      const threadId = context.thread();
      const value = blob("value");
      const { revision: seen } = await tier.append(put(threadId, "c1", { names: [value] }));
      const blobs = [{ hash: value.hash, bytes: bytes("sealed") }];
      await tier.replaceBytes(replacement(threadId, seen, { blobs }));
      const relying = { parentId: "c1", names: [value], brings: [], relies: true, seen };
      expect((await tier.append(put(threadId, "c2", relying))).heads[0]!.moved).toBe(true);
      const { checkpoint } = await tier.read(at(threadId, "c2"));
      expect(shown(checkpoint!.blobs.get(value.hash)!.bytes)).toBe(shown(bytes("sealed")));
    });

    test("does nothing if the revision has changed or there is no such thread", async (test) => {
      const tier = replacer(test);
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      await tier.appendWrites(batch(at(threadId, "c1"), "task"));
      const now = await revisionOf(threadId);
      const records = [{ ...at(threadId, "c1"), body: bytes("never") }];
      for (const stale of [revision, now + 1, 0])
        expect(await tier.replaceBytes(replacement(threadId, stale, { records }))).toBeUndefined();
      expect(await tier.replaceBytes(replacement(context.thread(), 1))).toBeUndefined();
      expect(await tier.replaceBytes(replacement(context.thread(), 0))).toBeUndefined();
      const { checkpoint, revision: after } = await tier.read(at(threadId, "c1"));
      expect([shown(checkpoint!.record.body), after]).toEqual([shown(bytes("body of c1")), now]);
    });

    test("ignores bytes of what isn't here", async (test) => {
      const tier = replacer(test);
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      const nowhere = at(threadId, "c7");
      const now = await tier.replaceBytes(
        replacement(threadId, revision, {
          records: [{ ...nowhere, body: bytes("x") }],
          writes: [
            { ...nowhere, place: 0, body: bytes("x") },
            { ...at(threadId, "c1"), place: 3, body: bytes("x") },
          ],
          blobs: [{ hash: blob("nothing").hash, bytes: bytes("x") }],
        }),
      );
      expect(now).toBeGreaterThan(revision);
      expect((await tier.read(nowhere)).checkpoint).toBeUndefined();
      expect((await tier.peek(nowhere)).writes).toEqual([]);
      expect(await tier.blobs(threadId)).toEqual([]);
    });

    test("of several that were decided at the same revision, one is done", async (test) => {
      const tier = replacer(test);
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      const answers = await Promise.all(
        ["one", "two", "three"].map((body) =>
          tier.replaceBytes(
            replacement(threadId, revision, { records: [{ ...at(threadId, "c1"), body: bytes(body) }] }),
          ),
        ),
      );
      expect(answers.filter((now) => now !== undefined)).toHaveLength(1);
    });

    test("the thread is listed as before", async (test) => {
      const tier = replacer(test);
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      await tier.replaceBytes(replacement(threadId, revision));
      const found: string[] = [];
      for await (const info of tier.threads({})) if (info.threadId === threadId) found.push(info.head ?? "");
      expect(found).toEqual(["c1"]);
    });
  });
}
