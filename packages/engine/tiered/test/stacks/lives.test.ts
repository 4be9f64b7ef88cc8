import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { StratigraphError, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder, s3 } from "@stratigraph/s3";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { fastFolder } from "../../../../../test/servers/fastFolder.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { put, stepsOf, text, valueOf } from "../support.ts";

// The lives of a thread on real servers. Every order of things is in test/simulation/lives.test.ts.

interface Opened {
  readonly warm: Tier;
  readonly cold: Tier;
  close(): Promise<unknown>;
}

const stacks: readonly (readonly [string, () => Promise<Opened>])[] = [
  [
    "PostgreSQL and S3",
    async () => {
      const [database, bucket] = await Promise.all([freshDatabase(), openBucket()]);
      const cold = s3({ client: bucket.client, bucket: bucket.bucket });
      const close = (): Promise<unknown> => Promise.all([database.drop(), bucket.close()]);
      return { warm: postgres({ url: database.url }), cold, close };
    },
  ],
  [
    "Redis and a folder",
    async () => {
      const path = await mkdtemp(join(fastFolder(), "stratigraph-lives-"));
      const warm = redis({ ...(await sharedRedis()), ttl: "never" });
      return { warm, cold: folder({ path }), close: () => rm(path, { recursive: true }) };
    },
  ],
];

test.each(stacks)("%s: the archive is away at a deletion, and the id begins anew", async (_name, open) => {
  const { warm, cold: inner, close } = await open();
  const cold = new FaultyTier(inner, "cold");
  let isIdle = true;
  const clock = (): number => Date.now() + (isIdle ? 120_000 : -120_000);
  const saver = new TieredSaver({ warm, cold, archiveAfter: "0s", pause: "0ms" }, clock);
  await saver.setup();
  try {
    for (const n of [1, 2]) await put(saver, "t", n, text(`old ${n}`));
    expect((await saver.maintain()).steps).toMatchObject([{ what: "archive", done: true }]);
    const heal = cold.failWhen(() => new StratigraphError("UNAVAILABLE", "away"));
    await saver.deleteThread("t");
    heal();
    for (const n of [11, 12]) await put(saver, "t", n, text(`new ${n}`), n === 11 ? 0 : 11);
    isIdle = false;
    expect((await saver.maintain()).steps).toMatchObject([
      { what: "finish-deletion", threadId: "t", done: true },
    ]);
    expect(await inner.blobs("t")).toEqual([]);
    isIdle = true;
    expect((await saver.maintain()).steps).toMatchObject([{ what: "archive", done: true }]);
    expect(await stepsOf(saver, "t")).toEqual([12, 11]);
    expect([await valueOf(saver, "t"), await valueOf(saver, "t", 2)]).toEqual([text("new 12"), undefined]);
  } finally {
    await saver.end();
    await close();
  }
});
