import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PackTier } from "../src/index.ts";
import { FolderStore } from "../src/internal.ts";
import { Disk } from "./support/disk.ts";
import { put } from "./support/puts.ts";

// What a folder acknowledges is on the disk: a power failure right after the answer takes nothing away, and brings nothing back.

let root: string;
let path: string;
let disk: Disk;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "stratigraph-power-"));
  path = join(root, "in", "a new folder");
  disk = new Disk(root);
});
afterEach(async () => {
  disk.close();
  await rm(root, { recursive: true });
});

const conditions = [
  ["without a condition", undefined],
  ["if there is none", { ifNoneMatch: "*" }],
] as const;

test.each(conditions)("a put %s is kept, with every folder that was made for it", async (_, condition) => {
  const store = new FolderStore(path);
  const file = join(path, "thread", "object");
  expect(await store.put("thread/object", Buffer.from("content"), condition)).toBeDefined();
  expect([disk.keeps(file), disk.namedTooEarly]).toEqual([true, []]);
  // Another object in the same folder: the folder is there, and its new name has to be kept.
  await store.put("thread/object 2", Buffer.from("content"), condition);
  expect(disk.keeps(join(path, "thread", "object 2"))).toBe(true);
  await store.end();
});

test("a put that replaces an object is kept", async () => {
  const store = new FolderStore(path);
  const file = join(path, "thread", "head");
  const ifMatch = (await store.put("thread/head", Buffer.from("one")))!;
  expect(await store.put("thread/head", Buffer.from("two"), { ifMatch })).toBeDefined();
  expect([disk.keeps(file), disk.namedTooEarly]).toEqual([true, []]);
  await store.end();
});

test("an object that was deleted doesn't come back", async () => {
  const store = new FolderStore(path);
  const keys = ["thread/a", "thread/b", "other/c"];
  for (const key of keys) await store.put(key, Buffer.from("content"));
  await store.delete(keys.slice(0, 2));
  expect(keys.map((key) => disk.knows(join(path, key)))).toEqual([false, false, true]);
  const etag = (await store.put("other/d", Buffer.from("content")))!;
  expect(await store.deleteIf("other/d", etag)).toBe(true);
  expect([disk.knows(join(path, "other/d")), disk.keeps(join(path, "other/c"))]).toEqual([false, true]);
  await store.end();
});

test("an archived thread is kept, packs and head, before the archiver is told so", async () => {
  const tier = new PackTier(new FolderStore(path));
  await tier.append({ ...put("thread", "a", undefined, 90_000), onConflict: "refuse" });
  const packs: string[] = [];
  for await (const { key } of new FolderStore(path).list("")) packs.push(key);
  expect(packs).toHaveLength(2);
  for (const key of packs) expect([key, disk.keeps(join(path, key))]).toEqual([key, true]);
  expect(disk.namedTooEarly).toEqual([]);
  await tier.end();
});
