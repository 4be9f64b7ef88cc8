// long file: one pair of databases, and every way in which the archive of the one meets threads of the other
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { MemoryTier, type Tier } from "@stratigraph/core";
import { reservedNamespaces, type AppendRequest } from "@stratigraph/core/tier";
import { postgres } from "@stratigraph/postgres";
import { folder, s3 } from "@stratigraph/s3";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { openBucket } from "../../s3/test/support/bucket.ts";
import { allRounds } from "../../../../test/rounds.ts";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { setBackTier } from "../../../../test/setBack/setBackTier.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { configOf, idOf, put, stepsOf, text, valueOf } from "./support.ts";

// The archive of another database, where another person's thread has the same id: nothing is taken from it or listed of it, and nothing in it
// is deleted.

const day = 86_400_000;

interface Stack {
  readonly warm: Tier;
  readonly cold: Tier;
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const storages: Readonly<Record<string, () => Promise<Stack>>> = {
  memory: async () => ({ warm: new MemoryTier(), cold: new MemoryTier() }),
  folder: async () => {
    const path = await mkdtemp(join(fastFolder(), "stratigraph-other-"));
    closing.push(() => rm(path, { recursive: true }));
    return { warm: new MemoryTier(), cold: folder({ path }) };
  },
  ...(allRounds && {
    "PostgreSQL and S3": async () => {
      const [database, bucket] = await Promise.all([freshDatabase(), openBucket()]);
      const warm = postgres({ url: database.url });
      const cold = s3({ client: bucket.client, bucket: bucket.bucket });
      closing.push(async () => {
        await Promise.all([warm.end(), cold.end()]);
        await Promise.all([database.drop(), bucket.close()]);
      });
      await warm.setup();
      return { warm, cold };
    },
  }),
};

function open(stack: Stack, options: Partial<TieredSaverOptions> = {}, ahead = 30 * day): TieredSaver {
  return new TieredSaver(
    { ...stack, archiveAfter: "7d", pause: "0ms", ...options },
    () => Date.now() + ahead,
  );
}

/** Archives what is idle, which everything is. */
async function archive(stack: Stack): Promise<void> {
  expect((await open(stack).maintain()).steps).toMatchObject([
    { what: "archive", threadId: "t", done: true },
  ]);
}

/** A database with a thread of three checkpoints that was archived. */
async function archived(make: () => Promise<Stack>, who: string, from: number): Promise<Stack> {
  const stack = await make();
  for (const n of [1, 2, 3])
    await put(open(stack), "t", from + n, text(`${who} ${n}`), n === 1 ? 0 : from + n - 1);
  await archive(stack);
  return stack;
}

/** All that a tier has of the thread. */
async function held(tier: Tier): Promise<unknown> {
  const listed = [];
  for await (const { record, writes, head } of tier.list({ threadId: "t" }))
    listed.push([record.checkpointId, writes.length, head]);
  return [listed, (await tier.blobs("t")).length, (await tier.peek({ threadId: "t", namespace: "" })).head];
}

const lost = {
  code: "EVICTED",
  message: expect.stringContaining("It may be the wrong archive"),
};

/** How the newest checkpoint came to be in the warm tier again, and which it is. */
const ways: Readonly<Record<string, (stack: Stack) => Promise<number>>> = {
  "restored by a read": async (stack) => {
    expect(await valueOf(open(stack), "t")).toBe(text("alice 3"));
    return 3;
  },
  "that went on": async (stack) => {
    expect(await valueOf(open(stack), "t")).toBe(text("alice 3"));
    await put(open(stack), "t", 4, text("alice 4"));
    return 4;
  },
  "archived, and went on without a read": async (stack) => {
    await put(open(stack, { restoreOn: "write" }), "t", 4, text("alice 4"));
    return 4;
  },
};

/** Every call that needs what is archived, or would show or take what the archive has. */
const calls: Readonly<Record<string, (saver: TieredSaver) => Promise<unknown>>> = {
  "a list": (saver) => stepsOf(saver, "t"),
  "a list of all threads": async (saver) => {
    for await (const _ of saver.list({ configurable: {} }));
  },
  "a list of records": async (saver) => {
    for await (const _ of saver.tier.list({ threadId: "t", recordsOnly: true }));
  },
  "its archived checkpoint": (saver) => valueOf(saver, "t", 2),
  "a checkpoint of the other": (saver) => valueOf(saver, "t", 102),
  "the head of the other": (saver) => valueOf(saver, "t", 103),
  "a restore": (saver) => saver.tier.restoreThread!("t"),
  "a pruning": (saver) => saver.prune(["t"], { strategy: "keep_latest" }),
  "a copy": (saver) => saver.copyThread("t", "copy"),
  "a promotion of its own": (saver) => saver.promote(configOf("t", 2)),
  "a promotion of the other's": (saver) => saver.promote(configOf("t", 103)),
  "a removal": async (saver) =>
    saver.tier.remove({
      threadId: "t",
      revision: (await saver.tier.peek({ threadId: "t", namespace: "" })).revision,
      checkpoints: [{ threadId: "t", namespace: "", checkpointId: idOf(102) }],
      heads: [],
      dropBlobs: [],
      replaceBlobs: [],
    }),
};

describe.each(Object.keys(storages))("%s", (name) => {
  const make = storages[name]!;

  test.each(Object.keys(ways))(
    "a thread %s: no call shows, takes or changes what a wrong archive has",
    async (way) => {
      const [alice, bob] = [await archived(make, "alice", 0), await archived(make, "bob", 100)];
      const newest = await ways[way]!(alice);
      const before = [await held(alice.warm), await held(bob.cold)];
      const wrong = { warm: alice.warm, cold: bob.cold };
      for (const restoreOn of ["read", "write", "never"] as const) {
        for (const [call, work] of Object.entries(calls))
          await expect(work(open(wrong, { restoreOn })), call).rejects.toMatchObject(lost);
        expect(await valueOf(open(wrong, { restoreOn }), "t")).toBe(text(`alice ${newest}`));
      }
      expect((await open(wrong).tier.peek({ threadId: "copy", namespace: "" })).head).toBeUndefined();
      // Its own newest part can be continued, and nothing is archived there.
      expect((await open(wrong).maintain()).steps).toMatchObject([
        { what: "archive", done: false, error: { code: "CORRUPT" } },
      ]);
      expect([await held(alice.warm), await held(bob.cold)]).toEqual(before);
      await put(open(wrong), "t", 5, text("alice 5"), newest);
      const right = open(alice);
      expect(await stepsOf(right, "t")).toEqual([...new Set([5, newest, 3, 2, 1])]);
      expect(await valueOf(right, "t", 1)).toBe(text("alice 1"));
      await right.prune(["t"], { strategy: "keep_latest" });
      expect(await stepsOf(right, "t")).toEqual([5]);
      expect(await stepsOf(open(bob), "t")).toEqual([103, 102, 101]);
    },
  );

  test("maintenance leaves what another database has archived, of a thread deleted here, begun anew, in use or unknown", async () => {
    const bob = await archived(make, "bob", 100);
    const before = await held(bob.cold);
    const states: Readonly<Record<string, (stack: Stack) => Promise<unknown>>> = {
      unknown: async () => undefined,
      deleted: async (stack) => {
        await put(open(stack), "t", 1, text("alice 1"), 0);
        await open(stack).deleteThread("t");
      },
      "begun anew": async (stack) => {
        await put(open(stack), "t", 1, text("alice 1"), 0);
        await open(stack).deleteThread("t");
        await put(open(stack), "t", 2, text("alice 2"), 0);
      },
      "archived, then deleted": async (stack) => {
        await put(open(stack), "t", 1, text("alice 1"), 0);
        await archive(stack);
        await open(stack).deleteThread("t");
      },
      "archived, deleted, begun anew and archived": async (stack) => {
        await put(open(stack), "t", 1, text("alice 1"), 0);
        await archive(stack);
        await open(stack).deleteThread("t");
        await put(open(stack), "t", 2, text("alice 2"), 0);
        await archive(stack);
      },
      archived: async (stack) => {
        await put(open(stack), "t", 1, text("alice 1"), 0);
        await archive(stack);
      },
      "in use": (stack) => put(open(stack), "t", 1, text("alice 1"), 0),
    };
    for (const [state, come] of Object.entries(states)) {
      const alice = await make();
      await come(alice);
      const wrong = { warm: alice.warm, cold: bob.cold };
      const traces = await tracedWhile(async () => {
        for (const options of [{}, { archiveAfter: undefined, deleteArchivedAfter: "20d" as const }]) {
          const { steps } = await open(wrong, options, 60 * day).maintain();
          expect(
            steps.filter(({ done }) => done),
            state,
          ).toEqual([]);
        }
      });
      expect(await held(bob.cold), state).toEqual(before);
      expect(JSON.stringify(traces), state).toContain("left in archive");
      // What a person deletes isn't there, either.
      await open(wrong)
        .deleteThread("t")
        .catch(() => undefined);
      expect(await held(bob.cold), state).toEqual(before);
    }
  });

  test("an archive that was set back, under a thread whose head was restored: no shorter history", async () => {
    const alice = { warm: (await make()).warm, cold: setBackTier() };
    for (const n of [1, 2]) await put(open(alice), "t", n, text(`alice ${n}`));
    await archive(alice);
    const { mark } = alice.cold;
    for (const n of [3, 4]) await put(open(alice), "t", n, text(`alice ${n}`));
    await archive(alice);
    expect(await valueOf(open(alice), "t")).toBe(text("alice 4"));
    await alice.cold.setBack(mark);
    for (const call of ["a list", "a restore", "a pruning", "a copy"])
      await expect(calls[call]!(open(alice)), call).rejects.toMatchObject(lost);
    await expect(valueOf(open(alice), "t", 3)).rejects.toMatchObject(lost);
    expect(await valueOf(open(alice), "t", 1)).toBe(text("alice 1"));
    expect(await valueOf(open(alice), "t")).toBe(text("alice 4"));
    // It goes on, and stays in the warm tier: who restores the archive would lose what was archived to this one.
    await put(open(alice), "t", 5, text("alice 5"));
    const { steps } = await open(alice).maintain();
    expect(steps).toMatchObject([{ what: "archive", done: false, error: lost }]);
    expect(await valueOf(new TieredSaver({ warm: alice.warm }), "t")).toBe(text("alice 5"));
  });
});

/** A warm and a cold tier as versions before lives wrote them. */
async function withoutLife({ warm, cold }: Stack): Promise<Stack> {
  for (const tier of [warm, cold]) {
    const { revision } = await tier.peek({ threadId: "t", namespace: "" });
    const none = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
    await tier.remove({ threadId: "t", revision, ...none, heads: [{ namespace: reservedNamespaces.life }] });
  }
  return { warm, cold };
}

test("threads that older versions archived have no life: what they have in common tells", async () => {
  const make = storages["memory"]!;
  const alice = await withoutLife(await archived(make, "alice", 0));
  const bob = await withoutLife(await archived(make, "bob", 100));
  await ways["that went on"]!(alice);
  expect(await stepsOf(open(alice), "t")).toEqual([4, 3, 2, 1]);
  expect(await valueOf(open(alice, { restoreOn: "never" }), "t", 2)).toBe(text("alice 2"));
  const before = await held(bob.cold);
  const wrong = { warm: alice.warm, cold: bob.cold };
  for (const [call, work] of Object.entries(calls))
    await expect(work(open(wrong)), call).rejects.toMatchObject(lost);
  expect((await open(wrong).maintain()).steps).toMatchObject([{ done: false, error: { code: "CORRUPT" } }]);
  await open(wrong, { deleteArchivedAfter: "20d" }, 60 * day).maintain();
  await expect(open(wrong).deleteThread("t")).rejects.toMatchObject({ code: "CORRUPT" });
  expect(await held(bob.cold)).toEqual(before);
  await archive(alice);
  expect(await stepsOf(open(alice), "t")).toEqual([4, 3, 2, 1]);
  await open(alice).deleteThread("t");
  expect(await held(alice.cold)).toEqual([[], 0, undefined]);
});

test("a database that was set back to before it archived a thread: what the archive has of it isn't taken for over", async () => {
  const [warm, cold] = [setBackTier(), new MemoryTier()];
  await put(open({ warm, cold }), "before", 1, text("before"));
  await open({ warm, cold }).maintain();
  await put(open({ warm, cold }), "t", 1, text("alice 1"));
  const { mark } = warm;
  await open({ warm, cold }).maintain();
  const before = await held(cold);
  await warm.setBack(mark);
  await open({ warm, cold }, { archiveAfter: undefined }).maintain();
  expect(await held(cold)).toEqual(before);
  const { steps } = await open({ warm, cold }).maintain();
  expect(steps).toContainEqual(expect.objectContaining({ what: "archive", threadId: "t", done: true }));
  expect(await stepsOf(open({ warm, cold }), "t")).toEqual([1]);
});

test("deletions that are owed are made also in an archive that an older version filled, which names no database", async () => {
  const { warm, cold } = await archived(storages["memory"]!, "alice", 0);
  for (const tier of [warm, cold]) {
    const heads: AppendRequest["heads"] = [
      { namespace: reservedNamespaces.life, to: "a-life-as-it-was", expected: "any" },
    ];
    await tier.append({ threadId: "t", records: [], blobs: [], heads, onConflict: "refuse" });
  }
  await warm.deleteThread("t");
  expect((await open({ warm, cold }).maintain()).steps).toMatchObject([
    { what: "finish-deletion", done: true },
  ]);
  expect(await held(cold)).toEqual([[], 0, undefined]);
});

test("which life the archive has is asked once, and only where a read doesn't tell", async () => {
  const { warm, cold: inner } = await archived(storages["memory"]!, "alice", 0);
  const cold = new FaultyTier(inner, "cold");
  const asked = (): string[] => cold.calls.splice(0).map(({ method }) => method);
  const saver = open({ warm, cold }, { restoreOn: "write" });
  for (const n of [0, 1, 2]) await valueOf(saver, "t", n);
  expect(asked()).toEqual(["read", "read", "read"]);
  await stepsOf(saver, "t");
  expect(asked()).toEqual(["peek", "list"]);
  await put(saver, "t", 4, text("alice 4"));
  asked();
  for (const n of [1, 2, 1]) await valueOf(saver, "t", n);
  expect(asked()).toEqual(["read", "peek", "read", "read"]);
  await stepsOf(saver, "t");
  expect(asked()).toEqual(["peek", "list"]);
  // Another life is asked for anew.
  await saver.deleteThread("t");
  for (const n of [11, 12]) await put(saver, "t", n, text(`new ${n}`), n === 11 ? 0 : 11);
  await saver.maintain();
  await valueOf(saver, "t");
  await put(saver, "t", 13, text("new 13"));
  asked();
  for (const n of [11, 11]) await valueOf(open({ warm, cold }, { restoreOn: "write" }), "t", n);
  await valueOf(saver, "t", 11);
  expect(asked()).toEqual(["read", "peek", "read", "peek", "read", "peek"]);
});

test.each(Object.keys(storages))("%s: the archive of a database that was lost is kept", async (name) => {
  const { cold } = await archived(storages[name]!, "alice", 0);
  // Lives that older versions gave don't say which database gave them.
  for (const to of [undefined, "older"]) {
    const namespace = reservedNamespaces.life;
    const life = (await cold.peek({ threadId: "t", namespace })).head!;
    const heads = to === undefined ? [] : [{ namespace, to, expected: [life] }];
    await cold.append({ threadId: "t", records: [], blobs: [], heads, onConflict: "refuse" });
    const before = await held(cold);
    await open({ warm: new MemoryTier(), cold }).maintain();
    expect(await held(cold)).toEqual(before);
  }
});
