import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryTier, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import { fastFolder } from "../../../../../test/servers/fastFolder.ts";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { put, stepsOf, text } from "../support.ts";

// One thread whose own fields are damaged keeps no maintenance from the others.

interface Opened {
  readonly tier: Tier;
  /** Damages what names a thread. */
  damage(id: string): Promise<unknown>;
  close(): Promise<unknown>;
}

const storages: readonly (readonly [string, () => Promise<Opened>])[] = [
  [
    "PostgreSQL",
    async () => {
      const database = await freshDatabase();
      const key = (id: string): string => `'\\x02${Buffer.from(id).toString("hex")}'`;
      const damage = (id: string): Promise<unknown> =>
        query(
          database.url,
          `update stratigraph.threads set key = '\\xff00'::bytea || key where key = ${key(id)}`,
        );
      return { tier: postgres({ url: database.url }), damage, close: () => database.drop() };
    },
  ],
  [
    "Redis",
    async () => {
      const shared = await sharedRedis();
      const raw = new Redis(shared.url);
      const damage = (id: string): Promise<unknown> => raw.hset(`${shared.prefix}t:{${id}}`, "id", "another");
      return { tier: redis(shared), damage, close: async () => raw.disconnect() };
    },
  ],
  [
    "a folder",
    async () => {
      const path = await mkdtemp(join(fastFolder(), "stratigraph-damaged-"));
      const damage = async (id: string): Promise<void> => {
        const files = await readdir(path, { recursive: true });
        const heads = files.filter((file) => file.includes(id) && file.endsWith("head"));
        expect(heads).toHaveLength(1);
        await writeFile(join(path, heads[0]!), "damaged");
      };
      return { tier: folder({ path }), damage, close: () => rm(path, { recursive: true }) };
    },
  ],
];

/** The step that tells of it. */
const told = expect.objectContaining({
  what: "sweep",
  error: expect.objectContaining({ code: "CORRUPT" }),
});

test.each(storages)("%s: the others are pruned and archived, and it is told", async (_name, open) => {
  const { tier: warm, damage, close } = await open();
  const ids = ["a", "damaged", "z"];
  const pruning = new TieredSaver({ warm, keepLast: 1, pause: "0ms" });
  await pruning.setup();
  const archiving = new TieredSaver(
    { warm, cold: new MemoryTier(), archiveAfter: "1m", pause: "0ms" },
    () => Date.now() + 600_000,
  );
  try {
    for (const id of ids) for (const n of [1, 2]) await put(pruning, id, n, text(`${id} ${n}`));
    await damage("damaged");
    const of = (what: string) =>
      ["a", "z"].map((threadId) => expect.objectContaining({ what, threadId, done: true }));
    const pruned = (await pruning.maintain()).steps;
    expect(pruned).toEqual(expect.arrayContaining([...of("prune"), told]));
    expect(await stepsOf(pruning, "a")).toEqual([2]);
    const archived = (await archiving.maintain()).steps;
    expect(archived).toEqual(expect.arrayContaining([...of("archive"), told]));
    expect(archived.filter(({ error }) => error !== undefined)).toHaveLength(1);
  } finally {
    await archiving.end();
    await close();
  }
});

test.each(storages)(
  "%s: where more are damaged than a batch may change, the others have their turns",
  async (_name, open) => {
    const { tier: warm, damage, close } = await open();
    const archiving = new TieredSaver(
      { warm, cold: new MemoryTier(), archiveAfter: "1m", maxThreads: 1, pause: "0ms" },
      () => Date.now() + 600_000,
    );
    const deleting = new TieredSaver(
      { warm, deleteAfter: "1m", maxThreads: 1, pause: "0ms" },
      () => Date.now() + 600_000,
    );
    await archiving.setup();
    try {
      for (const id of ["damaged", "broken", "a", "z"]) await put(archiving, id, 1, text(id));
      for (const id of ["damaged", "broken"]) await damage(id);
      for (const saver of [archiving, deleting]) {
        const done: (string | undefined)[] = [];
        for (let round = 0; round < 3; round += 1)
          for (const step of (await saver.maintain()).steps) if (step.done) done.push(step.threadId);
        expect(done).toEqual(["a", "z"]);
      }
    } finally {
      await archiving.end();
      await close();
    }
  },
);

test("an archive: deletions of others are finished", async () => {
  const [, open] = storages[2]!;
  const { tier: cold, damage, close } = await open();
  const warm = new MemoryTier();
  let aheadMs = 600_000;
  const saver = new TieredSaver(
    { warm, cold, archiveAfter: "1m", deleteArchivedAfter: "5m", pause: "0ms" },
    () => Date.now() + aheadMs,
  );
  await saver.setup();
  try {
    for (const id of ["a", "damaged", "z"]) await put(saver, id, 1, text(id));
    expect((await saver.maintain()).steps).toHaveLength(3);
    await damage("damaged");
    aheadMs *= 2;
    const { steps } = await saver.maintain();
    const gone = ["a", "z"].map((threadId) =>
      expect.objectContaining({ what: "delete", threadId, done: true }),
    );
    expect(steps).toEqual(expect.arrayContaining([...gone, told]));
  } finally {
    await saver.end();
    await close();
  }
});
