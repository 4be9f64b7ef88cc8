import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runChild } from "../../../../test/servers/children.ts";
import { startS3 } from "../../../../test/servers/s3.ts";
import { s3Request } from "../../../../test/servers/s3Request.ts";
import { PackTier, s3 } from "../src/index.ts";
import { clientOf, openBucket } from "./support/bucket.ts";
import type { StorePlace } from "./support/place.ts";
import { noise, put } from "./support/puts.ts";
import { inRounds } from "../../../../test/rounds.ts";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";

// After the support files, which choose how the SDK is loaded.
const { storeAt } = await import("./support/place.ts");
const support = join(import.meta.dirname, "support");

let bucket: Awaited<ReturnType<typeof openBucket>>;
let folder: string;
let places = 0;
beforeAll(async () => {
  bucket = await openBucket();
  folder = await mkdtemp(join(fastFolder(), "stratigraph-faults-"));
});
afterAll(async () => {
  await bucket.close();
  await rm(folder, { recursive: true });
});

function freshPlace(kind: "S3" | "a folder"): StorePlace {
  places += 1;
  if (kind === "a folder") return { path: join(folder, String(places)) };
  const { endpoint, region, accessKey, secretKey, bucket: name } = bucket.login;
  return { endpoint, region, accessKey, secretKey, bucket: name, prefix: `p${places}` };
}

const open = (place: StorePlace) => new PackTier(storeAt(place));

async function keysAt(place: StorePlace): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of storeAt(place).list("")) keys.push(key);
  return keys;
}

/** A thread of two checkpoints, in packs. */
async function begun(place: StorePlace): Promise<void> {
  const tier = open(place);
  await tier.append(put("thread", "a", undefined, 90_000));
  await tier.append(put("thread", "b", "a", 90_000));
}

describe.each(["S3", "a folder"] as const)("%s", (kind) => {
  test("16 writers of two processes on one head: one wins, and the others are told", async () => {
    const place = freshPlace(kind);
    type Message = { threadId: string; won: string[] };
    const racers = ["x", "y"].map((name) =>
      runChild<Message>(join(support, "raceChild.ts"), [JSON.stringify(place), name]),
    );
    await Promise.all(racers.map((racer) => racer.message(({ threadId }) => threadId === "up")));
    for (let round = 0; round < 6; round += 1) {
      const threadId = `race ${round}`;
      await open(place).append(put(threadId, "root", undefined, 100));
      for (const racer of racers) racer.send(threadId);
      const done = await Promise.all(
        racers.map((racer) => racer.message((each) => each.threadId === threadId)),
      );
      const won = done.flatMap((each) => each.won);
      expect(won).toHaveLength(1);
      const reading = await open(place).read({ threadId, namespace: "" });
      expect(reading.head).toBe(won[0]);
      expect(reading.checkpoint?.record.checkpointId).toBe(won[0]);
      expect(await open(place).blobs(threadId)).toHaveLength(2);
    }
    for (const racer of racers) racer.send(null);
    for (const { code, signal } of await Promise.all(racers.map((racer) => racer.exit)))
      expect([code, signal]).toEqual([0, null]);
  });

  test("a writer killed at any step: the thread is as before or as after, and goes on", async () => {
    const outcomes = await Promise.all(
      inRounds({ few: [kind === "S3" ? 2 : 3], all: [0, 1, 2, 3, 4, 5] }).map(async (step) => {
        const place = freshPlace(kind);
        await begun(place);
        const child = runChild<string>(join(support, "mortalChild.ts"), [
          JSON.stringify(place),
          "append",
          String(step),
        ]);
        const { signal } = await child.exit;
        const { head, checkpoint } = await open(place).read({ threadId: "thread", namespace: "" });
        expect(checkpoint?.record.checkpointId).toBe(head);
        const [blob] = checkpoint!.record.blobs;
        expect(checkpoint!.blobs.get(blob!)!.bytes).toEqual(noise(90_000, `${head} of thread`));
        const tier = open(place);
        await tier.append(put("thread", "d", head, 90_000));
        await tier.sweep(0);
        const { checkpoint: last } = await open(place).read({ threadId: "thread", namespace: "" });
        expect(last?.record.checkpointId).toBe("d");
        expect((await keysAt(place)).length).toBeLessThanOrEqual(3);
        return [step, signal, head];
      }),
    );
    // Pack, head, deletion of what the pack replaced: before and after each.
    expect(outcomes).toEqual(outcomes.map(([step]) => [step, "SIGKILL", Number(step) < 3 ? "b" : "c"]));
  });

  test("a deletion killed at any step is finished by the next", async () => {
    const outcomes = await Promise.all(
      inRounds({ few: [kind === "S3" ? 0 : 1], all: [0, 1, 2, 3] }).map(async (step) => {
        const place = freshPlace(kind);
        await begun(place);
        const child = runChild<string>(join(support, "mortalChild.ts"), [
          JSON.stringify(place),
          "delete",
          String(step),
        ]);
        const { signal } = await child.exit;
        const { head } = await open(place).read({ threadId: "thread", namespace: "" });
        if (step > 0) await open(place).sweep(0);
        else await open(place).deleteThread("thread");
        expect((await keysAt(place)).map((key) => key.split("/").at(-1))).toEqual(["head"]);
        const late = { ...put("thread", "c", "b", 100), seen: 2 };
        await expect(open(place).append(late)).rejects.toMatchObject({ code: "THREAD_DELETED" });
        return [step, signal, head];
      }),
    );
    expect(outcomes).toEqual(outcomes.map(([step]) => [step, "SIGKILL", step === 0 ? "b" : undefined]));
  });

  test("a pack whose head was never written goes with its thread", async () => {
    const place = freshPlace(kind);
    await begun(place);
    const [store, tier] = [storeAt(place), open(place)];
    const left = ["other/000000000001-0123456789abcdef-0123456789ab.pack", "thread-2/000000000001-0-0.pack"];
    for (const key of left) await store.put(key, Buffer.from("left by a process that died"));
    await tier.deleteThread("other");
    expect(await tier.peek({ threadId: "other", namespace: "" })).toMatchObject({ head: undefined });
    expect(await keysAt(place)).not.toContain(left[0]);
    expect(await keysAt(place)).toContain(left[1]);
    expect((await open(place).read({ threadId: "thread", namespace: "" })).head).toBe("b");
  });

  test("damaged and missing objects are errors that name thread and object, never values", async () => {
    for (const damage of ["flip", "cut", "miss"] as const) {
      for (const which of ["head", ".pack"]) {
        const place = freshPlace(kind);
        await begun(place);
        const store = storeAt(place);
        const key = (await keysAt(place)).find((each) => each.endsWith(which))!;
        const found = await store.get(key);
        if (found === undefined || found === "unchanged") throw new Error("nothing to damage");
        const bytes = Buffer.from(found.bytes);
        if (damage === "miss") await store.delete([key]);
        else if (damage === "cut") await store.put(key, bytes.subarray(0, bytes.length >> 1));
        else {
          bytes[bytes.length >> 1]! ^= 1;
          await store.put(key, bytes);
        }
        const reading = open(place).read({ threadId: "thread", namespace: "", checkpointId: "b" });
        // Without its head a thread isn't known.
        if (damage === "miss" && which === "head") expect((await reading).checkpoint).toBeUndefined();
        else {
          const error = await reading.then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          expect(error).toMatchObject({ code: "CORRUPT" });
          expect(String(error)).toContain('"thread"');
          expect(String(error)).toContain(key);
        }
      }
    }
  });
});

test("a lock that a killed process held is taken over", async () => {
  const place = freshPlace("a folder");
  await begun(place);
  const path = (place as { path: string }).path;
  await writeFile(join(path, "thread", "head.lock"), JSON.stringify({ pid: process.pid, startedAt: "1" }));
  await open(place).append(put("thread", "c", "b", 100));
  await expect(readFile(join(path, "thread", "head.lock"))).rejects.toMatchObject({ code: "ENOENT" });

  // Above what Linux ever gives a process.
  const left = join(path, ".work", "holder-4194305-x");
  await writeFile(left, "{}");
  await storeAt(place).setup?.();
  await expect(readFile(left)).rejects.toMatchObject({ code: "ENOENT" });
});

test("S3 stopped and paused: errors that may be repeated, nothing half-written, and it goes on afterwards", async () => {
  const server = await startS3();
  const client = clientOf(server);
  try {
    await s3Request(server, "PUT", "/archive");
    const tier = s3({ client, bucket: "archive", timeout: "500ms", attempts: 2 });
    await tier.append(put("thread", "a", undefined, 90_000));
    await expect(
      s3({ client, bucket: "other" }).peek({ threadId: "t", namespace: "" }),
    ).rejects.toMatchObject({
      code: "NOT_SET_UP",
    });
    const denied = s3({ client: clientOf({ ...server, secretKey: "wrong" }), bucket: "archive" });
    await expect(denied.peek({ threadId: "t", namespace: "" })).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      message: expect.stringContaining("credentials") as string,
    });

    server.pause();
    const down = { code: "ARCHIVE_UNAVAILABLE" };
    await expect(tier.read({ threadId: "thread", namespace: "" })).rejects.toMatchObject(down);
    await expect(tier.append(put("thread", "b", "a", 90_000))).rejects.toMatchObject(down);
    server.resume();
    // Requests that were under way may still be carried out: the thread is whole either way, and the repeat is no conflict.
    await tier.append(put("thread", "b", "a", 90_000));
    await server.kill();
    await expect(tier.append(put("thread", "c", "b", 90_000))).rejects.toMatchObject(down);
    await server.start();
    await tier.append(put("thread", "c", "b", 90_000));
    const reading = await s3({ client, bucket: "archive" }).read({ threadId: "thread", namespace: "" });
    expect(reading.checkpoint?.record.checkpointId).toBe("c");
    expect(await tier.blobs("thread")).toHaveLength(3);
  } finally {
    client.destroy();
    await server.stop();
  }
});
