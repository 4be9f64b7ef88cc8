// long file: every order of an archiver, a deletion and a new beginning, over the same two lives
import { diff } from "@stratigraph/branch";
import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { copyByReading } from "@stratigraph/core/internal";
import { reservedNamespaces, type ListQuery } from "@stratigraph/core/tier";
import { inRounds } from "../rounds.ts";
import { setBackTier } from "../setBack/setBackTier.ts";
import { configOf, isExpected, Ledger } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import { explore, simulate } from "./simulate.ts";
import { Site, warmUp } from "./site.ts";
import type { WireCall } from "./wireCall.ts";
import type { World } from "./world.ts";

// A thread has lives: what was deleted of one never comes back in another, whatever an archiver does meanwhile.

beforeAll(warmUp);

const t = { threadId: "t", namespace: "" };

/** Which checkpoints a tier has of the thread. */
async function idsIn(tier: Tier): Promise<string[]> {
  const ids: string[] = [];
  for await (const { record } of tier.list({ threadId: "t", recordsOnly: true }))
    ids.push(record.checkpointId);
  return ids.sort();
}

/** The same process of the past, and ledgers of two lives of a thread. */
function lived(world: World, without: readonly string[] = []) {
  const site = new Site(world, without);
  const machines = Object.fromEntries(
    ["archiver", "deleter", "reader", "writer", "next"].map((name) => [name, world.machine(name)]),
  ) as Record<"archiver" | "deleter" | "reader" | "writer" | "next", Machine>;
  return { site, ...machines, first: new Ledger("t"), second: new Ledger("t", 100) };
}

/** Checks that a reader finds the second life alone: by the thread, in lists of all threads, and as the archive has it. */
async function onlySecond(site: Site, reader: Machine, first: Ledger, second: Ledger): Promise<void> {
  const saver = site.open(reader);
  await second.checkAll(saver);
  for await (const { checkpoint } of saver.list({}))
    expect([...first.attempts.keys()]).not.toContain(checkpoint.id);
  for (const id of first.attempts.keys()) expect(await saver.getTuple(configOf("t", id))).toBeUndefined();
}

async function deltaHistory(saver: TierSaver): Promise<unknown> {
  return await saver.getDeltaChannelHistory({ config: configOf("t"), channels: ["line"] });
}

test("a copy that was acknowledged is readable, also where the thread is archived right before it is copied", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, reader, first } = lived(world);
    const saver = site.open(writer);
    await first.turn(saver);
    await first.turn(saver, ["task"]);
    const held = world.hold("copyThread", { from: writer, to: site.warm });
    const copying = saver.copyThread("t", "copy");
    await held.reached;
    await site.open(archiver).maintain();
    await held.release();
    await copying;
    const copy = site.open(reader);
    const ids: string[] = [];
    for await (const { checkpoint } of copy.list(configOf("copy"))) ids.push(checkpoint.id);
    expect(ids).toEqual([...first.attempts.keys()].reverse());
    expect((await copy.getTuple(configOf("copy")))?.pendingWrites).toHaveLength(1);
    await first.checkAll(copy);
  });
});

test("a copy of an archived thread that is written to meanwhile is readable, as it was at one moment", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, next, reader, first } = lived(world);
    await first.turn(site.open(writer));
    await first.turn(site.open(writer), ["task"]);
    await site.open(archiver).maintain();
    const before = [...first.attempts.keys()];
    const held = world.hold("list", { from: writer, to: site.cold });
    const copying = site.open(writer).copyThread("t", "copy");
    await held.reached;
    await first.turn(site.open(next));
    await held.release();
    await copying;
    const copy = site.open(reader);
    const head = (await copy.getTuple(configOf("copy")))?.checkpoint.id;
    expect(before.length).toBe(2);
    expect([before.at(-1), [...first.attempts.keys()].at(-1)]).toContain(head);
    const ids: string[] = [];
    for await (const { checkpoint } of copy.list(configOf("copy"))) ids.push(checkpoint.id);
    expect(ids[0]).toBe(head);
  });
});

test("a copy of a thread whose head is nowhere is refused, and leaves nothing", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, first } = lived(world);
    for (let n = 0; n < 2; n += 1) await first.turn(site.open(writer));
    await site.open(archiver).maintain();
    await site.open(writer).getTuple(configOf("t", [...first.attempts.keys()][0]));
    const alone = new TierSaver(site.tiers.warm);
    await expect(copyByReading(alone.tier, "t", "copy")).rejects.toMatchObject({ code: "EVICTED" });
    expect(await alone.getTuple(configOf("copy"))).toBeUndefined();
  });
});

describe("the head of an archived thread is read while the thread is deleted", () => {
  type Read = (saver: TierSaver) => Promise<unknown>;
  const nothing = { code: "NOT_FOUND" };
  test.each([
    ["it isn't there", (saver) => saver.getTuple(configOf("t")), undefined],
    ["it has no past", deltaHistory, { line: { writes: [] } }],
    [
      "it can't be compared",
      (saver) => diff(saver, { threadId: "t" }, { threadId: "t" }).catch((error: unknown) => error),
      nothing,
    ],
  ] as [string, Read, unknown][])("%s", async (_name, read, found) => {
    await simulate(async (world) => {
      const { site, writer, archiver, deleter, reader, first } = lived(world);
      await first.turn(site.open(writer), ["task"]);
      await site.open(archiver).maintain();
      const held = world.hold("read", { from: reader, to: site.cold });
      const reading = read(site.open(reader));
      await held.reached;
      await site.open(deleter).deleteThread("t");
      await held.release();
      const answer = await reading;
      if (found === undefined) expect(answer).toBeUndefined();
      else expect(answer).toMatchObject(found as object);
    });
  });

  test("… and begins anew: the new one is read", async () => {
    await simulate(async (world) => {
      const { site, writer, archiver, deleter, reader, first, second } = lived(world);
      await first.turn(site.open(writer));
      await site.open(archiver).maintain();
      const held = world.hold("read", { from: reader, to: site.cold });
      const reading = site.open(reader).getTuple(configOf("t"));
      await held.reached;
      await site.open(deleter).deleteThread("t");
      const id = await second.turn(site.open(writer));
      await held.release();
      expect((await reading)?.checkpoint.id).toBe(id);
    });
  });
});

test("the owner is set back while the archive of a deleted thread is deleted: it is deleted, and begins anew", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, deleter, reader, first, second } = lived(world);
    const warm = setBackTier();
    site.tiers.warm = warm;
    await first.turn(site.open(writer));
    await site.open(archiver).maintain();
    const mark = warm.mark;
    const held = world.hold("deleteUnchanged", { from: deleter, to: site.cold });
    const deleting = site.open(deleter).deleteThread("t");
    await held.reached;
    await warm.setBack(mark);
    await held.release();
    await deleting;
    expect(await site.open(reader).getTuple(configOf("t"))).toBeUndefined();
    await second.turn(site.open(writer));
    await onlySecond(site, reader, first, second);
  });
});

describe.each([
  ["a warm tier that lists deletions", []],
  ["one that doesn't", ["tombstones", "strays"]],
  ["one that can't delete on a condition", ["deleteUnchanged"]],
] as [string, string[]][])("%s", (_name, without) => {
  test("an archiver comes between the pending writes of a step and their checkpoint: none is lost, and it is archived later", async () => {
    await simulate(async (world) => {
      const { site, writer, archiver, reader, first } = lived(world, without);
      const saver = site.open(writer);
      await first.turn(saver);
      const putting = world.hold("append", { from: writer, to: site.warm });
      const turning = first.turn(saver);
      await putting.reached;
      const id = [...first.attempts.keys()].at(-1)!;
      await first.write(saver, id, "task");
      expect((await site.open(archiver).maintain()).steps).toMatchObject([{ threadId: "t", done: false }]);
      await putting.release();
      expect(await turning).toBe(id);
      await first.checkAll(site.open(reader));
      await site.open(archiver).maintain();
      expect(await idsIn(site.tiers.warm)).toEqual([]);
      await first.checkAll(site.open(reader));
    });
  });

  test("the archive is away at the deletion, the thread begins anew and is archived: the old life is gone", async () => {
    await simulate(async (world) => {
      const { site, deleter, writer, archiver, reader, first, second } = lived(world, without);
      await first.turn(site.open(writer), ["task"]);
      await site.open(archiver).maintain();
      const away = world.hold("deleteUnchanged", { to: site.cold });
      const deleting = site.open(deleter).deleteThread("t");
      await away.fail();
      await deleting;
      await second.turn(site.open(writer));
      await second.turn(site.open(writer));
      await onlySecond(site, reader, first, second);
      await site.open(archiver).maintain();
      expect(await idsIn(site.tiers.warm)).toEqual([]);
      await onlySecond(site, reader, first, second);
      expect(await idsIn(site.tiers.cold)).toEqual([...second.attempts.keys()]);
    });
  });

  test("… and isn't archived: maintenance finds and removes the old bytes, in any process", async () => {
    await simulate(async (world) => {
      const { site, deleter, writer, archiver, next, reader, first, second } = lived(world, without);
      await first.turn(site.open(writer));
      await site.open(archiver).maintain();
      await site.open(next, { archiveAfter: undefined }).maintain();
      const away = world.hold("deleteUnchanged", { to: site.cold });
      const deleting = site.open(deleter).deleteThread("t");
      await away.fail();
      await deleting;
      await second.turn(site.open(writer));
      const maintainer = site.open(next, { archiveAfter: undefined });
      expect((await maintainer.maintain()).steps).toMatchObject([
        { what: "finish-deletion", threadId: "t", done: true },
      ]);
      expect(await idsIn(site.tiers.cold)).toEqual([]);
      expect((await maintainer.maintain()).steps).toEqual([]);
      await onlySecond(site, reader, first, second);
    });
  });

  test("a process is killed between the two tiers, and the thread begins anew: the old bytes go within a day", async () => {
    await simulate(async (world) => {
      const { site, deleter, writer, archiver, next, reader, first, second } = lived(world, without);
      await first.turn(site.open(writer));
      await site.open(archiver).maintain();
      const held = world.hold("deleteUnchanged", { to: site.cold });
      void site.open(deleter).deleteThread("t");
      await held.reached;
      deleter.kill();
      await second.turn(site.open(writer));
      await world.pass(86_400_000);
      await site.open(next, { archiveAfter: undefined }).maintain();
      expect(await idsIn(site.tiers.cold)).toEqual([]);
      await onlySecond(site, reader, first, second);
    });
  });

  test.each(["peek", "append", "list"] as const)(
    "a deletion while an archiver is at the archive's %s: nothing of it is there, also later",
    async (method) => {
      await simulate(async (world) => {
        const { site, deleter, writer, archiver, reader, first, second } = lived(world, without);
        await first.turn(site.open(writer));
        // Of the lists, the one by which the archiver reads its copy back.
        const isWhole = ({ args: [query] }: WireCall): boolean =>
          method !== "list" || (query as ListQuery).recordsOnly !== true;
        const held = world.hold(method, { from: archiver, to: site.cold, when: isWhole });
        const archiving = site.open(archiver).maintain();
        await held.reached;
        const report = await site.open(deleter).deleteThreads({ threadIds: ["t"] });
        expect(report).toMatchObject({ complete: true, threads: [{ verified: true }] });
        await held.release();
        for (const { error } of (await archiving).steps) expect(error).toBeUndefined();
        expect(await idsIn(site.tiers.cold)).toEqual([]);
        await first.checkGone(site.open(reader));
        await second.turn(site.open(writer));
        await site.open(world.machine("another")).maintain();
        await onlySecond(site, reader, first, second);
      });
    },
  );

  test("an archiver comes between the deletion's look and the deletion, and is killed at the archive", async () => {
    await simulate(async (world) => {
      const { site, deleter, writer, archiver, reader, first } = lived(world, without);
      await first.turn(site.open(writer));
      const deleting = ["deleteUnchanged", "deleteThread"].map((method) =>
        world.hold(method, { from: deleter, to: site.warm }),
      );
      const reporting = site.open(deleter).deleteThreads({ threadIds: ["t"] });
      await Promise.race(deleting.map(({ reached }) => reached));
      const late = world.hold("append", { from: archiver, to: site.cold });
      void site.open(archiver).maintain();
      await late.reached;
      for (const held of deleting) void held.release();
      expect(await reporting).toMatchObject({ complete: true, threads: [{ verified: true }] });
      await late.arrive();
      archiver.kill();
      expect(await idsIn(site.tiers.cold)).toEqual([]);
      await first.checkGone(site.open(reader));
    });
  });

  test("an archiver of a former life that was suspended brings nothing back into the next one", async () => {
    await simulate(async (world) => {
      const { site, deleter, writer, archiver, next, reader, first, second } = lived(world, without);
      await first.turn(site.open(writer));
      const late = world.hold("append", { from: archiver, to: site.cold });
      const archiving = archiver.run(() => site.open(archiver).maintain());
      await late.reached;
      archiver.suspend();
      await site.open(deleter).deleteThread("t");
      await second.turn(site.open(writer));
      await world.pass(120_000);
      await site.open(next).maintain();
      await late.arrive();
      archiver.resume();
      await late.release();
      await archiving;
      await onlySecond(site, reader, first, second);
      expect(await idsIn(site.tiers.cold)).toEqual([...second.attempts.keys()]);
    });
  });

  test("a deletion of a former life that was suspended takes nothing of the next one", async () => {
    await simulate(async (world) => {
      const { site, deleter, writer, archiver, next, reader, first, second } = lived(world, without);
      await first.turn(site.open(writer));
      await site.open(archiver).maintain();
      const held = ["deleteUnchanged", "deleteThread"].map((method) =>
        world.hold(method, { from: deleter, to: site.warm }),
      );
      const deleting = deleter.run(() => site.open(deleter).deleteThread("t"));
      const call = await Promise.race(held.map(({ reached }) => reached));
      await call.arrive();
      deleter.suspend();
      await second.turn(site.open(writer));
      await world.pass(120_000);
      await site.open(next).maintain();
      deleter.resume();
      call.held = false;
      await deleting;
      await onlySecond(site, reader, first, second);
    });
  });
});

test.each(["deleteUnchanged", "append"])(
  "a deletion's %s is under way to the archive while the next life is archived: nothing of that is taken",
  async (method) => {
    await simulate(async (world) => {
      const { site, deleter, writer, archiver, next, reader, first, second } = lived(world);
      await first.turn(site.open(writer));
      if (method === "append") {
        // It has announced itself, and brings nothing: the deletion raises a fence.
        const announced = world.hold("append", { from: archiver, to: site.cold });
        void site.open(archiver).maintain();
        await announced.reached;
        archiver.kill();
      } else await site.open(archiver).maintain();
      const held = world.hold(method, { from: deleter, to: site.cold });
      const deleting = site.open(deleter).deleteThread("t");
      await held.reached;
      await second.turn(site.open(writer));
      await world.pass(120_000);
      await site.open(next).maintain();
      expect(await idsIn(site.tiers.cold)).toContain([...second.attempts.keys()][0]);
      await held.release();
      await deleting;
      await onlySecond(site, reader, first, second);
    });
  },
);

test("an archiver that was killed leaves a copy; the next one begins again, and what was pruned meanwhile stays away", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, next, reader, first } = lived(world);
    const saver = site.open(writer);
    for (let n = 0; n < 3; n += 1) await first.turn(saver);
    const held = world.hold("append", { from: archiver, to: site.warm, when: ({ args }) => isMark(args) });
    void archiver.run(() => site.open(archiver).maintain());
    await held.reached;
    archiver.kill();
    await saver.prune(["t"], { strategy: "keep_latest" });
    await world.pass(120_000);
    await site.open(next).maintain();
    const ids: string[] = [];
    for await (const { checkpoint } of site.open(reader).list(configOf("t"))) ids.push(checkpoint.id);
    expect(ids).toEqual([...first.attempts.keys()].slice(-1));
    expect(await idsIn(site.tiers.cold)).toEqual(ids);
  });
});

function isMark([request]: readonly unknown[]): boolean {
  const { heads } = request as { heads: readonly { namespace: string }[] };
  return heads.some(({ namespace }) => namespace === reservedNamespaces.archived);
}

test("two archivers at once: the thread is archived once and whole, and neither fails", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, next, reader, first } = lived(world);
    await first.turn(site.open(writer), ["task"]);
    await first.turn(site.open(writer), ["task"]);
    const archived = async (saver: TierSaver) => {
      const { blobs } = saver.coder;
      return await (saver as ReturnType<Site["open"]>).tier.archiveThread!("t", (hash, found) =>
        blobs.payload(hash, found),
      );
    };
    for (const [method, tier] of [
      ["append", "cold"],
      ["list", "cold"],
      ["evict", "warm"],
    ] as const) {
      const held = world.hold(method, { from: archiver, to: site[tier] });
      const one = archived(site.open(archiver));
      await held.reached;
      const other = await archived(site.open(next));
      await held.release();
      expect([other, await one].filter((moved) => moved?.done === true).length).toBeGreaterThan(0);
      await first.checkAll(site.open(reader));
      await first.turn(site.open(writer), ["task"]);
    }
  });
});

test("a thread that an older version archived stays readable, goes on, and is archived again", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, reader, first } = lived(world);
    await first.turn(site.open(writer), ["task"]);
    await first.turn(site.open(writer));
    await site.open(archiver).maintain();
    // What older versions wrote had no life, in either tier.
    for (const tier of [site.tiers.warm, site.tiers.cold]) {
      const { revision } = await tier.peek(t);
      const heads = [{ namespace: reservedNamespaces.life }];
      await tier.remove({ threadId: "t", revision, checkpoints: [], dropBlobs: [], replaceBlobs: [], heads });
    }
    await first.checkAll(site.open(reader));
    await first.turn(site.open(writer));
    await site.open(archiver).maintain();
    await first.checkAll(site.open(reader));
    expect(await idsIn(site.tiers.cold)).toEqual([...first.attempts.keys()]);
  });
});

test("what an older version's deletion left in the archive isn't archived together with the next life", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, reader, first, second } = lived(world);
    await first.turn(site.open(writer));
    await site.open(archiver).maintain();
    const { revision } = await site.tiers.cold.peek(t);
    const heads = [{ namespace: reservedNamespaces.life }];
    await site.tiers.cold.remove({
      threadId: "t",
      revision,
      checkpoints: [],
      dropBlobs: [],
      replaceBlobs: [],
      heads,
    });
    await site.tiers.warm.deleteThread("t");
    await second.turn(site.open(writer));
    await site.open(archiver).maintain();
    await onlySecond(site, reader, first, second);
  });
});

test("a database that was lost, and whose threads begin anew, changes nothing of what the archive has of them", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, reader, first, second } = lived(world);
    await first.turn(site.open(writer));
    await site.open(archiver).maintain();
    site.tiers.warm = new MemoryTier();
    await second.turn(site.open(world.machine("another")));
    const maintaining = site.open(world.machine("next"));
    expect((await maintaining.maintain()).steps).toMatchObject([
      {
        what: "archive",
        threadId: "t",
        error: { code: "CORRUPT", message: expect.stringContaining("nor deleted") },
      },
    ]);
    expect(await idsIn(site.tiers.cold)).toEqual([...first.attempts.keys()]);
    await onlySecond(site, reader, first, second);
  });
});

test("an owner that was set back to before a thread was archived: the thread goes on, and is archived again", async () => {
  await simulate(async (world) => {
    const { site, writer, archiver, reader, first } = lived(world);
    await first.turn(site.open(writer), ["task"]);
    const backup = new MemoryTier();
    await copyByReading(site.tiers.warm, "t", "t", backup);
    await site.open(archiver).maintain();
    site.tiers.warm = backup;
    const after = site.open(world.machine("after"));
    await first.turn(after);
    await site.open(world.machine("next")).maintain();
    expect(await idsIn(site.tiers.warm)).toEqual([]);
    await first.checkAll(site.open(reader));
  });
});

test("archivers, deletions, faults and kills in any order: no life is mixed with another one", async () => {
  await explore(
    async (world) => {
      const { site, deleter, writer, archiver, next, reader, first, second } = lived(world);
      await first.turn(site.before(), ["task"]);
      if (world.choose(2) === 1) await site.before().maintain();
      const expected = (error: unknown): void => {
        if (!isExpected(error)) throw error;
      };
      const archiving = [archiver, next].map((process) =>
        process.finish(async () => {
          const saver = site.open(process);
          for (let n = 0; n < 2; n += 1) {
            await saver.maintain().catch(expected);
            await world.pass(31_000);
          }
        }),
      );
      let isDeleted = false;
      const deleting = deleter.finish(async () => {
        await world.pass(world.choose(3) * 20_000);
        await site.open(deleter).deleteThread("t").catch(expected);
        isDeleted = (await site.tiers.warm.peek(t)).head === undefined;
        if (!isDeleted) return;
        await writer.finish(async () => {
          const saver = site.open(writer);
          for (let n = 0; n < 2; n += 1) await second.turn(saver, ["task"]);
        });
      });
      world.offer("the archiver is killed", () => archiver.kill());
      world.offer("the archiver is suspended", () => archiver.suspend());
      const [one, other] = archiving.map((each) => each.catch(expected));
      await Promise.all([other, deleting.catch(expected)]);
      archiver.resume();
      await one;
      await world.calm();
      const last = world.machine("last");
      if (!isDeleted) return;
      await world.pass(86_400_000);
      for (let n = 0; n < 2; n += 1) await last.run(() => site.open(last).maintain());
      await reader.run(() => onlySecond(site, reader, first, second));
      const old = [...first.attempts.keys()];
      for (const tier of [site.tiers.warm, site.tiers.cold])
        expect((await idsIn(tier)).filter((id) => old.includes(id))).toEqual([]);
    },
    { schedules: inRounds({ few: 60, all: 400 }), faults: 2, choices: 120 },
  );
});
