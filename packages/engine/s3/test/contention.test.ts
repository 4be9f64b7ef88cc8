import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppendWritesRequest } from "@stratigraph/core/tier";
import { PackTier } from "../src/index.ts";
import { FolderStore } from "../src/internal.ts";
import { openBucket } from "./support/bucket.ts";
import { InterposedStore } from "./support/interposedStore.ts";
import { put } from "./support/puts.ts";

// What others do to a thread between two requests of one call, and answers that are lost.

// After the support files, which choose how the SDK is loaded.
const { awsObjectStore } = await import("../src/aws.ts");

const hourMs = 3_600_000;

let path: string;
/** What one process does to its requests. */
let store: InterposedStore;
let tier: PackTier;
/** Another process. */
let other: PackTier;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "stratigraph-contention-"));
  store = new InterposedStore(new FolderStore(path));
  tier = new PackTier(store);
  other = new PackTier(new FolderStore(path));
});
afterEach(async () => {
  await Promise.all([tier.end(), other.end()]);
  await rm(path, { recursive: true });
});

const writesOf = (taskId: string): AppendWritesRequest => ({
  ...{ threadId: "t", namespace: "", checkpointId: "a", taskId },
  ...{ blobs: [], newBlobs: [], body: Buffer.from(taskId) },
});
/** What a process reads that remembers nothing. */
const read = () => new PackTier(new FolderStore(path)).read({ threadId: "t", namespace: "" });
const tasksIn = ({ checkpoint }: Awaited<ReturnType<typeof read>>) =>
  checkpoint?.writes.map(({ taskId }) => taskId);

async function packs(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of new FolderStore(path).list("")) if (key.endsWith(".pack")) keys.push(key);
  return keys;
}

describe("a put of the head that was stored, and whose answer was lost", () => {
  test("is no conflict with itself, and nothing is stored twice", async () => {
    store.loseAnswer("/head");
    expect((await tier.append(put("t", "a", undefined, 100))).revision).toBe(1);
    store.loseAnswer("/head");
    await tier.appendWrites(writesOf("task"));
    expect(tasksIn(await read())).toEqual(["task"]);
    store.loseAnswer("/head");
    expect((await tier.append(put("t", "b", "a", 90_000))).heads).toEqual([
      { namespace: "", head: "b", moved: true },
    ]);
    expect((await read()).checkpoint?.blobs.size).toBe(1);
    expect(await packs()).toHaveLength(1);
  });

  test("is recognised though others have written since", async () => {
    await tier.append(put("t", "a", undefined, 100));
    store.loseAnswer("/head");
    store.after("put", "/head", async () => {
      for (const task of ["two", "three"]) await other.appendWrites(writesOf(task));
    });
    await tier.appendWrites(writesOf("one"));
    expect(tasksIn(await read())).toEqual(["one", "two", "three"]);
  });

  test("on S3: the client repeats the request, and its condition is refused", async () => {
    const open = await openBucket();
    let isLost = false;
    const losing = {
      send: async (command: never, options: never) => {
        const answer = await open.client.send(command, options);
        if ((command as object).constructor.name !== "PutObjectCommand" || isLost) return answer;
        isLost = true;
        throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
      },
    };
    const at = { bucket: open.bucket, prefix: "lost" };
    const [one, reader] = [
      { ...at, client: losing },
      { ...at, client: open.client },
    ].map((options) => new PackTier(awsObjectStore(options)));
    await one!.append(put("t", "a", undefined, 100));
    isLost = false;
    await one!.appendWrites(writesOf("task"));
    expect(isLost).toBe(true);
    expect(tasksIn(await reader!.read({ threadId: "t", namespace: "" }))).toEqual(["task"]);
    await open.close();
  });
});

test("a head that another moved meanwhile isn't replaced; the pack that was made for it goes", async () => {
  await tier.append(put("t", "a", undefined, 100));
  store.before("put", "/head", () => other.append(put("t", "b", "a", 100)));
  await expect(tier.append(put("t", "c", "a", 90_000))).rejects.toMatchObject({
    code: "CHECKPOINT_CONFLICT",
    data: { head: "b" },
  });
  expect((await read()).head).toBe("b");
  expect(await packs()).toEqual([]);
});

test("what a process remembers of a thread refuses nothing: the head is read before", async () => {
  await tier.append(put("t", "a", undefined, 100));
  await other.append(put("t", "b", "a", 100));
  expect((await tier.append(put("t", "c", "b", 100))).heads).toEqual([
    { namespace: "", head: "c", moved: true },
  ]);
});

test("a thread that is rewritten while it is read is read again", async () => {
  await other.append(put("t", "a", undefined, 90_000));
  const { revision } = await other.append(put("t", "b", "a", 100));
  store.before("get", ".pack", async () => {
    const at = { threadId: "t", namespace: "", checkpointId: "a" };
    const parts = { checkpoints: [at], dropBlobs: [], replaceBlobs: [], heads: [] };
    expect(await other.remove({ threadId: "t", revision, ...parts })).toBe(true);
  });
  expect((await tier.read({ threadId: "t", namespace: "" })).checkpoint?.record.checkpointId).toBe("b");
});

test("a lost pack is an error after two looks at the head, not after many", async () => {
  await other.append(put("t", "a", undefined, 90_000));
  await new FolderStore(path).delete(await packs());
  let looks = 0;
  const look = async (): Promise<void> => {
    looks += 1;
    store.before("get", "/head", look);
  };
  store.before("get", "/head", look);
  await expect(tier.read({ threadId: "t", namespace: "" })).rejects.toMatchObject({ code: "CORRUPT" });
  expect(looks).toBe(2);
});

test("finishing a deletion leaves the pack of who begins the thread anew", async () => {
  await other.append(put("t", "a", undefined, 90_000));
  // The writer has stored its pack, and its head comes after the deletion is done.
  const writing = new InterposedStore(new FolderStore(path));
  const writer = new PackTier(writing);
  let goOn: () => void = () => undefined;
  const isDeleted = new Promise<void>((resolve) => (goOn = resolve));
  let written: Promise<unknown> | undefined;
  store.before("list", "t/", async () => {
    await new Promise<void>((resolve) => {
      writing.before("put", "/head", async () => {
        resolve();
        await isDeleted;
      });
      written = writer.append(put("t", "anew", undefined, 90_000));
    });
    expect(await packs()).toHaveLength(1);
  });
  await tier.deleteThread("t");
  goOn();
  await written;
  const { head, checkpoint } = await read();
  expect([head, checkpoint?.blobs.size]).toEqual(["anew", 1]);
  await writer.end();
});

describe("leases", () => {
  test("of two that take one that ended, one gets it", async () => {
    await other.lease("work", "dead", 1);
    // Until long ago, by the clock of whoever looks.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hourMs });
    try {
      store.before("put", "", async () => expect(await other.lease("work", "two", hourMs)).toBe(true));
      expect(await tier.lease("work", "one", hourMs)).toBe(false);
      expect(await other.lease("work", "two", hourMs)).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  test("one whose answer was lost is held all the same", async () => {
    store.loseAnswer("");
    expect(await tier.lease("work", "one", hourMs)).toBe(true);
    expect(await other.lease("work", "two", hourMs)).toBe(false);
  });

  test("one that is prolonged while it is swept stays", async () => {
    await other.lease("work", "one", 1);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * hourMs });
    try {
      store.before("deleteIf", "", () => other.lease("work", "one", hourMs));
      expect(await tier.sweep(hourMs)).toBe(0);
      expect(await other.lease("work", "two", hourMs)).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});

test("should two threads ever meet in one key, the second isn't taken for the first", async () => {
  await other.append(put("t", "a", undefined, 100));
  const folder = new FolderStore(path);
  const found = await folder.get("t/head");
  await folder.put("another/head", (found as { bytes: Uint8Array }).bytes);
  const reading = tier.read({ threadId: "another", namespace: "" });
  await expect(reading).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringContaining('belongs to thread "t"') as string,
  });
});

test("a thread that begins while a deletion of its id, of which nothing was there, ends keeps its packs", async () => {
  // As an import that died before it wrote a head left it.
  const left = "t/000000000007-0-0.pack";
  await new FolderStore(path).put(left, Buffer.from("left"));
  store.after("put", "/head", async () => void (await other.append(put("t", "a", undefined, 90_000))));
  await tier.deleteThread("t");
  expect((await read()).checkpoint?.blobs.size).toBe(1);
  expect(await packs()).not.toContain(left);
});
