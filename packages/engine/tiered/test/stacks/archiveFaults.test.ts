import { join } from "node:path";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { s3 } from "@stratigraph/s3";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { clientOf, openBucket } from "../../../s3/test/support/bucket.ts";
import { available } from "../../../../../test/servers/available.ts";
import { runChild } from "../../../../../test/servers/children.ts";
import { s3Request } from "../../../../../test/servers/s3Request.ts";
import { startS3, type S3Server } from "../../../../../test/servers/s3.ts";
import { freshDatabase, sharedRedis, type FreshDatabase } from "../../../../../test/servers/shared.ts";
import { put, stepsOf, text, valueOf } from "../support.ts";
import type { ArchiveMessage } from "./support/archiveChild.ts";
import { moreTurns } from "./support/moreTurns.ts";
import { runsDuring } from "./support/runsDuring.ts";

const child = (work: "delete" | "maintain", url: string, place: object) =>
  runChild<ArchiveMessage>(join(import.meta.dirname, "support/archiveChild.ts"), [
    work,
    url,
    JSON.stringify(place),
  ]);
const ahead = (): number => Date.now() + 120_000;
const down = { code: "ARCHIVE_UNAVAILABLE", message: expect.stringContaining("repeat the call later") };

let database: FreshDatabase;
const savers: TieredSaver[] = [];
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(async () => {
  await Promise.all(savers.splice(0).map((saver) => saver.end()));
  await database.drop();
});

function open(options: Omit<TieredSaverOptions, "warm">, now?: () => number): TieredSaver {
  const saver = new TieredSaver({ warm: postgres({ url: database.url }), pause: "0ms", ...options }, now);
  savers.push(saver);
  return saver;
}

async function fill(saver: TieredSaver, threadId: string): Promise<void> {
  for (const n of [1, 2, 3]) await put(saver, threadId, n, text(`${threadId} ${n}`));
}

describe.skipIf(!available.s3 || !available.postgres || !available.redis)("an S3 of one's own", () => {
  let server: S3Server;
  let client: ReturnType<typeof clientOf>;
  beforeAll(async () => {
    server = await startS3();
    client = clientOf(server);
  });
  afterEach(() => server.resume());
  afterAll(async () => {
    client.destroy();
    await server.stop();
  });

  test.each(["paused", "stopped"] as const)("%s in the middle of runs", async (how) => {
    const shared = await sharedRedis();
    await s3Request(server, "PUT", `/${how}`);
    const cold = () => s3({ client, bucket: how, timeout: "400ms", attempts: 2 });
    const breaker = { coldTimeout: "2s", openFor: "100ms", maxOpenFor: "300ms" } as const;
    const running = [1, 2].map(() => open({ hot: redis({ ...shared, ttl: "5m" }), cold: cold(), breaker }));
    const archiver = open({ cold: cold(), breaker, archiveAfter: "0s" }, ahead);
    await archiver.setup();
    for (const name of ["archived", "deleted", "idle"]) await fill(archiver, name);
    await archiver.maintain();
    await fill(archiver, "idle");

    await runsDuring(running, async (runs) => {
      await moreTurns(runs, 3);
      if (how === "paused") server.pause();
      else await server.kill();
      await moreTurns(runs, 3);
      for (const saver of running) {
        await expect(valueOf(saver, "archived")).rejects.toMatchObject(down);
        await expect(stepsOf(saver, "archived")).rejects.toMatchObject(down);
      }
      await moreTurns(runs, 3);
      // The archiver leaves everything where it is.
      const { steps } = await archiver.maintain();
      expect(steps.length).toBeGreaterThan(0);
      for (const step of steps)
        expect(step).toMatchObject({ done: false, error: { code: "ARCHIVE_UNAVAILABLE" } });
      await archiver.deleteThread("deleted");
      expect(await valueOf(archiver, "deleted")).toBeUndefined();
      expect(await valueOf(running[0]!, "idle")).toBe(text("idle 3"));
      await moreTurns(runs, 3);

      if (how === "paused") server.resume();
      else await server.start();
      for (const saver of [...running, archiver])
        await expect
          .poll(() => valueOf(saver, "archived", 2).catch(() => undefined), { timeout: 60_000 })
          .toBe(text("archived 2"));
      const after = await archiver.maintain();
      const of = (id: string) => after.steps.filter(({ threadId }) => threadId === id);
      expect(of("deleted")).toMatchObject([{ what: "finish-deletion", done: true }]);
      expect(of("idle")).toMatchObject([{ what: "archive", done: true }]);
      await moreTurns(runs, 3);
    });
    expect(await cold().blobs("deleted")).toEqual([]);
    expect(await stepsOf(running[1]!, "idle")).toEqual([3, 2, 1]);
  });

  test("a deletion whose process is killed while S3 is silent is finished by the next maintenance", async () => {
    const bucket = "deletion";
    await s3Request(server, "PUT", `/${bucket}`);
    const saver = open({ cold: s3({ client, bucket }), archiveAfter: "0s" }, ahead);
    await saver.setup();
    for (const name of ["gone", "stays"]) await fill(saver, name);
    await saver.maintain();
    server.pause();
    const deleting = child("delete", database.url, { ...server, bucket, prefix: "stratigraph" });
    await deleting.message((message) => message === "deleted from the warm tier");
    expect((await deleting.kill()).signal).toBe("SIGKILL");
    server.resume();
    const cold = s3({ client, bucket });
    expect((await cold.peek({ threadId: "gone", namespace: "" })).head).toBeDefined();
    // Gone for every reader from the first moment.
    expect(await valueOf(saver, "gone")).toBeUndefined();
    expect(await stepsOf(saver, "gone")).toEqual([]);
    const { steps } = await saver.maintain();
    expect(steps).toMatchObject([{ what: "finish-deletion", threadId: "gone", done: true }]);
    expect(await cold.blobs("gone")).toEqual([]);
    expect(await valueOf(saver, "stays")).toBe(text("stays 3"));
  });
});

test("SIGTERM: the thread under way is finished, the others stay, and another process may begin at once", async () => {
  const bucket = await openBucket();
  try {
    const saver = open(
      { cold: s3({ client: bucket.client, bucket: bucket.bucket }), archiveAfter: "0s" },
      ahead,
    );
    await saver.setup();
    const names = Array.from({ length: 60 }, (_, n) => `t${n}`);
    for (const name of names) await fill(saver, name);
    const maintaining = child("maintain", database.url, { ...bucket.login, prefix: "stratigraph" });
    await maintaining.message((message) => message === "archived");
    process.kill(maintaining.pid, "SIGTERM");
    await maintaining.message((message) => message === "stopped");
    expect(await maintaining.exit).toMatchObject({ code: 0, signal: null });
    const { threads } = await saver.listThreads({ limit: 100 });
    const archived = threads.filter(({ evicted }) => evicted).length;
    expect(archived).toBe(maintaining.messages.filter((message) => message === "archived").length);
    expect(archived).toBeLessThan(names.length);
    const { ran, steps } = await saver.maintain();
    expect([ran, steps.length]).toEqual([true, names.length - archived]);
    for (const name of names) expect(await valueOf(saver, name)).toBe(text(`${name} 3`));
  } finally {
    await bucket.close();
  }
});
