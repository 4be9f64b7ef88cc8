import type { S3Client } from "@aws-sdk/client-s3";
import { StratigraphError } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { s3, S3Saver } from "@stratigraph/s3";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { sdk } from "../../../s3/test/support/sdk.ts";
import { available } from "../../../../../test/servers/available.ts";
import { startPostgres } from "../../../../../test/servers/postgres.ts";
import { startRedis } from "../../../../../test/servers/redis.ts";
import { put, stepsOf, text, valueOf } from "../support.ts";

// Two regions: each with a Redis and a bucket of its own, one PostgreSQL as the home of all heads. docs/guides/scale.md rests on this.

/** Copies objects from one bucket to another, as a provider's replication does. @param which keys that have arrived */
async function replicate(
  client: S3Client,
  [from, to]: readonly [string, string],
  which: (key: string, n: number) => boolean = () => true,
): Promise<number> {
  const { Contents = [] } = await client.send(new sdk.ListObjectsV2Command({ Bucket: from }));
  const keys = Contents.map(({ Key }) => Key!).filter(which);
  for (const Key of keys)
    await client.send(
      new sdk.CopyObjectCommand({ Bucket: to, Key, CopySource: encodeURI(`${from}/${Key}`) }),
    );
  return keys.length;
}

/** The value of a thread's head, or the code of the error. */
async function headOf(saver: TieredSaver | S3Saver, threadId: string): Promise<unknown> {
  return await valueOf(saver, threadId).catch((error: unknown) => {
    if (StratigraphError.is(error)) return error.code;
    throw error;
  });
}

test.skipIf(!available.s3 || !available.postgres || !available.redis)(
  "a region reads the right head or gets an error, whatever has been replicated and whatever is lost",
  async () => {
    const [home, redisA, redisB, bucketA, bucketB] = await Promise.all([
      startPostgres(),
      startRedis(),
      startRedis(),
      openBucket(),
      openBucket(),
    ]);
    const open = (
      hot: string,
      bucket: string,
      options: Partial<TieredSaverOptions> = {},
      now?: () => number,
    ): TieredSaver =>
      new TieredSaver(
        {
          hot: redis({ url: hot, ttl: "5m" }),
          warm: postgres({ url: home.url, retryFor: "0s" }),
          cold: s3({ client: bucketA.client, bucket }),
          ...options,
        },
        now,
      );
    const buckets = [bucketA.bucket, bucketB.bucket] as const;
    const a = open(
      redisA.url,
      bucketA.bucket,
      { archiveAfter: "0s", pause: "0ms" },
      () => Date.now() + 120_000,
    );
    // The archive is written in one region. The other one reads its copy, and moves nothing there.
    const b = open(redisB.url, bucketB.bucket);
    const archive = new S3Saver({ client: bucketB.client, bucket: bucketB.bucket });
    try {
      await a.setup();
      const fill = async (threadId: string, steps: readonly number[]): Promise<void> => {
        for (const n of steps) await put(a, threadId, n, text(`${threadId} ${n}`));
      };
      await fill("archived", [1, 2]);
      await fill("continued", [1, 2]);
      await a.maintain();
      expect(await replicate(bucketA.client, buckets)).toBeGreaterThan(0);
      await fill("continued", [3]);
      await fill("late", [1, 2]);
      const { steps } = await a.maintain();
      expect(steps.map(({ threadId }) => threadId)).toEqual(expect.arrayContaining(["late", "continued"]));
      // The region's copy has this thread, as it was before: that isn't its head.
      expect(await headOf(archive, "continued")).toBe(text("continued 2"));
      expect(await headOf(b, "continued")).toBe("EVICTED");
      await fill("continued", [4]);
      await fill("live", [1, 2]);

      // Beside each other. What was archived and hasn't arrived yet is an error, also where half of it has.
      expect(await headOf(b, "archived")).toBe(text("archived 2"));
      expect(await headOf(b, "continued")).toBe(text("continued 4"));
      expect(await headOf(b, "live")).toBe(text("live 2"));
      expect(await headOf(b, "late")).toBe("EVICTED");
      await replicate(bucketA.client, buckets, (_, n) => n % 2 === 0);
      expect(["EVICTED", "CORRUPT", text("late 2")]).toContain(await headOf(b, "late"));
      await replicate(bucketA.client, buckets);
      expect(await headOf(b, "late")).toBe(text("late 2"));
      await put(b, "live", 3, text("live 3"));
      expect(await headOf(a, "live")).toBe(text("live 3"));

      // The home is lost: no head is known, so none is served and none is moved, although Redis has copies.
      await home.shutDown();
      for (const threadId of ["archived", "continued", "late", "live"]) {
        expect(await headOf(b, threadId)).toBe("UNAVAILABLE");
        await expect(put(b, threadId, 9, "lost?")).rejects.toMatchObject({ code: "UNAVAILABLE" });
      }
      // The archive can be read by itself: whole threads, as they were when they were archived.
      expect(await headOf(archive, "archived")).toBe(text("archived 2"));
      expect(await stepsOf(archive, "archived")).toEqual([2, 1]);
      expect(await headOf(archive, "late")).toBe(text("late 2"));
      expect(await headOf(archive, "live")).toBeUndefined();
      // It isn't the newest state: this thread went on after it was archived. So runs go on on a copy with an id of its own.
      expect(await headOf(archive, "continued")).toBe(text("continued 3"));
      await archive.copyThread("archived", "archived, region b");
      await put(archive, "archived, region b", 3, text("went on"));
      expect(await headOf(archive, "archived, region b")).toBe(text("went on"));
      expect(await headOf(archive, "archived")).toBe(text("archived 2"));

      await home.start();
      for (const [threadId, n] of [
        ["archived", 2],
        ["continued", 4],
        ["late", 2],
        ["live", 3],
      ] as const)
        for (const region of [a, b]) expect(await headOf(region, threadId)).toBe(text(`${threadId} ${n}`));
    } finally {
      await Promise.all([a.end(), b.end(), archive.end()].map((ending) => ending.catch(() => undefined)));
      await Promise.all([home.stop(), redisA.stop(), redisB.stop(), bucketA.close(), bucketB.close()]);
    }
  },
);
