import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { postgres, PostgresSaver } from "@stratigraph/postgres";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { describe, expect, onTestFinished, test } from "vitest";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { chat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { openStack } from "../../../../features/branch/test/support/stack.ts";
import { hostileId, ran } from "./support/ran.ts";

const day = 86_400_000;

async function say(saver: TierSaver, id: string, turns = 1): Promise<void> {
  for (let n = 0; n < turns; n += 1)
    await chat(saver).invoke({ messages: [human(`${n} ${crypto.randomUUID().repeat(20)}`)] }, on(id));
}

describe("setup", () => {
  test("prints SQL that sets the schema up, or does it", async () => {
    const [printed, done] = await Promise.all([freshDatabase(), freshDatabase()]);
    onTestFinished(async () => void (await Promise.all([printed.drop(), done.drop()])));
    const one = PostgresSaver.fromConnString(printed.url);
    onTestFinished(() => one.end());
    const dry = await ran("setup", { dryRun: true }, one);
    await expect(one.getTuple(on("a"))).rejects.toMatchObject({ code: "NOT_SET_UP" });
    // What is printed can be piped into psql.
    await query(printed.url, dry.text);
    await one.setup({ verifyOnly: true });
    const other = PostgresSaver.fromConnString(done.url);
    onTestFinished(() => other.end());
    expect((await ran("setup", {}, other)).text).toBe("postgres (warm) is set up.");
    await other.setup({ verifyOnly: true });
  });

  test("in a schema that was made for a role which may only create tables", async () => {
    const database = await freshDatabase();
    const role = `app_${new URL(database.url).pathname.slice(1)}`;
    await query(database.url, `create role ${role} login; create schema mine`);
    onTestFinished(async () => {
      await query(database.url, `drop owned by ${role} cascade; drop role ${role}`);
      await database.drop();
    });
    const login = new URL(database.url);
    login.username = role;
    const saver = PostgresSaver.fromConnString(login.href, { schema: "mine" });
    onTestFinished(() => saver.end());
    const statement = `grant usage, create on schema "mine" to "${role}";`;
    await expect(ran("setup", {}, saver)).rejects.toThrow(statement);
    const advice = (await saver.tier.diagnose({ role: "warm", timeoutMs: 30_000, write: false })).find(
      ({ check }) => check === "schema",
    );
    expect(advice).toMatchObject({ status: "problem", advice: `${statement} and then: stratigraph setup` });
    await query(database.url, statement);
    expect((await ran("setup", {}, saver)).text).toBe("postgres (warm) is set up.");
    await say(saver, "works");
  });

  test("of a stack, every part; in a schema that exists", async () => {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    await query(database.url, "create schema mine");
    const saver = new TieredSaver({
      hot: new MemoryTier(),
      warm: postgres({ url: database.url, schema: "mine" }),
    });
    onTestFinished(() => saver.end());
    const dry = await ran("setup", { dryRun: true, existingSchema: true }, saver);
    expect(dry.text).toMatch(/^-- memory \(hot\): nothing is created by SQL\.\n-- postgres \(warm\)\n/);
    expect(dry.text).not.toContain("create schema");
    await ran("setup", { existingSchema: true }, saver);
    await say(saver, "works");
  });
});

interface Maintained {
  readonly runs: number;
  readonly skipped: number;
  readonly steps: number;
  readonly failed: number;
  readonly bytes: number;
  readonly errors: readonly string[];
  readonly items: readonly { readonly what: string; readonly thread?: string; readonly freed?: number }[];
}

describe("maintain", () => {
  function aged() {
    const clock = { nowMs: Date.now() - 40 * day };
    const tier = new FaultyTier(new MemoryTier(() => clock.nowMs));
    const saver = new TierSaver(tier, { deleteAfter: "30d", keepLast: 2, pause: "0ms" });
    onTestFinished(() => saver.end());
    return { clock, tier, saver };
  }

  test("tells what is due, with bytes, and does it once", async () => {
    const { clock, saver } = aged();
    await say(saver, hostileId);
    clock.nowMs += 40 * day;
    await say(saver, "long", 3);
    const plan = await ran<Maintained>("maintain", { dryRun: true }, saver);
    expect(plan.output.items.map(({ what }) => what)).toEqual(["delete", "prune"]);
    expect(plan.output.items.map(({ freed }) => freed! > 100)).toEqual([true, true]);
    expect(plan.text).toContain("Nothing was changed.");
    const { output, text } = await ran<Maintained>("maintain", {}, saver);
    expect(output).toMatchObject({ runs: 1, steps: 2, failed: 0 });
    expect(text).toMatch(/^prune +long +7 checkpoints/m);
    expect((await saver.listThreads()).threads.map(({ threadId }) => threadId)).toEqual(["long"]);
    expect((await ran("maintain", {}, saver)).text).toBe("Nothing was due.");
  });

  test("as a worker it goes on until it is told to end, also after an outage", async () => {
    const { clock, tier, saver } = aged();
    await say(saver, "a");
    clock.nowMs += 40 * day;
    tier.failNext("threads", new Error("away"));
    const abort = new AbortController();
    let runs = 0;
    const onProgress = (): void => {
      runs += 1;
      if (runs === 4) abort.abort();
    };
    const given = { signal: abort.signal, onProgress };
    const { output, found } = await ran<Maintained>("maintain", { every: "5ms" }, saver, given);
    expect(output.runs + output.errors.length).toBe(4);
    expect(output.errors).toEqual(["away"]);
    expect(found).toBe(true);
    expect((await saver.listThreads()).threads).toEqual([]);
    const dry = await ran<Maintained>("maintain", { every: "5ms", dryRun: true }, saver);
    expect(dry.output).toMatchObject({ dryRun: true, runs: 1 });
    await expect(ran("maintain", { every: "90d" }, saver)).rejects.toThrow("at most 24d");
  });

  test("a step that failed is found", async () => {
    const { clock, tier, saver } = aged();
    await say(saver, "a");
    clock.nowMs += 40 * day;
    tier.failNext("deleteUnchanged", new Error("broken"));
    const { found, text } = await ran("maintain", {}, saver);
    expect(found).toBe(true);
    expect(text).toContain("FAILED: broken");
  });
});

interface Moved {
  readonly threads: number;
  readonly checkpoints: number;
  readonly bytes: number;
  readonly failed: number;
  readonly items: readonly { readonly thread: string; readonly done: boolean; readonly note?: string }[];
}

describe("archive and restore", { timeout: 120_000 }, () => {
  test("move threads of redis>postgres>s3 there and back", async () => {
    const stack = await openStack();
    onTestFinished(() => stack.close());
    const [{ saver, warm }, { saver: other }] = [await stack.open(), await stack.open()];
    for (const id of [hostileId, "b"]) await say(saver, id, 2);
    const { values } = await chat(saver).getState(on(hostileId));
    const plan = await ran<Moved>("archive", { thread: [hostileId, "b", "nobody"], dryRun: true }, saver);
    expect(plan.output).toMatchObject({ threads: 2, checkpoints: 12 });
    expect(await warm.blobs(hostileId)).not.toEqual([]);
    const { output, text } = await ran<Moved>("archive", { thread: [hostileId, "b", "nobody"] }, saver);
    expect(output).toMatchObject({ threads: 2, checkpoints: 12, bytes: plan.output.bytes, failed: 0 });
    expect(output.items.map(({ done }) => done)).toEqual([true, true, false]);
    expect(text).toContain("archived already, or not there");
    expect(await warm.blobs(hostileId)).toEqual([]);
    const back = await ran<Moved>("restore", { thread: [hostileId] }, other);
    expect(back.output).toMatchObject({ threads: 1, checkpoints: 6 });
    let count = 0;
    for await (const _ of warm.list({ threadId: hostileId })) count += 1;
    expect(count).toBeGreaterThanOrEqual(6);
    expect((await chat(other).getState(on(hostileId))).values).toEqual(values);
    expect((await ran<Moved>("restore", { thread: hostileId }, saver)).output.items).toMatchObject([
      { note: "all of it was restored before" },
    ]);
    // The archive is there still, and takes the thread again after it went on.
    await say(other, hostileId);
    expect((await ran<Moved>("archive", { thread: hostileId }, saver)).output).toMatchObject({
      threads: 1,
      checkpoints: 9,
    });
    expect((await chat(saver).getState(on(hostileId))).values.sum).toBe(3);
  });

  test("by age, only those that aren't archived yet", async () => {
    const clock = { nowMs: Date.now() - 40 * day };
    const saver = new TieredSaver({
      warm: new MemoryTier(() => clock.nowMs),
      cold: new MemoryTier(),
      restoreOn: "never",
    });
    onTestFinished(() => saver.end());
    await say(saver, "old");
    clock.nowMs += 40 * day;
    await say(saver, "young");
    const first = await ran<Moved>("archive", { olderThan: "30d" }, saver);
    expect(first.output.items).toMatchObject([{ thread: "old", done: true }]);
    expect((await ran<Moved>("archive", { olderThan: "30d" }, saver)).output.items).toEqual([]);
  });

  test("a thread that was written to meanwhile isn't archived", async () => {
    const warm = new FaultyTier(new MemoryTier());
    const saver = new TieredSaver({ warm, cold: new MemoryTier() });
    onTestFinished(() => saver.end());
    await say(saver, "a");
    const { evict } = warm;
    Object.assign(warm, {
      evict: async (id: string, revision: number) => await evict.call(warm, id, revision - 1),
    });
    expect((await ran<Moved>("archive", { thread: "a" }, saver)).output).toMatchObject({
      threads: 0,
      items: [{ done: false, note: "it wasn't archived, because it was written to meanwhile" }],
    });
  });

  test("a storage without an archive says so, and an archive that is away is an error", async () => {
    for (const name of ["archive", "restore"])
      await expect(ran(name, { thread: "a" }, new MemorySaver())).rejects.toMatchObject({
        code: "MISCONFIGURED",
        message: expect.stringContaining("has no archive. Name a cold tier"),
      });
    const cold = new FaultyTier(new MemoryTier(), "cold");
    const saver = new TieredSaver({ warm: new MemoryTier(), cold });
    await say(saver, "a");
    await ran("archive", { thread: "a" }, saver);
    cold.failNext("list", Object.assign(new Error("away"), { code: "ECONNREFUSED" }));
    await expect(ran("restore", { thread: "a" }, saver)).rejects.toMatchObject({
      code: "ARCHIVE_UNAVAILABLE",
    });
    expect((await ran<Moved>("restore", { thread: "a" }, saver)).output).toMatchObject({ threads: 1 });
  });
});

test("keys and reencrypt change the key of all threads, a batch at a time", async () => {
  const tier = new MemoryTier();
  const plain = new TierSaver(tier);
  for (let n = 0; n < 13; n += 1) await say(plain, n === 0 ? hostileId : `t${n}`);
  await plain.store().put(["a"], "k", { n: 1 });
  const [old] = (await ran<{ items: { key?: string; threads: number }[] }>("keys", {}, plain)).output.items;
  expect(old).toMatchObject({ threads: 13 });
  expect(old).not.toHaveProperty("key");
  const saver = new TierSaver(tier, {
    encryption: { keys: { new: Buffer.alloc(32, 1) }, activeKey: "new", hashKey: Buffer.alloc(32, 2) },
  });
  const abort = new AbortController();
  const given = { signal: abort.signal, onProgress: () => abort.abort() };
  const first = await ran<{ cursor: string; threads: number }>("reencrypt", {}, saver, given);
  expect(first.output).toMatchObject({ complete: false, threads: 10, failures: 0 });
  const rest = await ran("reencrypt", { cursor: first.output.cursor }, saver);
  expect(rest.output).toMatchObject({ complete: true, threads: 3, storeItems: 1 });
  expect(rest.text).toContain("stratigraph keys");
  const { output, text } = await ran("keys", {}, plain);
  expect(output).toMatchObject({ items: [{ key: "new", threads: 13, checkpoints: 39, storeItems: 1 }] });
  expect(text).toMatch(/^new +13 +39 .* 1$/m);
  await expect(ran("reencrypt", {}, plain)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  const encryption = {
    keys: { other: Buffer.alloc(32, 3) },
    activeKey: "other",
    hashKey: Buffer.alloc(32, 2),
  };
  const failed = await ran("reencrypt", {}, new TierSaver(tier, { encryption }));
  expect(failed.output).toMatchObject({ failures: 14 });
  expect(failed.text).toMatch(/^FAILED Item "k" of namespace \["a"\]: /m);
});
