import { MemoryTier, type Tier } from "@stratigraph/core";
import { readThread } from "@stratigraph/core/internal";
import type { Address, CheckpointRecord } from "@stratigraph/core/tier";
import { redis } from "@stratigraph/redis";
import { s3 } from "@stratigraph/s3";
import { postgres } from "@stratigraph/postgres";
import { TieredSaver } from "@stratigraph/tiered";
import pg from "pg";
import { keyOf } from "../../../../../engine/postgres/src/wire/keys.ts";
import { damageable } from "./damagers.ts";
import { agent, brief, line, on, repaired, turns, verified } from "./support.ts";
import { inRounds } from "../../../../../../test/rounds.ts";

// In a stack of redis>postgres>s3, what one tier lost another one may have.

const month = 30 * 86_400_000;
let warm: Awaited<ReturnType<typeof damageable.postgres>>;
let hot: Awaited<ReturnType<typeof damageable.redis>>;
let cold: Awaited<ReturnType<typeof damageable.s3>>;
const replica = new MemoryTier();
const savers: TieredSaver[] = [];

beforeAll(async () => {
  [warm, hot, cold] = await Promise.all([damageable.postgres(), damageable.redis(), damageable.s3()]);
});
afterAll(async () => {
  for (const saver of savers) await saver.end();
  for (const { damage, storage } of [warm, hot, cold]) {
    await damage.close();
    await storage.close();
  }
});

/** The stack as a process of its own opens it; its clock is a month ahead, so that all is idle. */
function open(options: { replicas?: Tier[] } = {}): TieredSaver {
  const saver = new TieredSaver(
    {
      hot: redis({ ...hot.storage.place, ttl: "1h" }),
      warm: postgres({ url: warm.storage.url }),
      cold: s3({ client: cold.storage.client, bucket: cold.storage.bucket }),
      archiveAfter: "7d",
      pause: "0ms",
      breaker: { timeout: "10s" },
      ...options,
    },
    () => Date.now() + month,
  );
  savers.push(saver);
  return saver;
}

const at = ({ threadId, namespace, checkpointId }: CheckpointRecord): Address => ({
  threadId,
  namespace,
  checkpointId,
});

async function scene(threadId: string): Promise<readonly CheckpointRecord[]> {
  const saver = open();
  await turns(saver, threadId, 2);
  await saver.tier.idle();
  const records: CheckpointRecord[] = [];
  for await (const { record } of saver.tier.list({ threadId, recordsOnly: true })) records.push(record);
  return records;
}

async function goesOn(threadId: string): Promise<string | undefined> {
  const saver = open();
  const { head } = await saver.tier.peek({ threadId, namespace: "" });
  const { log } = await agent(saver).invoke({ log: [line("again")], note: "" }, on(threadId));
  expect(log.at(-3)).toMatch(/^again/);
  expect(log.length).toBe(9);
  return head;
}

/** The tests that follow verify the whole storage, time and again. */
const removed = (threadId: string): Promise<void> => open().deleteThread(threadId);

interface Way {
  readonly name: string;
  damage(records: readonly CheckpointRecord[]): Promise<void>;
  readonly finds: { readonly kind: string; readonly severity: string; readonly part: string };
}

/** With few rounds every second kind of damage: damage.test.ts makes each. */
const some = (ways: readonly Way[]): readonly Way[] =>
  inRounds({ few: ways.filter((_, turn) => turn % 2 === 0), all: ways });

const ofWarm: readonly Way[] = [
  {
    name: "a damaged value of the head",
    damage: ([head]) => warm.damage.corruptBlob(head!.threadId, head!.blobs[0]!),
    finds: { kind: "corrupt", severity: "error", part: "blob" },
  },
  {
    name: "a missing value of the head",
    damage: ([head]) => warm.damage.dropBlob(head!.threadId, head!.blobs[0]!),
    finds: { kind: "missing-blob", severity: "error", part: "blob" },
  },
  {
    name: "a missing value that others are patches on",
    damage: (records) => warm.damage.dropBlob(records[0]!.threadId, records.at(-2)!.blobs[0]!),
    finds: { kind: "missing-blob", severity: "error", part: "blob" },
  },
  {
    name: "a damaged head",
    damage: ([head]) => warm.damage.corruptBody(at(head!)),
    finds: { kind: "corrupt", severity: "error", part: "record" },
  },
  {
    name: "a checkpoint with another parent",
    damage: async ([head]) => {
      const pool = new pg.Pool({ connectionString: warm.storage.url, max: 1 });
      const text = "update stratigraph.checkpoints set parent = $1 where id = $2";
      const { rowCount } = await pool.query(text, [keyOf("nobody"), keyOf(head!.checkpointId)]);
      await pool.end();
      expect(rowCount).toBe(1);
    },
    finds: { kind: "corrupt", severity: "error", part: "record" },
  },
  {
    name: "a damaged checkpoint in history",
    damage: (records) => warm.damage.corruptBody(at(records[5]!)),
    finds: { kind: "corrupt", severity: "error", part: "record" },
  },
  {
    name: "a lost checkpoint in history",
    damage: (records) => warm.damage.dropRecord(at(records[5]!)),
    finds: { kind: "gap", severity: "error", part: "record" },
  },
  {
    name: "a lost head",
    damage: ([head]) => warm.damage.dropRecord(at(head!)),
    finds: { kind: "wrong-head", severity: "error", part: "head" },
  },
];

test.each(some(ofWarm).map((way) => [way.name, way] as const))(
  "%s in the warm tier is mended from the hot one",
  async (_, way) => {
    const threadId = `warm ${way.name}`;
    const records = await scene(threadId);
    expect((await verified(open().tier, { threads: threadId })).findings).toEqual([]);
    await way.damage(records);
    const report = await verified(open().tier);
    expect(report.findings.map(brief)).toEqual([
      { ...way.finds, tier: "postgres", thread: threadId, goodIn: ["redis"] },
    ]);
    const before = await Promise.all([warm, hot, cold].map(({ damage }) => damage.digest()));
    expect((await repaired(open().tier, report, {})).results).toMatchObject([{ outcome: "would" }]);
    expect(await Promise.all([warm, hot, cold].map(({ damage }) => damage.digest()))).toEqual(before);
    expect(await repaired(open().tier, report)).toMatchObject({ results: [{ outcome: "done" }], left: [] });
    expect((await verified(open().tier)).findings).toEqual([]);
    expect(await goesOn(threadId)).toBe(records[0]!.checkpointId);
    expect((await verified(open().tier)).findings).toEqual([]);
    await removed(threadId);
  },
);

const ofHot: readonly Way[] = [
  {
    name: "a damaged value",
    damage: ([head]) => hot.damage.corruptBlob(head!.threadId, head!.blobs[0]!),
    finds: { kind: "corrupt", severity: "warning", part: "blob" },
  },
  {
    name: "a damaged checkpoint",
    damage: ([head]) => hot.damage.corruptBody(at(head!)),
    finds: { kind: "corrupt", severity: "warning", part: "record" },
  },
];

test.each(some(ofHot).map((way) => [way.name, way] as const))(
  "%s in the hot tier is removed",
  async (_, way) => {
    const threadId = `hot ${way.name}`;
    const records = await scene(threadId);
    await way.damage(records);
    const report = await verified(open().tier);
    expect(report.findings.map(brief)).toEqual([
      { ...way.finds, tier: "redis", thread: threadId, goodIn: ["postgres"] },
    ]);
    expect(await repaired(open().tier, report)).toMatchObject({ results: [{ outcome: "done" }], left: [] });
    expect((await verified(open().tier)).findings).toEqual([]);
    expect(await goesOn(threadId)).toBe(records[0]!.checkpointId);
    await removed(threadId);
  },
);

test("what a hot tier lacks is no finding: it is a miss", async () => {
  const [head] = await scene("misses");
  await hot.damage.dropBlob("misses", head!.blobs[0]!);
  await hot.damage.dropRecord(at(head!));
  expect((await verified(open().tier)).findings).toEqual([]);
  expect(await goesOn("misses")).toBe(head!.checkpointId);
});

test("a replica has what the warm tier lost", async () => {
  const [head] = await scene("replicated");
  const contents = await readThread(postgres({ url: warm.storage.url }), "replicated");
  await replica.append({ threadId: "replicated", ...contents, onConflict: "refuse" });
  await hot.damage.dropRecord(at(head!));
  await warm.damage.dropBlob("replicated", head!.blobs[0]!);
  const saver = (): Tier => open({ replicas: [replica] }).tier;
  const report = await verified(saver(), { threads: "replicated" });
  expect(report.findings.map(brief)).toMatchObject([{ kind: "missing-blob", goodIn: ["memory"] }]);
  expect(await repaired(saver(), report)).toMatchObject({ results: [{ outcome: "done" }], left: [] });
  expect(await goesOn("replicated")).toBe(head!.checkpointId);
});

describe("with an archive", () => {
  test("a thread of which a part is archived is whole", async () => {
    await scene("archived");
    await open().maintain();
    await goesOn("archived");
    const report = await verified(open().tier);
    expect(report.findings).toEqual([]);
    expect(report.tiers).toEqual([
      { tier: "postgres", role: "warm" },
      { tier: "s3", role: "cold" },
      { tier: "redis", role: "hot" },
    ]);
  });

  test("damage of the archive is found there; a head goes back to what is whole", async () => {
    const records = await scene("archived and damaged");
    await open().maintain();
    await cold.damage.corruptBlob("archived and damaged", records[0]!.blobs[0]!);
    const report = await verified(open().tier);
    expect(report.findings.map(brief)).toEqual([
      {
        ...{ kind: "corrupt", severity: "error", part: "blob" },
        ...{ tier: "s3", thread: "archived and damaged", goodIn: [] },
      },
    ]);
    const before = await Promise.all([warm, hot, cold].map(({ damage }) => damage.digest()));
    expect((await repaired(open().tier, report, {})).results).toMatchObject([{ outcome: "would" }]);
    expect(await Promise.all([warm, hot, cold].map(({ damage }) => damage.digest()))).toEqual(before);
    expect((await repaired(open().tier, report)).results).toMatchObject([{ outcome: "done" }]);
    const { log } = await agent(open()).invoke(
      { log: [line("again")], note: "" },
      on("archived and damaged"),
    );
    expect(log.at(-3)).toMatch(/^again/);
    const after = await verified(open().tier);
    expect(after.findings.map(({ kind, tier }) => [kind, tier])).toEqual([["corrupt", "s3"]]);
    await open().deleteThread("archived and damaged");
  });

  test("copies of a deleted thread are found and removed", async () => {
    const records = await scene("deleted");
    const contents = await readThread(open().tier, "deleted");
    await open().deleteThread("deleted");
    const heads = contents.heads.map((head) => ({ ...head, expected: "any" as const }));
    const left = { threadId: "deleted", ...contents, heads, onConflict: "refuse" } as const;
    await redis({ ...hot.storage.place, ttl: "1h" }).append(left);
    await s3({ client: cold.storage.client, bucket: cold.storage.bucket }).append(left);
    expect(records.length).toBeGreaterThan(0);
    const report = await verified(open().tier);
    expect(report.findings.map(({ kind, tier, thread }) => [kind, tier, thread])).toEqual([
      ["tombstone-leak", "s3", "deleted"],
      ["tombstone-leak", "redis", "deleted"],
    ]);
    expect(await repaired(open().tier, report)).toMatchObject({
      results: [{ outcome: "done" }, { outcome: "done" }],
      left: [],
    });
    expect((await verified(open().tier)).findings).toEqual([]);
  });
});
