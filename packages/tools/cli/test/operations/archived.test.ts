import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { MemoryTier } from "@stratigraph/core";
import { operations } from "../../src/operations/index.ts";
import { createJournal } from "@stratigraph/journal";
import { postgres } from "@stratigraph/postgres";
import { folder } from "@stratigraph/s3";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, onTestFinished, test } from "vitest";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { chat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { ran } from "./support/ran.ts";
import { temporaryFolder } from "./support/temporaryFolder.ts";

/** Methods of a tier that change nothing in it. */
const looks = new Set(["read", "peek", "list", "threads", "blobs", "ancestry", "outline", "threadTags"]);
for (const each of ["ping", "diagnose", "tombstones", "strays", "inspect", "leftovers"]) looks.add(each);

/** A stack whose thread "old" is archived, and "young" isn't. */
async function stack() {
  const tiers = ["hot", "warm", "cold"].map((name) => new FaultyTier(new MemoryTier(), name));
  const [hot, warm, cold] = tiers as [FaultyTier, FaultyTier, FaultyTier];
  const saver = new TieredSaver({ hot, warm, cold, archiveAfter: "7d" });
  onTestFinished(() => saver.end());
  for (const id of ["old", "young"])
    for (const text of ["a", "b"]) await chat(saver).invoke({ messages: [human(text)] }, on(id));
  await saver.tier.archiveThread!("old", async () => undefined);
  await saver.tier.dropCopies("young");
  await saver.tier.idle();
  const isArchived = async (): Promise<boolean> =>
    (await warm.inner.read({ threadId: "old", namespace: "" })).checkpoint === undefined;
  for (const tier of tiers) tier.reset();
  const changes = async (): Promise<string[]> => {
    await saver.tier.idle();
    return tiers.flatMap(({ name, calls }) =>
      calls.filter(({ method }) => !looks.has(method)).map(({ method }) => `${name}.${method}`),
    );
  };
  return { saver, warm, tiers, isArchived, changes };
}

/** An input of every operation that reads. */
const inputs: Readonly<Record<string, readonly object[]>> = {
  threads: [{}, { details: true }, { status: "idle" }],
  inbox: [{}],
  glance: [{ threads: ["old", "young"] }],
  history: [{ thread: "old" }, { thread: "young" }],
  show: [{ at: "old" }, { at: "young" }, { at: "old", channel: "messages" }],
  subagents: [{ thread: "old" }],
  writes: [{ at: "old" }],
  diff: [{ from: "old", to: "young" }],
  blame: [{ at: "old", path: "messages[0].content" }],
  compare: [{ threads: ["old", "young"] }],
  conflicts: [{}],
  stats: [{}, { thread: "old" }],
  keys: [{}],
  calls: [{ thread: "old" }],
  questions: [{ thread: "old" }, {}],
  why: [{ thread: "old" }],
  audit: [{ thread: "old" }],
  verify: [{}],
  doctor: [{}],
  health: [{}],
};

// Those of workspaces read no thread, and these tiers keep no workspaces.
const reading = operations
  .filter(({ name, effect }) => effect === "read" && !name.startsWith("workspace-"))
  .map(({ name }) => name);

test("an archived thread was written when its head was, not when it was archived; without its archive nothing says that it is empty", async () => {
  const { saver, warm } = await stack();
  const written = (await saver.getTuple(on("young")))!.checkpoint.ts;
  const {
    output: { items },
  } = await ran<{ items: { thread: string; writtenAt: string; archivedAt?: string }[] }>(
    "threads",
    { order: "oldest" },
    saver,
  );
  const old = items.find(({ thread }) => thread === "old")!;
  expect(Date.parse(old.writtenAt)).toBeLessThan(Date.parse(written));
  expect(Date.parse(old.archivedAt!)).toBeGreaterThanOrEqual(Date.parse(old.writtenAt));
  expect(items.find(({ thread }) => thread === "young")).not.toHaveProperty("archivedAt");
  const alone = new TieredSaver({ warm });
  const point = (await saver.tier.peek({ threadId: "old", namespace: "" })).head!;
  for (const [name, input] of [
    ["history", { thread: "old" }],
    ["show", { at: "old" }],
    ["show", { at: "old", checkpoint: point }],
  ] as const)
    await expect(ran(name, input, alone)).rejects.toMatchObject({ code: "EVICTED" });
});

test("a journal that was archived isn't empty, and isn't broken, without its archive: it is evicted", async () => {
  const { saver, warm } = await stack();
  const journal = createJournal(saver);
  await journal.run(on("paid"), { id: "pay" }, () => "receipt");
  await chat(saver).invoke({ messages: [human("a")] }, on("paid"));
  await journal.end();
  expect((await ran("audit", { thread: "paid" }, saver)).output).toMatchObject({ status: "verified" });
  await saver.tier.archiveThread!("paid", async () => undefined);
  await saver.tier.idle();
  const alone = new TieredSaver({ warm });
  await expect(createJournal(alone).verify("paid")).rejects.toMatchObject({ code: "EVICTED" });
  for (const name of ["audit", "calls", "questions", "why"])
    await expect(ran(name, { thread: "paid" }, alone), name).rejects.toMatchObject({ code: "EVICTED" });
});

test.each(reading)("%s changes no tier", async (name) => {
  const { saver, tiers, isArchived, changes } = await stack();
  expect(inputs[name], `an input of ${name}`).toBeDefined();
  for (const input of inputs[name]!) await ran(name, input, saver);
  expect(await changes()).toEqual([]);
  expect(tiers.some(({ calls }) => calls.length > 0)).toBe(true);
  expect(await isArchived()).toBe(true);
});

test("a dry run changes no tier, and what an application reads is restored as before", async () => {
  const { saver, isArchived, changes } = await stack();
  await ran("delete", { thread: ["old"], dryRun: true }, saver);
  await ran("merge", { thread: "young", from: ["old"], dryRun: true }, saver).catch(() => undefined);
  expect(await changes()).toEqual([]);
  await saver.getTuple(on("old"));
  await saver.getTuple(on("young"));
  expect(await isArchived()).toBe(false);
  expect(await changes()).toEqual(expect.arrayContaining(["warm.append", "hot.append"]));
});

test("looking at a thread that isn't here brings it from nowhere", async () => {
  const { saver } = await stack();
  const asked: string[] = [];
  const bring = async (_storage: object, id: string): Promise<boolean> => asked.push(id) < 0;
  saver.readThrough({ source: "elsewhere", bring, met: () => undefined, close: async () => undefined });
  for (const [name, given] of Object.entries(inputs))
    for (const input of given) {
      const there = JSON.parse(JSON.stringify(input).replaceAll(/"(?:old|young)"/g, '"elsewhere"')) as object;
      const failed: unknown = await ran(name, there, saver).catch((error: unknown) => error);
      if (failed instanceof Error) expect(failed, name).toMatchObject({ code: "NOT_FOUND" });
    }
  expect(asked).toEqual([]);
  await saver.getTuple(on("elsewhere"));
  expect(asked).toEqual(["elsewhere"]);
});

test("values of later writes that can only be read by restoring are an error while looking", async () => {
  const { saver, warm, isArchived } = await stack();
  const { head } = await warm.peek({ threadId: "old", namespace: "" });
  const config = { configurable: { thread_id: "old", checkpoint_ns: "", checkpoint_id: head! } };
  await saver.putWrites(config, [["messages", "z".repeat(100_000)]], "late");
  await expect(ran("history", { thread: "old" }, saver)).rejects.toMatchObject({ code: "EVICTED" });
  await expect(ran("show", { at: "old" }, saver)).rejects.toMatchObject({ code: "EVICTED" });
  expect(await isArchived()).toBe(true);
  await ran("restore", { thread: ["old"] }, saver);
  expect((await ran("show", { at: "old" }, saver)).text).toContain("messages");
});

test("with a role that may only SELECT, and a folder", async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const path = temporaryFolder();
  const open = (url: string): TieredSaver => {
    const saver = new TieredSaver({ warm: postgres({ url }), cold: folder({ path }), archiveAfter: "7d" });
    onTestFinished(() => saver.end());
    return saver;
  };
  const owner = open(database.url);
  await owner.setup();
  await chat(owner).invoke({ messages: [human("kept for an auditor")] }, on("old"));
  await owner.tier.archiveThread!("old", async () => undefined);
  const role = `auditor_${process.pid}_${Date.now()}`;
  await query(
    database.url,
    `create role ${role} login; grant usage on schema stratigraph to ${role};
     grant select on all tables in schema stratigraph to ${role}`,
  );
  onTestFinished(async () => void (await query(database.url, `drop owned by ${role}; drop role ${role}`)));
  const theirs = new URL(database.url);
  theirs.username = role;
  const files = (): string[] =>
    (readdirSync(path, { recursive: true }) as string[]).map(
      (name) => `${name} ${statSync(join(path, name)).mtimeMs}`,
    );
  const before = files();
  const auditor = open(theirs.href);
  expect((await ran("show", { at: "old" }, auditor)).text).toContain("kept for an auditor");
  expect((await ran("history", { thread: "old" }, auditor)).text).not.toBe("");
  expect((await ran("verify", {}, auditor)).output).toMatchObject({ complete: true, findings: [] });
  expect(files()).toEqual(before);
  expect((await owner.tier.owners()[0]!.list({ threadId: "old" })[Symbol.asyncIterator]().next()).done).toBe(
    true,
  );
});
