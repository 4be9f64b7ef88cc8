import { existsSync } from "node:fs";
import { link, mkdir, mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Tier } from "@stratigraph/core";
import type { ListedObject, ObjectStore } from "../src/objectStore.ts";
import { PackTier, s3 } from "../src/index.ts";
import { FolderStore } from "../src/internal.ts";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";
import { openBucket } from "./support/bucket.ts";
import { put } from "./support/puts.ts";
import { allRounds } from "../../../../test/rounds.ts";

// What writers that died and deletions leave, and what a sweep leaves alone.

// After the support files, which choose how the SDK is loaded.
const { awsObjectStore } = await import("../src/aws.ts");
let open: Awaited<ReturnType<typeof openBucket>>;
let path: string;
beforeAll(async () => {
  open = await openBucket();
});
beforeEach(async () => {
  path = await mkdtemp(join(fastFolder(), "stratigraph-sweep-"));
});
afterEach(() => rm(path, { recursive: true, force: true }));
afterAll(() => open.close());

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

async function age(key: string, ms: number): Promise<void> {
  const at = new Date(Date.now() - ms);
  await utimes(join(path, key), at, at);
}

async function keysOf(store: ObjectStore, after?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list("", after)) keys.push(key);
  return keys;
}

const early = (threadId: string) => ({
  ...{ threadId, namespace: "", checkpointId: "a", taskId: "task" },
  ...{ blobs: [], newBlobs: [], body: Buffer.from("b") },
});

test("packs that no head names go once they are old; named ones, young ones and those without a head stay", async () => {
  const store = new FolderStore(path);
  const tier = new PackTier(store);
  await tier.append(put("thread", "a", undefined, 90_000));
  const [, named] = (await keysOf(store)).sort().toReversed();
  const orphans = [
    "thread/000000000009-0-0.pack",
    "thread/000000000009-0-1.pack",
    "other/000000000001-0-0.pack",
  ];
  for (const key of orphans) await store.put(key, Buffer.from("left by a process that died"));
  for (const key of [named!, "thread/head", orphans[0]!, orphans[2]!]) await age(key, 2 * hourMs);
  expect(await tier.sweep(hourMs)).toBe(1);
  expect(await keysOf(store)).toEqual(
    ["other/000000000001-0-0.pack", named, orphans[1], "thread/head"].sort(),
  );
  expect((await tier.read({ threadId: "thread", namespace: "" })).checkpoint?.record.checkpointId).toBe("a");
  await tier.end();
});

test("tombstones go after a week with their folder, pending writes whose checkpoint never came at once; living threads stay", async () => {
  const store = new FolderStore(path);
  const tier = new PackTier(store);
  for (const id of ["deleted", "just-deleted", "living", "again"])
    await tier.append(put(id, "a", undefined, 100));
  for (const id of ["deleted", "just-deleted", "again"]) await tier.deleteThread(id);
  await tier.append(put("again", "b", undefined, 100));
  await tier.appendWrites(early("early"));
  await tier.appendWrites(early("just-early"));
  for (const id of ["deleted", "living", "again", "early"]) await age(`${id}/head`, 8 * dayMs);
  await age("just-deleted/head", 6 * dayMs);
  // A pack that is too young to go keeps the head, without which nobody would know that nothing names it.
  const young = "deleted/000000000001-0-0.pack";
  await store.put(young, Buffer.from("left by a process that died"));
  expect(await tier.sweep(hourMs)).toBe(1);
  await age(young, 2 * hourMs);
  expect(await tier.sweep(hourMs)).toBe(2);
  expect(await keysOf(store)).toEqual(["again/head", "just-deleted/head", "just-early/head", "living/head"]);
  // A thread's id may be a person's name.
  expect((await readdir(path)).includes("deleted")).toBe(false);
  expect(await tier.sweep(hourMs)).toBe(0);
  // The thread may be begun anew, also by who remembers its tombstone.
  await tier.append(put("deleted", "c", undefined, 100));
  expect((await new PackTier(store).peek({ threadId: "deleted", namespace: "" })).head).toBe("c");
  await tier.end();
});

test.each(["before it is read", "after it was read"])(
  "a thread begun anew %s is never taken for its tombstone",
  async (when) => {
    const store = new FolderStore(path);
    const tier = new PackTier(store);
    await tier.append(put("thread", "a", undefined, 100));
    await tier.deleteThread("thread");
    await age("thread/head", 8 * dayMs);
    const writer = new PackTier(store);
    let isAnew = false;
    const beginAnew = async (): Promise<void> => {
      if (isAnew) return;
      isAnew = true;
      await writer.append(put("thread", "b", undefined, 100));
      if (when === "before it is read") await writer.deleteThread("thread");
    };
    const racing: ObjectStore = {
      name: "racing",
      put: (...args) => store.put(...args),
      delete: (keys) => store.delete(keys),
      list: (...args): AsyncIterable<ListedObject> => store.list(...args),
      get: async (...args) => {
        if (when === "before it is read") await beginAnew();
        return await store.get(...args);
      },
      deleteIf: async (...args) => {
        await beginAnew();
        return await store.deleteIf(...args);
      },
    };
    expect(await new PackTier(racing).sweep(hourMs)).toBe(0);
    const { head, revision } = await writer.peek({ threadId: "thread", namespace: "" });
    // A deletion of a moment ago is still remembered.
    expect([head, revision > 0]).toEqual([when === "before it is read" ? undefined : "b", true]);
    await store.end();
  },
);

test.runIf(allRounds)("a call does a bounded part, and the next one goes on", async () => {
  const store = new FolderStore(path);
  const tier = new PackTier(store);
  await tier.append(put("t0", "a", undefined, 100));
  await tier.deleteThread("t0");
  await age("t0/head", 8 * dayMs);
  for (let n = 1; n < 1300; n += 1) {
    await mkdir(join(path, `t${n}`));
    await link(join(path, "t0", "head"), join(path, `t${n}`, "head"));
  }
  expect(await tier.sweep(hourMs)).toBe(1000);
  expect(await tier.sweep(hourMs)).toBe(300);
  expect(await keysOf(store)).toEqual([]);
  expect(existsSync(join(path, "t7"))).toBe(false);
  await tier.end();
});

test.each(["S3", "a folder"])("%s lists in the order of keys, and after a key", async (kind) => {
  const { client, bucket } = open;
  const store = kind === "S3" ? awsObjectStore({ client, bucket, prefix: "listed" }) : new FolderStore(path);
  const keys = ["a-b/head", "a.x/head", "a/0.pack", "a/head", "ab/head", "b/head"];
  for (const key of keys.toReversed()) await store.put(key, Buffer.from("x"));
  expect(await keysOf(store)).toEqual(keys);
  for (const [n, key] of keys.entries()) expect(await keysOf(store, key)).toEqual(keys.slice(n + 1));
  expect(await keysOf(store, "a0")).toEqual(["ab/head", "b/head"]);
});

describe("S3's condition on deleting", () => {
  const at = () => ({ bucket: open.bucket, prefix: `deleteIf ${Math.random()}` });

  test("a server that ignores it is found out, and nothing is deleted by it", async () => {
    const store = awsObjectStore({ client: open.client, ...at() });
    const etag = await store.put("t/head", Buffer.from("x"));
    const deleted = await store.deleteIf!("t/head", etag!);
    // Ceph 16 ignores it; a server that keeps it deletes.
    expect(await keysOf(store)).toEqual(deleted ? [] : ["t/head"]);
    expect(await store.deleteIf!("t/head", '"another"')).toBe(false);
  });

  test("where it is kept, the one that is named goes, and no other", async () => {
    // As AWS keeps it since 2025, which no server to be had here does.
    const { sdk } = await import("./support/sdk.ts");
    const keeping = {
      send: async (command: never) => {
        const { input } = command as { input: { Bucket: string; Key: string; IfMatch?: string } };
        if ((command as object) instanceof sdk.DeleteObjectCommand && input.IfMatch !== undefined) {
          const found = await open.client.send(
            new sdk.HeadObjectCommand({ Bucket: input.Bucket, Key: input.Key }),
          );
          if (found.ETag !== input.IfMatch)
            throw Object.assign(new Error("condition"), { $metadata: { httpStatusCode: 412 } });
        }
        return await open.client.send(command);
      },
    };
    const store = awsObjectStore({ client: keeping, ...at() });
    const etag = await store.put("t/head", Buffer.from("x"));
    expect(await store.deleteIf!("t/head", '"another"')).toBe(false);
    expect(await keysOf(store)).toEqual(["t/head"]);
    expect(await store.deleteIf!("t/head", etag!)).toBe(true);
    expect(await keysOf(store)).toEqual([]);
  });
});

test("on S3 what a writer left goes, and tombstones stay where the server can't delete on a condition", async () => {
  const options = { client: open.client, bucket: open.bucket, prefix: "swept" };
  const store = awsObjectStore(options);
  const tier: Tier & { sweep(olderThanMs: number): Promise<number> } = s3(options);
  await tier.append(put("thread", "a", undefined, 100));
  await store.put("thread/000000000009-0-0.pack", Buffer.from("left by a process that died"));
  expect(await tier.sweep(hourMs)).toBe(0);
  // S3 tells whole seconds.
  expect(await tier.sweep(-2000)).toBe(1);
  expect(await keysOf(store)).toEqual(["thread/head"]);
});

test("of several processes that delete the same file of a folder at once one does it, and none fails", async () => {
  const stores = Array.from({ length: 6 }, () => new FolderStore(path));
  for (let n = 0; n < 20; n += 1) {
    const etag = (await stores[0]!.put(`t${n}/head`, Buffer.from("head")))!;
    const deleted = await Promise.all(stores.map((store) => store.deleteIf(`t${n}/head`, etag)));
    expect(deleted.filter((isDeleted) => isDeleted)).toHaveLength(1);
  }
  for (const store of stores) await store.end();
});

test("leases that expired go once they are old; those that hold stay, and so do damaged ones that are young", async () => {
  const store = new FolderStore(path);
  const tier = new PackTier(store);
  await tier.append(put("thread", "a", undefined, 100));
  const keyOf = async (name: string, forMs: number): Promise<string> => {
    const before = new Set(await keysOf(store));
    expect(await tier.lease(name, "one", forMs)).toBe(true);
    return (await keysOf(store)).find((key) => !before.has(key))!;
  };
  const dead = await keyOf("dead", 1);
  const young = await keyOf("young", 1);
  const held = await keyOf("held", dayMs);
  const damaged = await keyOf("damaged", dayMs);
  await store.put(damaged, Buffer.from("{"));
  await store.put(dead, Buffer.from(JSON.stringify({ name: "dead", holder: "one", untilMs: 0 })));
  for (const key of [dead, held]) await age(key, 2 * hourMs);
  expect(await tier.sweep(hourMs)).toBe(1);
  expect(await keysOf(store)).toEqual([young, held, damaged, "thread/head"].sort());
  expect(await tier.lease("held", "two", 1)).toBe(false);
  expect(await tier.lease("damaged", "two", dayMs)).toBe(true);
  await tier.lease("damaged", "two", 0);
  expect(await keysOf(store)).not.toContain(damaged);
  const listed: string[] = [];
  for await (const { threadId } of tier.threads({})) listed.push(threadId);
  expect(listed).toEqual(["thread"]);
});
