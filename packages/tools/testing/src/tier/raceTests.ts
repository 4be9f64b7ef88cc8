import { StratigraphError, type Tier } from "@stratigraph/core";
import type { AppendRequest } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import { race, type TierContext } from "./context.ts";
import { at, batch, blob, listed, listedIds, plainWrites, put } from "./fixtures.ts";

const racers = 8;

/** Several writers at the same time. */
export function raceTests(context: TierContext): void {
  /** Appends of several children of `parentId`, each with its own blob, to be made at the same time. */
  const children = (
    threadId: string,
    parentId: string | undefined,
    onConflict: AppendRequest["onConflict"],
  ): AppendRequest[] =>
    Array.from({ length: racers }, (_, n) =>
      put(threadId, `racer ${n}`, {
        ...(parentId === undefined ? {} : { parentId }),
        names: [blob(`value of racer ${n}`)],
        onConflict,
      }),
    );

  const refused = async (tiers: readonly Tier[], threadId: string, parentId?: string): Promise<void> => {
    const before = parentId === undefined ? [] : [parentId];
    const requests = children(threadId, parentId, "refuse");
    const { answers, errors } = await race(
      requests.map((request, n) => tiers[n % tiers.length]!.append(request)),
    );
    expect(answers).toHaveLength(1);
    const winner = answers[0]!.heads[0]!.head;
    expect(answers[0]!.heads[0]!.moved).toBe(true);
    for (const error of errors) {
      if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
      expect(error.data["head"]).toBe(winner);
    }
    const [tier] = tiers;
    expect((await tier!.peek({ threadId, namespace: "" })).head).toBe(winner);
    expect((await listedIds(tier!, { threadId })).sort()).toEqual([...before, winner].sort());
    expect((await tier!.blobs(threadId)).map(({ hash }) => hash)).toEqual([blob(`value of ${winner}`).hash]);
  };

  const branched = async (tiers: readonly Tier[], threadId: string, parentId?: string): Promise<void> => {
    const requests = children(threadId, parentId, "branch");
    const { answers, errors } = await race(
      requests.map((request, n) => tiers[n % tiers.length]!.append(request)),
    );
    expect(errors).toEqual([]);
    const winners = answers.filter(({ heads }) => heads[0]!.moved);
    expect(winners).toHaveLength(1);
    const winner = winners[0]!.heads[0]!.head;
    expect(new Set(answers.map(({ heads }) => heads[0]!.head))).toEqual(new Set([winner]));
    const [tier] = tiers;
    const found = await listed(tier!, { threadId, lost: true });
    expect(found).toHaveLength(racers - 1);
    for (const { record, blobs, head } of found) {
      expect(record.lostTo).toBe(winner);
      expect(head).toBe(winner);
      expect(blobs.has(blob(`value of ${record.checkpointId}`).hash)).toBe(true);
    }
    expect(await tier!.blobs(threadId)).toHaveLength(racers);
  };

  describe("races", () => {
    test("one of many appends moves the head; the others are refused and store nothing", async () => {
      for (let round = 0; round < 5; round += 1) {
        const threadId = context.thread();
        await context.tier.append(put(threadId, "base"));
        await refused([context.tier], threadId, "base");
      }
    });

    test("one of many appends moves the head; the others are stored as branches that lost to it", async () => {
      for (let round = 0; round < 5; round += 1) {
        const threadId = context.thread();
        await context.tier.append(put(threadId, "base"));
        await branched([context.tier], threadId, "base");
      }
    });

    test("the same on an empty thread", async () => {
      await refused([context.tier], context.thread());
      await branched([context.tier], context.thread());
    });

    test("the same between two tiers over one storage", async (test) => {
      context.need(test, context.opened.reopen !== undefined, "reopen");
      const tiers = [context.tier, await context.opened.reopen!()];
      for (let round = 0; round < 3; round += 1) {
        const [one, two] = [context.thread(), context.thread()];
        await context.tier.append(put(one, "base"));
        await context.tier.append(put(two, "base"));
        await refused(tiers, one, "base");
        await branched(tiers, two, "base");
        await refused(tiers, context.thread());
      }
    });

    test("the same append many times at once: it is stored once, and none is refused", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const request = put(threadId, "c1", { names: [blob("value")] });
      const { answers, errors } = await race(Array.from({ length: racers }, () => tier.append(request)));
      expect(errors).toEqual([]);
      expect(new Set(answers.map(({ heads }) => heads[0]!.head))).toEqual(new Set(["c1"]));
      expect(await listedIds(tier, { threadId })).toEqual(["c1"]);
      expect(await tier.blobs(threadId)).toHaveLength(1);
    });

    test("appends to several namespaces and threads don't conflict", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const others = Array.from({ length: racers }, () => context.thread());
      const { answers, errors } = await race([
        ...Array.from({ length: racers }, (_, n) =>
          tier.append(put(threadId, "c1", { namespace: `ns${n}` })),
        ),
        ...others.map((other) => tier.append(put(other, "c1"))),
      ]);
      expect(errors).toEqual([]);
      expect(answers.every(({ heads }) => heads[0]!.moved)).toBe(true);
      expect(await listed(tier, { threadId })).toHaveLength(racers);
    });

    test("changes made at the same time get different revisions", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const { answers } = await race(
        Array.from({ length: racers }, (_, n) => tier.append(put(threadId, `c${n}`, { expected: "any" }))),
      );
      expect(new Set(answers.map(({ revision }) => revision)).size).toBe(racers);
      expect((await tier.peek({ threadId, namespace: "" })).revision).toBe(
        Math.max(...answers.map(({ revision }) => revision)),
      );
    });

    test("pending writes stored at the same time are all kept, in one order", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          tier.appendWrites(batch(at(threadId, "c1"), `t${n}`, { body: "" })),
        ),
      );
      const { writes } = await tier.peek(at(threadId, "c1"));
      expect(plainWrites(writes).sort()).toEqual(Array.from({ length: 20 }, (_, n) => `t${n}: `).sort());
      const orders = writes.map(({ order }) => order);
      expect(orders).toEqual([...new Set(orders)].sort((a, b) => a - b));
    });

    test("a deletion during writes of late writers leaves nothing", async () => {
      const { tier } = context;
      for (let round = 0; round < 5; round += 1) {
        const threadId = context.thread();
        const { revision } = await tier.append(put(threadId, "base"));
        const writers = children(threadId, "base", "branch").map((request) =>
          tier.append({ ...request, seen: revision }),
        );
        const late = tier.appendWrites(batch(at(threadId, "base"), "task", { seen: revision }));
        const deletion = tier.deleteThread(threadId);
        const { errors } = await race<unknown>([...writers, deletion, late]);
        for (const error of errors) if (!StratigraphError.is(error, "THREAD_DELETED")) throw error;
        expect(await listedIds(tier, { threadId })).toEqual([]);
        expect(await tier.blobs(threadId)).toEqual([]);
        const peek = await tier.peek(at(threadId, "base"));
        expect([peek.head, peek.writes]).toEqual([undefined, []]);
      }
    });

    test("a removal during a write is done or refused, and the write isn't lost", async () => {
      const { tier } = context;
      for (let round = 0; round < 5; round += 1) {
        const threadId = context.thread();
        await tier.append(put(threadId, "c1"));
        const { revision } = await tier.append(put(threadId, "c2", { parentId: "c1" }));
        const removal = tier.remove({
          threadId,
          revision,
          checkpoints: [at(threadId, "c1")],
          dropBlobs: [],
          replaceBlobs: [],
          heads: [],
        });
        const writer = tier.append(put(threadId, "c3", { parentId: "c2" }));
        const [removed] = await Promise.all([removal, writer]);
        expect(await listedIds(tier, { threadId })).toEqual(removed ? ["c3", "c2"] : ["c3", "c2", "c1"]);
      }
    });

    test("an eviction during a write never evicts what was written", async () => {
      const { tier } = context;
      for (let round = 0; round < 5; round += 1) {
        const threadId = context.thread();
        const { revision } = await tier.append(put(threadId, "c1"));
        await Promise.all([
          tier.evict(threadId, revision),
          tier.append(put(threadId, "c2", { parentId: "c1" })),
        ]);
        const reading = await tier.read({ threadId, namespace: "" });
        expect([reading.head, reading.checkpoint?.record.checkpointId]).toEqual(["c2", "c2"]);
      }
    });
  });
}
