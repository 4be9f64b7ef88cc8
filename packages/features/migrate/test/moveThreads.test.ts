import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fork } from "@stratigraph/branch";
import { MemorySaver, MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { exportThreads, importThreads, moveThreads, saverSource, saverTarget } from "@stratigraph/migrate";
import { fileSource, fileTarget } from "@stratigraph/migrate/internal";
import { FolderSaver } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { lineage } from "stratigraph";
import { expect, onTestFinished, test } from "vitest";
import { waitUntil } from "../../../../test/servers/process.ts";
import { history, say } from "./support/conversation.ts";
import { tierWith } from "./support/tierWith.ts";

async function stored(from: MemorySaver | TieredSaver, threadId: string) {
  const found = [];
  for await (const { record, head, writes } of from.tier.list({ threadId }))
    found.push([record, head, writes.map(({ order: _order, ...batch }) => batch)]);
  return found;
}

test("forks' origins, tags, side branches and bytes come along; the source goes only when told", async () => {
  const options = { threadTags: ["user_id"] };
  const from = new MemorySaver(options);
  const to = new MemorySaver(options);
  await say(from, "ada", "One");
  const tier = from.tier as MemoryTier;
  await tier.tagThread("ada", [{ key: "user_id", value: "anna" }]);
  await fork(from, "ada", { to: "ada/2" });
  await say(from, "ada/2", "Two");
  const report = await moveThreads(from, to);
  expect(report).toMatchObject({ threads: 2, differences: [], verified: true });
  for (const id of ["ada", "ada/2"]) expect(await stored(to, id)).toEqual(await stored(from, id));
  expect(await lineage(to, "ada/2")).toEqual(await lineage(from, "ada/2"));
  expect(await (to.tier as MemoryTier).threadTags("ada")).toEqual([{ key: "user_id", value: "anna" }]);
  expect(await moveThreads(from, to, { source: "delete" })).toMatchObject({ skipped: 2, differences: [] });
  expect((await from.listThreads()).threads).toEqual([]);
  expect((await say(to, "ada/2", "Three")).length).toBe(6);
});

test("a thread that source and target keep in one place isn't deleted: the same saver, another one, a stack over it, its archive", async () => {
  const path = mkdtempSync(join(tmpdir(), "stratigraph-move-"));
  const folders: FolderSaver[] = [];
  const folder = (): FolderSaver => {
    folders.push(new FolderSaver({ path }));
    return folders.at(-1)!;
  };
  onTestFinished(async () => {
    for (const saver of folders) await saver.end();
    rmSync(path, { recursive: true, force: true });
  });
  const from = folder();
  await say(from, "ada", "One");
  const targets: [string, TierSaver][] = [
    ["itself", from],
    ["another saver of the folder", folder()],
    ["a stack on it", new TieredSaver({ hot: new MemoryTier(), warm: folder().tier })],
    ["a stack whose archive it is", new TieredSaver({ warm: new MemoryTier(), cold: folder().tier })],
  ];
  for (const [what, to] of targets) {
    await expect(moveThreads(from, to, { source: "delete" }), what).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("in one place"),
    });
    expect((await from.listThreads()).threads, what).toHaveLength(1);
    expect((await history(folder(), "ada")).length, what).toBe(3);
  }
  const elsewhere = new MemorySaver();
  expect(await moveThreads(from, elsewhere, { source: "delete" })).toMatchObject({ differences: [] });
  expect((await from.listThreads()).threads).toEqual([]);
  expect((await history(elsewhere, "ada")).length).toBe(3);
});

test("from a folder: what was put while the copy was compared stays, and a tier that couldn't keep it is refused", async () => {
  const path = mkdtempSync(join(tmpdir(), "stratigraph-move-"));
  const from = new FolderSaver({ path });
  onTestFinished(async () => {
    await from.end();
    rmSync(path, { recursive: true, force: true });
  });
  await say(from, "ada", "One");
  const target = new MemoryTier();
  let lists = 0;
  const to = new TierSaver(
    tierWith(target, {
      list: async function* (query: Parameters<Tier["list"]>[0]) {
        // The first listing compares what was copied.
        if (lists++ === 0) await say(from, "ada", "Two");
        yield* target.list(query);
      },
    }),
  );
  const report = await moveThreads(from, to, { source: "delete" });
  expect(report.differences).toMatchObject([{ what: expect.stringContaining("repeat the move") }]);
  expect(await history(from, "ada")).toHaveLength(6);
  expect((await moveThreads(from, to, { source: "delete" })).differences).toEqual([]);
  expect(await history(to, "ada")).toHaveLength(6);
  expect(await history(from, "ada")).toEqual([]);
  const narrow = new TierSaver(tierWith(from.tier, { deleteUnchanged: undefined }));
  await expect(moveThreads(narrow, to, { source: "delete" })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    data: { field: "source" },
  });
});

test("damage in the copy is found; deleting without a comparison is refused", async () => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  await say(from, "ada", "One");
  await moveThreads(from, to);
  const { checkpoint } = await to.tier.read({ threadId: "ada", namespace: "" });
  const record = { ...checkpoint!.record, body: new Uint8Array([1, 2, 3]) };
  await to.tier.append({ threadId: "ada", records: [record], blobs: [], heads: [], onConflict: "refuse" });
  const { differences: unread } = await moveThreads(from, to, { source: "delete" });
  expect(unread).toMatchObject([{ threadId: "ada", checkpointId: record.checkpointId }]);
  expect((await from.listThreads()).threads.length).toBe(1);
  await expect(moveThreads(from, to, { source: "delete", verify: false })).rejects.toThrow("verified");
  const elsewhere = new MemorySaver();
  const tuple = (await from.getTuple({ configurable: { thread_id: "ada" } }))!;
  const versions = tuple.checkpoint.channel_versions;
  await elsewhere.put(tuple.parentConfig!, tuple.checkpoint, { ...tuple.metadata!, step: 99 }, versions);
  const { body } = (await elsewhere.tier.read({ threadId: "ada", namespace: "" })).checkpoint!.record;
  for (const change of [{ terms: [7] }, { body }]) {
    const other = { ...checkpoint!.record, ...change };
    await to.tier.append({ threadId: "ada", records: [other], blobs: [], heads: [], onConflict: "refuse" });
    const { differences } = await moveThreads(from, to, { source: "delete" });
    expect(differences).toMatchObject([{ threadId: "ada", checkpointId: other.checkpointId }]);
  }
  expect((await from.listThreads()).threads.length).toBe(1);
});

test("a thread that went on in both storages is told, and stays as it is in each", async () => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  await say(from, "ada", "One");
  await moveThreads(from, to);
  await say(from, "ada", "Two");
  await say(to, "ada", "Three");
  const before = [await stored(from, "ada"), await stored(to, "ada")];
  const report = await moveThreads(from, to, { source: "delete" });
  expect(report).toMatchObject({ diverged: ["ada"], checkpoints: 0 });
  expect([await stored(from, "ada"), await stored(to, "ada")]).toEqual(before);
});

test.each(["moves", "is imported from a file"])(
  "a pruned thread %s back to a storage from which it was moved away",
  async (how) => {
    const folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [home, away] = [new MemorySaver(), new MemorySaver()];
    for (const words of ["One", "Two"]) await say(home, "ada", words);
    await home.prune(["ada"], { strategy: "keep_latest" });
    const before = await history(home, "ada");
    await moveThreads(home, away, { source: "delete" });
    if (how === "moves") await moveThreads(away, home, { source: "delete" });
    else {
      const path = join(folder, "ada.jsonl");
      await exportThreads(away, fileTarget({ path }));
      expect(await importThreads(fileSource({ path }), home)).toMatchObject({ differences: [] });
    }
    expect(await history(home, "ada")).toEqual(before);
    expect((await say(home, "ada", "Three")).length).toBe(6);
  },
);

test("a copy that was re-encrypted since is the same thread: a repeated move finds no difference", async () => {
  const keys = { "1": new Uint8Array(32).fill(1), "2": new Uint8Array(32).fill(2) };
  const encryption = (activeKey: "1" | "2") => ({ keys, activeKey, hashKey: new Uint8Array(32).fill(3) });
  const [from, to] = [
    new MemorySaver({ encryption: encryption("1") }),
    new MemorySaver({ encryption: encryption("2") }),
  ];
  for (const words of ["One", "Two"]) await say(from, "ada", words);
  await moveThreads(from, to);
  await to.reencrypt();
  expect(await moveThreads(from, to)).toMatchObject({ differences: [], skipped: 1 });
  expect(await moveThreads(from, to, { source: "delete" })).toMatchObject({ differences: [] });
  expect((await say(to, "ada", "Three")).length).toBe(6);
});

test("archived threads come along where the archive is there, and are told where it isn't", async () => {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const stack = new TieredSaver({ warm, cold, archiveAfter: "1ms" });
  await say(stack as never, "ada", "One");
  await waitUntil("archiving", async () => (await stack.maintain()).steps.length > 0);
  const before = await history(stack, "ada");
  const alone = new TieredSaver({ warm });
  const report = await moveThreads(alone, new MemorySaver());
  expect(report.differences.map(({ what }) => what)).toEqual([expect.stringContaining("its archive")]);
  const exported = await exportThreads(
    alone,
    fileTarget({ path: join(tmpdir(), `stratigraph-${process.pid}.jsonl`) }),
  );
  expect(exported.differences.length).toBe(1);
  const to = new MemorySaver();
  expect(await moveThreads(stack, to)).toMatchObject({ threads: 1, differences: [] });
  expect(await history(to, "ada")).toEqual(before);
});

test("a named thread that the source doesn't have is told by every copy, unless an earlier move took it", async () => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  await say(from, "ada", "One");
  const options = { threadIds: ["nobody", "ada"] };
  const told = { threads: 2, differences: [{ threadId: "nobody", what: "the source has no such thread" }] };
  expect(await exportThreads(from, saverTarget(new MemorySaver()), options)).toMatchObject(told);
  expect(await importThreads(saverSource(from), new MemorySaver(), options)).toMatchObject(told);
  expect(await moveThreads(from, to, { ...options, source: "delete" })).toMatchObject(told);
  expect(await moveThreads(from, to, options)).toMatchObject({ ...told, skipped: 1 });
});
