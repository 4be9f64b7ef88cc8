import { StratigraphError } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, bytes, listed, listedIds, plainWrites, put, record, shown } from "./fixtures.ts";
import { separators } from "./hostileIds.ts";

/** The content of a thread, namespace or checkpoint in these tests: bytes that no other one has. */
const own = (kind: string, n: number): Uint8Array => bytes(`${kind} ${n}`);

/** Ids of any text are distinguished and come back unchanged. */
export function idTests(context: TierContext): void {
  const longest = Math.min(context.options.maxIdBytes ?? 10_000, 10_000);
  const long = "x".repeat(longest - 1);
  const ids = [...context.hostileIds, `${long}y`, `${long}z`, "😀".repeat(Math.floor(longest / 4))];

  describe("ids of any text", () => {
    test("the list holds each id once", () => {
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.every((id) => id.isWellFormed())).toBe(true);
    });

    test("threads", async () => {
      const { tier } = context;
      for (const threadId of ids) await tier.deleteThread(threadId);
      await Promise.all(
        ids.map((threadId, n) =>
          tier.append(put(threadId, "c1", { body: own("thread", n), expected: "any" })),
        ),
      );
      for (const [n, threadId] of ids.entries()) {
        await tier.appendWrites(batch(at(threadId, "c1"), "task", { body: `task of ${n}` }));
        const reading = await tier.read({ threadId, namespace: "" });
        expect(reading.checkpoint!.record.threadId).toBe(threadId);
        expect(shown(reading.checkpoint!.record.body)).toBe(shown(own("thread", n)));
        expect(plainWrites(reading.checkpoint!.writes)).toEqual([`task: task of ${n}`]);
        const found = await listed(tier, { threadId });
        expect(found.map((item) => item.record.threadId)).toEqual([threadId]);
      }
      const known = new Set<string>();
      for await (const info of tier.threads({})) known.add(info.threadId);
      expect(ids.filter((threadId) => !known.has(threadId))).toEqual([]);
    });

    test("deleting one thread deletes no look-alike", async () => {
      const { tier } = context;
      await Promise.all(ids.map((threadId) => tier.append(put(threadId, "c1", { expected: "any" }))));
      for (const [n, threadId] of ids.entries()) {
        if (n % 2 === 0) await tier.deleteThread(threadId);
      }
      const left: string[] = [];
      for (const threadId of ids)
        if ((await tier.read({ threadId, namespace: "" })).checkpoint !== undefined) left.push(threadId);
      expect(left).toEqual(ids.filter((_, n) => n % 2 === 1));
      for (const threadId of ids) await tier.deleteThread(threadId);
    });

    test("namespaces", async () => {
      const { tier } = context;
      const threadId = context.thread();
      for (const [n, namespace] of ["", ...ids].entries())
        await tier.append(put(threadId, "c1", { namespace, body: own("namespace", n) }));
      for (const [n, namespace] of ["", ...ids].entries()) {
        const { checkpoint, head } = await tier.read({ threadId, namespace });
        expect(head).toBe("c1");
        expect(checkpoint!.record.namespace).toBe(namespace);
        expect(shown(checkpoint!.record.body)).toBe(shown(own("namespace", n)));
        expect(await listed(tier, { threadId, namespace })).toHaveLength(1);
      }
      const all = (await listed(tier, { threadId })).map((item) => item.record.namespace);
      expect(all.sort()).toEqual(["", ...ids].sort());
    });

    test("checkpoints, parents, runs and tasks", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const parts = (n: number): Parameters<typeof put>[2] => ({
        parentId: ids[(n + 1) % ids.length]!,
        runId: ids[(n + 2) % ids.length]!,
        body: own("checkpoint", n),
        expected: "any",
      });
      for (const [n, id] of ids.entries()) {
        await tier.append(put(threadId, id, parts(n)));
        await tier.appendWrites(batch(at(threadId, id), ids[(n + 3) % ids.length]!, { body: id }));
      }
      for (const [n, id] of ids.entries()) {
        const { checkpoint, head } = await tier.read(at(threadId, id));
        expect(head).toBe(ids.at(-1));
        const made = record(threadId, id, parts(n));
        const found = checkpoint!.record;
        expect([found.checkpointId, found.parentId, found.runId]).toEqual([
          made.checkpointId,
          made.parentId,
          made.runId,
        ]);
        expect(shown(found.body)).toBe(shown(made.body));
        expect(checkpoint!.writes.map(({ taskId }) => taskId)).toEqual([ids[(n + 3) % ids.length]]);
        expect(shown(checkpoint!.writes[0]!.body)).toBe(shown(bytes(id)));
        expect(await listedIds(tier, { threadId, checkpointId: id })).toEqual([id]);
        expect(await listedIds(tier, { threadId, runIds: [made.runId!] })).toEqual([id]);
      }
      expect((await listedIds(tier, { threadId })).sort()).toEqual([...ids].sort());
    });

    test("heads move from and to any id", async () => {
      const { tier } = context;
      const threadId = context.thread();
      let parentId: string | undefined;
      for (const id of ids) {
        const answer = await tier.append(put(threadId, id, parentId === undefined ? {} : { parentId }));
        expect(answer.heads).toEqual([{ namespace: "", head: id, moved: true }]);
        parentId = id;
      }
      const loser = await tier.append(put(threadId, "loser", { expected: [ids[0]!], onConflict: "branch" }));
      expect(loser.heads[0]).toEqual({ namespace: "", head: parentId, moved: false });
      expect((await tier.read(at(threadId, "loser"))).checkpoint!.record.lostTo).toBe(parentId);
    });

    test("addresses aren't confused if their ids contain separators", async () => {
      const { tier } = context;
      const prefix = context.thread();
      const addresses = separators.flatMap((by) => [
        at(`${prefix}a${by}b`, "d", `c`),
        at(`${prefix}a`, "d", `b${by}c`),
        at(`${prefix}a`, `c${by}d`, `b`),
        at(`${prefix}a${by}b${by}c`, "d", ""),
        at(`${prefix}a`, `b${by}c${by}d`, ""),
      ]);
      const unique = [
        ...new Map(addresses.map((one) => [JSON.stringify(Object.entries(one)), one])).values(),
      ];
      for (const [n, { threadId, namespace, checkpointId }] of unique.entries()) {
        const parts = { namespace, expected: "any", body: own("address", n) } as const;
        await tier.append(put(threadId, checkpointId, parts));
        await tier.appendWrites(batch({ threadId, namespace, checkpointId }, "task", { body: String(n) }));
      }
      for (const [n, one] of unique.entries()) {
        const { checkpoint } = await tier.read(one);
        expect(shown(checkpoint!.record.body), JSON.stringify(one)).toBe(shown(own("address", n)));
        expect(plainWrites(checkpoint!.writes)).toEqual([`task: ${n}`]);
      }
    });

    const { maxIdBytes } = context.options;
    if (maxIdBytes === undefined) return;
    test("an id longer than the tier takes is refused and leaves nothing", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const tooLong = "x".repeat(maxIdBytes + 1);
      const late = [
        tier.append(put(tooLong, "c1")),
        tier.append(put(threadId, "c1", { namespace: tooLong })),
        tier.append(put(threadId, tooLong)),
        tier.appendWrites(batch(at(threadId, tooLong), "task")),
      ];
      for (const one of await Promise.allSettled(late)) {
        const code =
          one.status === "rejected" && StratigraphError.is(one.reason) ? one.reason.code : one.status;
        expect(code).toBe("INVALID_ADDRESS");
      }
      expect(await listedIds(tier, { threadId })).toEqual([]);
    });
  });
}
