import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { s3 } from "@stratigraph/s3";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { configOf, put, text, valueOf } from "../support.ts";
import { AppendLog } from "./support/appendLog.ts";
import { tracedWhile } from "../../../../../test/tracedWhile.ts";
import { inRounds } from "../../../../../test/rounds.ts";

const count = inRounds({ few: 60, all: 200, soak: 1000 });
const names = Array.from({ length: count }, (_, n) => `thread ${n}`);

/** Runs `work` on every item, `parallel` at a time. */
async function each<T>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

/** A tier whose leases always say yes: its archiver never waits for another. */
function unleased<T extends object>(tier: T): T {
  return new Proxy(tier, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "lease") return undefined;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

// All of them take a minute on two cores; the limit is for hangs.
test(`${count} threads archived and restored by three archivers while writers go on: every byte is there, once`, async () => {
  const [database, shared, bucket] = await Promise.all([freshDatabase(), sharedRedis(), openBucket()]);
  const log = new AppendLog();
  const savers: TieredSaver[] = [];
  const open = (options: Partial<TieredSaverOptions> = {}): TieredSaver => {
    const saver = new TieredSaver(
      {
        hot: redis({ ...shared, ttl: "5m" }),
        warm: log.of(postgres({ url: database.url })),
        cold: s3({ client: bucket.client, bucket: bucket.bucket }),
        archiveAfter: "0s",
        maxThreads: 40,
        parallel: 4,
        pause: "0ms",
        conflict: "throw",
        ...options,
      },
      () => Date.now() + 120_000,
    );
    savers.push(saver);
    return saver;
  };
  const writers = [open(), open({ restoreOn: "write" })];
  await writers[0]!.setup();
  // Two that take turns by lease, and one that doesn't care whether another is at it.
  const archivers = [open(), open(), open({ warm: unleased(log.of(postgres({ url: database.url }))) })];
  try {
    await each(names, 16, async (name) => {
      for (const step of [1, 2]) await put(writers[0]!, name, step, text(`${name} ${step}`));
    });
    const tallies = { archived: new Map<string, number>(), raced: 0, refused: 0 };
    const round = async (archiver: TieredSaver): Promise<number> => {
      const { ran, steps } = await archiver.maintain();
      if (!ran) tallies.refused += 1;
      for (const { what, done, error, threadId = "" } of steps) {
        expect([what, error]).toEqual(["archive", undefined]);
        if (done) tallies.archived.set(threadId, (tallies.archived.get(threadId) ?? 0) + 1);
        else tallies.raced += 1;
      }
      return steps.length;
    };
    for (let done = 1; done > 0;)
      done = (await Promise.all(archivers.slice(0, 2).map(round))).reduce((sum, steps) => sum + steps, 0);
    expect(tallies.archived.size).toBe(count);
    tallies.archived.clear();
    const writing = new AbortController();
    const archiving = async (archiver: TieredSaver): Promise<void> => {
      while (!writing.signal.aborted)
        if ((await round(archiver)) === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    };
    const events = await tracedWhile(async () => {
      const behind = archivers.map(archiving);
      // Each visit meets one thread that was archived, and one that may be on its way there or back at this moment.
      await each(names, 6, async (name) => {
        const n = names.indexOf(name);
        const writer = writers[n % 2]!;
        expect(await valueOf(writer, name)).toBe(text(`${name} 2`));
        await put(writer, name, 3, text(`${name} 3`));
        const again = names[(n * 7) % count]!;
        expect(await valueOf(writers[(n + 1) % 2]!, again, 1)).toBe(text(`${again} 1`));
      });
      writing.abort();
      await Promise.all(behind);
      for (let done = 1; done > 0;) done = await round(archivers[0]!);
      expect(await round(archivers[1]!)).toBe(0);
    });
    expect(tallies.archived.size).toBe(count);
    const restored = events.flatMap((event) =>
      event.type === "maintenance" && event.what === "restored" ? [event.threadId] : [],
    );
    // Nearly all: a restore gives way to an archiver that changed the thread at that moment.
    expect(new Set(restored).size).toBeGreaterThan(count * 0.95);
    expect(tallies.refused).toBeGreaterThan(0);
    expect(log.differences).toEqual([]);

    const cold = s3({ client: bucket.client, bucket: bucket.bucket });
    const reader = open({ restoreOn: "never" });
    await each(names, 8, async (name) => {
      expect(await log.unlike(cold, name)).toEqual([]);
      const values: unknown[] = [];
      for await (const { checkpoint } of reader.list(configOf(name)))
        values.push(checkpoint.channel_values["value"]);
      expect(values).toEqual([3, 2, 1].map((step) => text(`${name} ${step}`)));
    });
  } finally {
    await Promise.all(savers.map((saver) => saver.end()));
    await Promise.all([database.drop(), bucket.close()]);
  }
}, 300_000);
