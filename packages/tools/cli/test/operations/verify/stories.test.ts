// long file: each story is short, and the storages that they happen to are opened once
import { randomBytes } from "node:crypto";
import { copyFile, mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CorruptionError, MemoryTier, StratigraphError, TierSaver, type Tier } from "@stratigraph/core";
import { folder } from "@stratigraph/s3";
import { FaultyTier } from "@stratigraph/testing";
import { TierStack, TieredSaver } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import pg from "pg";
import { keyOf } from "../../../../../engine/postgres/src/wire/keys.ts";
import { encodeCheckpointKey } from "../../../../../engine/redis/src/checkpointKeys.ts";
import { KeyNames } from "../../../../../engine/redis/src/keyNames.ts";
import { storageOf } from "../../../src/operations/verify/places.ts";
import { setBackTier } from "../../../../../../test/setBack/setBackTier.ts";
import { runOperation } from "../../../src/operations/index.ts";
import { testContext } from "../support/testContext.ts";
import { agent, on, operationNamed, repaired, storages, turns, verified } from "./support.ts";

// What happened to somebody's storage, and what verify and repair have to make of it.

const kindsOf = ({ findings }: { findings: readonly { kind: string; thread?: string | undefined }[] }) =>
  findings.map(({ kind, thread }) => [kind, thread]);
const outcomesOf = ({ results }: { results: readonly { outcome: string }[] }) =>
  results.map(({ outcome }) => outcome);

/** All that a reader gets of a thread. */
async function readable(tier: Tier, threadId: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const tuple of new TierSaver(tier).list(on(threadId))) found.push(tuple);
  return found;
}

describe("PostgreSQL", () => {
  let storage: Awaited<ReturnType<typeof storages.postgres>>;
  let pool: pg.Pool;
  beforeEach(async () => {
    storage = await storages.postgres();
    pool = new pg.Pool({ connectionString: storage.url, max: 1 });
  });
  afterEach(async () => {
    await pool.end();
    await storage.close();
  });

  test("1: the row of a thread is lost; repair removes nothing, and the row from a backup brings all of it back", async () => {
    await turns(new TierSaver(storage.open()), "ada", 2);
    const before = await readable(storage.open(), "ada");
    const { rows } = await pool.query("delete from stratigraph.threads returning *");
    const report = await verified(storage.open());
    expect(kindsOf(report)).toEqual([["lost-thread", undefined]]);
    const outcome = await repaired(storage.open(), report, { apply: true, prune: true });
    expect(outcome.results).toMatchObject([
      { outcome: "impossible", action: expect.stringMatching(/row thread = \d+ of stratigraph\.threads/) },
    ]);
    await pool.query(
      "insert into stratigraph.threads overriding system value select * from jsonb_populate_record(null::stratigraph.threads, $1)",
      [JSON.stringify({ ...rows[0], key: `\\x${(rows[0].key as Buffer).toString("hex")}` })],
    );
    expect(await readable(storage.open(), "ada")).toEqual(before);
    expect((await verified(storage.open())).findings).toEqual([]);
  });

  test("2: the row of a thread is lost, and a hot tier still knows whose it was: repair makes it anew", async () => {
    const hot = new MemoryTier();
    const stack = (): TierStack => new TierStack({ hot: [hot], warm: storage.open() });
    await turns(new TierSaver(stack()), "ada", 2);
    const before = await readable(storage.open(), "ada");
    await pool.query("delete from stratigraph.threads");
    const report = await verified(stack());
    expect(kindsOf(report)).toEqual([["lost-thread", undefined]]);
    const outcome = await repaired(stack(), report);
    expect(outcome.results).toMatchObject([{ outcome: "done", finding: { thread: "ada" } }]);
    expect(outcome.left).toEqual([]);
    expect(await readable(storage.open(), "ada")).toEqual(before);
    expect((await verified(stack())).findings).toEqual([]);
    await turns(new TierSaver(stack()), "ada", 1);
  });

  test("3: a thread that was deleted once and begun anew is taken for deleted again: repair lists it again", async () => {
    const saver = new TierSaver(storage.open());
    await turns(saver, "ada", 1);
    await saver.deleteThread("ada");
    await turns(saver, "ada", 1);
    const before = await readable(storage.open(), "ada");
    await pool.query("update stratigraph.threads set live = false");
    const report = await verified(storage.open());
    expect(kindsOf(report)).toEqual([["corrupt", "ada"]]);
    expect(outcomesOf(await repaired(storage.open(), report))).toEqual(["done"]);
    expect(await readable(storage.open(), "ada")).toEqual(before);
    expect((await verified(storage.open())).findings).toEqual([]);
  });

  test("4: a damaged key column is CORRUPT and names thread and column, and other threads are read on", async () => {
    const saver = new TierSaver(storage.open());
    await turns(saver, "ada", 1);
    await turns(saver, "bob", 1);
    await pool.query(
      "update stratigraph.checkpoints set parent = set_byte(parent, 0, 97) where thread = (select thread from stratigraph.threads where key = $1) and parent is not null",
      [keyOf("ada")],
    );
    const error: unknown = await readable(storage.open(), "ada").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "CORRUPT", data: { threadId: "ada", column: "checkpoints.parent" } });
    const report = await verified(storage.open());
    expect(kindsOf(report)).toEqual([["corrupt", "ada"]]);
    expect(report.totals.threads).toBe(2);
    expect(outcomesOf(await repaired(storage.open(), report))).toEqual(["impossible"]);
  });
});

describe("Redis", () => {
  let storage: Awaited<ReturnType<typeof storages.redis>>;
  let client: Redis;
  const hash = (threadId: string): string => new KeyNames(storage.place.prefix).thread(threadId)[0];
  beforeEach(async () => {
    storage = await storages.redis();
    client = new Redis(storage.place.url);
  });
  afterEach(async () => {
    client.disconnect();
    await storage.close();
  });

  test("5: one damaged field isn't an outage: it is CORRUPT, named, and doesn't keep other threads from being verified", async () => {
    const saver = new TierSaver(storage.open());
    for (const threadId of ["ada", "bob", "eve"]) await turns(saver, threadId, 1);
    await client.hset(hash("bob"), "n", "1x");
    await expect(saver.getTuple(on("bob"))).rejects.toMatchObject({
      code: "CORRUPT",
      retryable: false,
      data: { threadId: "bob" },
      message: expect.stringContaining("n isn't a number"),
    });
    const report = await verified(storage.open());
    expect(kindsOf(report)).toEqual([["corrupt", "bob"]]);
    expect(report.totals.threads).toBe(3);
    expect(outcomesOf(await repaired(storage.open(), report))).toEqual(["done"]);
    expect((await verified(storage.open())).findings).toEqual([]);
    expect(await readable(storage.open(), "bob")).toHaveLength(4);
  });

  test("6: a damaged length prefix is CORRUPT and names the field", async () => {
    const saver = new TierSaver(storage.open());
    await turns(saver, "ada", 1);
    const { head } = await storage.open().peek({ threadId: "ada", namespace: "" });
    const field = `r${String(encodeCheckpointKey("", head!))}`;
    const value = await client.hgetBuffer(hash("ada"), field);
    value![0] = 0x2f;
    await client.hset(hash("ada"), field, value!);
    for (const call of [saver.getTuple(on("ada")), readable(storage.open(), "ada")])
      await expect(call).rejects.toMatchObject({
        code: "CORRUPT",
        data: { threadId: "ada" },
        message: expect.stringContaining(`r${head!}`),
      });
    expect(kindsOf(await verified(storage.open()))).toContainEqual(["corrupt", "ada"]);
  });

  test("7: the count of pending writes is lost: reading says so, repair counts again, and the question that waited is there", async () => {
    const saver = new TierSaver(storage.open());
    await agent(saver).invoke({ log: ["?"], note: "ask" }, on("ada"));
    const before = await readable(storage.open(), "ada");
    const { head } = await storage.open().peek({ threadId: "ada", namespace: "" });
    await client.hdel(hash("ada"), `c${String(encodeCheckpointKey("", head!))}`);
    await expect(saver.getTuple(on("ada"))).rejects.toMatchObject({ code: "CORRUPT" });
    const report = await verified(storage.open());
    expect(kindsOf(report)).toEqual([["corrupt", "ada"]]);
    expect(outcomesOf(await repaired(storage.open(), report))).toEqual(["done"]);
    expect(await readable(storage.open(), "ada")).toEqual(before);
    expect((await verified(storage.open())).findings).toEqual([]);
  });

  test.each([
    ["another", "adb"],
    ["no", undefined],
  ])("8: a thread that is kept under %s id is found, and gets its own back", async (_, id) => {
    const saver = new TierSaver(storage.open());
    await turns(saver, "ada", 1);
    const before = await readable(storage.open(), "ada");
    if (id === undefined) await client.hdel(hash("ada"), "id");
    else await client.hset(hash("ada"), "id", id);
    await expect(saver.getTuple(on("ada"))).rejects.toMatchObject({ code: "CORRUPT" });
    const report = await verified(storage.open());
    expect(kindsOf(report)).toEqual([["corrupt", "ada"]]);
    expect(outcomesOf(await repaired(storage.open(), report))).toEqual(["done"]);
    expect(await readable(storage.open(), "ada")).toEqual(before);
  });
});

describe("a folder", () => {
  let path: string;
  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), "stratigraph-stories-"));
  });
  afterEach(() => rm(path, { recursive: true, force: true }));

  test("9: a head is gone while packs lie there, another is a different thread's: both threads are found", async () => {
    const saver = new TierSaver(folder({ path }));
    for (const threadId of ["ada", "bob", "eve"])
      await agent(saver).invoke({ log: [randomBytes(100_000).toString("base64")], note: "" }, on(threadId));
    await saver.end();
    const files = await readdir(join(path, "ada"));
    expect(files.filter((name) => name.endsWith(".pack"))).not.toEqual([]);
    await rm(join(path, "ada", "head"));
    const old = new Date(Date.now() - 3_600_000);
    for (const name of files) if (name !== "head") await utimes(join(path, "ada", name), old, old);
    await copyFile(join(path, "eve", "head"), join(path, "bob", "head"));
    const report = await verified(folder({ path }));
    expect(kindsOf(report)).toEqual([
      ["corrupt", "bob"],
      ["lost-thread", "ada"],
    ]);
    const outcome = await repaired(folder({ path }), report, { apply: true, prune: true });
    expect(outcomesOf(outcome).sort()).toEqual(["impossible", "impossible"]);
    expect(JSON.stringify(outcome)).toContain("the object ada/head");
    expect((await readdir(join(path, "ada"))).length).toBe(files.length - 1);
  });
});

test("11: an archive that was set back is named; the head goes back to what it has, and the next turn goes on", async () => {
  const [warm, cold] = [new MemoryTier(), setBackTier()];
  const open = () => new TieredSaver({ warm, cold: new FaultyTier(cold, "bucket") });
  const archive = (): Promise<unknown> =>
    runOperation(operationNamed("archive"), { thread: ["ada"] }, testContext(open()));
  await turns(open(), "ada", 1);
  await archive();
  const before = await readable(open().tier, "ada");
  const { mark } = cold;
  await turns(open(), "ada", 1);
  await archive();
  await cold.setBack(mark);
  await expect(readable(open().tier, "ada")).rejects.toMatchObject({ code: "EVICTED" });
  const report = await verified(open().tier);
  expect(kindsOf(report)).toEqual([
    ["wrong-head", "ada"],
    ["gap", "ada"],
  ]);
  expect(report.findings[0]!.meaning).toContain("The head was archived, and tier bucket doesn't have it");
  const outcome = await repaired(open().tier, report, { apply: true, prune: true });
  expect(outcomesOf(outcome)).toEqual(["done", "done"]);
  expect(await readable(open().tier, "ada")).toEqual(before);
  await turns(open(), "ada", 1);
  await archive();
  expect((await readable(open().tier, "ada")).length).toBeGreaterThan(before.length);
  expect((await verified(open().tier)).findings).toEqual([]);
});

test("12: an archive that was away when a thread was deleted has its former life: it is told, and maintenance deletes it", async () => {
  const [warm, cold] = [new MemoryTier(), new FaultyTier(new MemoryTier(), "bucket")];
  const open = () => new TieredSaver({ warm, cold });
  await turns(open(), "ada", 2);
  await runOperation(operationNamed("archive"), { thread: ["ada"] }, testContext(open()));
  const heal = cold.failWhen(() => new StratigraphError("UNAVAILABLE", "away"));
  await open().deleteThread("ada");
  heal();
  await turns(open(), "ada", 1);
  const before = await readable(open().tier, "ada");
  const report = await verified(open().tier);
  expect(report.findings).toMatchObject([
    { kind: "orphan", severity: "info", part: "thread", tier: "bucket", thread: "ada" },
  ]);
  expect(outcomesOf(await repaired(open().tier, report, { apply: true, prune: true }))).toEqual([
    "impossible",
  ]);
  expect(await readable(open().tier, "ada")).toEqual(before);
  await open().maintain();
  expect((await verified(open().tier)).findings).toEqual([]);
  expect(await readable(open().tier, "ada")).toEqual(before);
});

test("13: a database that was set back to before its archive was begun has no former life there", async () => {
  const [warm, cold] = [setBackTier(), new MemoryTier()];
  const open = () => new TieredSaver({ warm, cold });
  await turns(open(), "ada", 2);
  const { mark } = warm;
  await runOperation(operationNamed("archive"), { thread: ["ada"] }, testContext(open()));
  await warm.setBack(mark);
  expect((await verified(open().tier)).findings).toEqual([]);
});

test("10: a head that nobody can read isn't said to be gone on from", async () => {
  const tier = new MemoryTier();
  await turns(new TierSaver(tier), "ada", 1);
  const { coder } = new TierSaver(tier);
  vi.spyOn(Object.getPrototypeOf(coder) as typeof coder, "decodeBody").mockImplementation(async (record) => {
    throw new CorruptionError(record, "another key");
  });
  try {
    const { results } = await repaired(tier, await verified(tier), { apply: true, prune: true });
    expect(results.length).toBeGreaterThan(3);
    for (const { outcome, action } of results) {
      expect(outcome).toBe("impossible");
      expect(action).toContain("Neither the head of this thread can be read");
      expect(action).toContain("encryption keys");
    }
  } finally {
    vi.restoreAllMocks();
  }
});

test("owners are paired with their tiers by what they are, whatever their order", () => {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const stack = new TierStack({ warm, cold });
  const { owners } = stack;
  stack.owners = () => owners.call(stack).toReversed();
  for (const { tier, changes } of storageOf(new TierSaver(stack)).owners) {
    const changed = changes as { readonly of?: Tier };
    expect(changed.of ?? changes).toBe(tier);
  }
});

test("one thread that can't be verified at all is told, and the others are verified", async () => {
  const inner = new MemoryTier();
  for (const threadId of ["ada", "bob", "eve"]) await turns(new TierSaver(inner), threadId, 1);
  const tier = new FaultyTier(inner);
  tier.failWhen(({ method, args }) =>
    method === "peek" && (args[0] as { threadId: string }).threadId === "bob"
      ? new CorruptionError({ threadId: "bob", namespace: "", checkpointId: "c" }, "damaged")
      : undefined,
  );
  const strayed = async (threadId: string) => {
    const found = await inner.inspect(threadId);
    return { ...found!, strays: [{ threadId, namespace: "", checkpointId: "gone" }] };
  };
  Object.assign(tier, { inspect: strayed });
  const report = await verified(tier);
  expect(report.totals.threads).toBe(3);
  expect(kindsOf(report)).toEqual([["corrupt", "bob"]]);
  expect(outcomesOf(await repaired(tier, report, { apply: true, prune: true }))).toEqual(["impossible"]);
});

test("one thread that can't be verified again, as it was written to meanwhile, is told, and the others are verified", async () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  for (const threadId of ["ada", "bob", "eve"]) await turns(saver, threadId, 1);
  const { revision, head } = await tier.peek({ threadId: "bob", namespace: "" });
  const spare = { hash: "ab".repeat(20), bytes: Buffer.from("spare") };
  const nothing = { checkpoints: [], dropBlobs: [], heads: [] };
  await tier.remove({ threadId: "bob", revision, replaceBlobs: [spare], ...nothing });
  const blobs = tier.blobs.bind(tier);
  let looks = 0;
  tier.blobs = async (threadId) => {
    if (threadId !== "bob") return await blobs(threadId);
    looks += 1;
    if (looks > 1) throw new CorruptionError({ threadId, namespace: "", checkpointId: head! }, "damaged");
    const config = { configurable: { thread_id: threadId, checkpoint_ns: "", checkpoint_id: head! } };
    await saver.putWrites(config, [["log", ["late"]]], "task");
    return await blobs(threadId);
  };
  const report = await verified(tier);
  expect(looks).toBe(2);
  expect(report.totals.threads).toBe(3);
  expect(kindsOf(report)).toEqual([["corrupt", "bob"]]);
});
