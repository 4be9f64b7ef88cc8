import { Redis } from "ioredis";
import { startRedis, type RedisServer } from "../../../../test/servers/redis.ts";
import { redis } from "../src/index.ts";
import { at, blob, put, watched } from "./fixtures.ts";
import { allRounds } from "../../../../test/rounds.ts";

// A long thread is copied in pieces: no command is large, others are served between them, and nobody sees half of it.

let server: RedisServer;
let direct: Redis;
beforeAll(async () => {
  server = await startRedis();
  direct = new Redis(server.url);
});
beforeEach(() => direct.flushall());
afterAll(async () => {
  direct.disconnect();
  await server.stop();
});

/** Largest command, or reply of one, that a copy may cost, in bytes. */
const bound = 2.5 * (1 << 20);

function bytesIn(value: unknown): number {
  if (typeof value === "string" || Buffer.isBuffer(value)) return value.length;
  if (!Array.isArray(value)) return 8;
  return value.reduce((sum: number, part) => sum + bytesIn(part), 0);
}

/** A thread of `checkpoints`, imported: `size` bytes in a blob of each. */
async function threadOf(checkpoints: number, size: number): Promise<void> {
  const ids = Array.from({ length: checkpoints }, (_, n) => `c${String(n).padStart(6, "0")}`);
  const tier = redis({ client: direct, commandTimeout: "30s" });
  for (let from = 0; from < ids.length; from += 1000) {
    const some = ids
      .slice(from, from + 1000)
      .map((id, n) => put("long", id, ids[from + n - 1], [blob(id, size)]));
    await tier.append({
      threadId: "long",
      records: some.flatMap(({ records }) => records),
      blobs: some.flatMap(({ blobs }) => blobs),
      heads: [{ namespace: "", to: ids[Math.min(from + 1000, ids.length) - 1]!, expected: "any" }],
      onConflict: "refuse",
    });
  }
  await tier.appendWrites({
    ...at("long", ids[0]!),
    taskId: "task",
    blobs: [],
    newBlobs: [],
    body: Buffer.from("b"),
  });
}

async function contentOf(threadId: string): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const { record, blobs, writes, head } of redis({ client: direct }).list({ threadId }))
    items.push([
      record.checkpointId,
      head,
      writes.map(({ taskId }) => taskId),
      record.blobs.map((hash) => blobs.get(hash)?.bytes.length),
    ]);
  return items;
}

test.runIf(allRounds)(
  "10,000 checkpoints: no command or reply is large, and others are served between them",
  async () => {
    await threadOf(10_000, 500);
    let largest = 0;
    let commands = 0;
    const client = watched(
      direct,
      (_, args) => {
        commands += 1;
        largest = Math.max(largest, bytesIn(args));
      },
      (reply) => {
        largest = Math.max(largest, bytesIn(reply));
      },
    );
    // Another client's commands are counted by the server in the order in which it ran all of them.
    const other = new Redis(server.url);
    const watching = new Redis(server.url);
    const monitor = await watching.monitor();
    let pings = 0;
    let pieces = 0;
    let servedBetween = 0;
    monitor.on("monitor", (_time: string, [command = ""]: string[]) => {
      if (command.toLowerCase() === "ping") pings += 1;
      else if (command.toLowerCase() === "evalsha" && pings > 0) {
        servedBetween += 1;
        pings = 0;
      }
      pieces += command.toLowerCase() === "evalsha" ? 1 : 0;
    });
    const copy = { isUnderWay: true };
    const pinging = (async () => {
      while (copy.isUnderWay) await other.ping();
    })();
    expect(await redis({ client }).copyThread("long", "copy")).toBe(true);
    copy.isUnderWay = false;
    await pinging;
    await expect.poll(() => pieces).toBeGreaterThan(100);
    expect(servedBetween).toBeGreaterThan(50);
    expect(largest).toBeLessThan(bound);
    expect(commands).toBeGreaterThan(200);
    expect(await contentOf("copy")).toEqual(await contentOf("long"));
    expect(await direct.keys("stratigraph:c[ti]:*")).toEqual([]);
    for (const key of await direct.keys("stratigraph:[ti]:{copy}")) expect(await direct.pttl(key)).toBe(-1);
    monitor.disconnect();
    watching.disconnect();
    other.disconnect();
  },
);

test("large values are fetched a few at a time", async () => {
  await threadOf(60, 300_000);
  let largest = 0;
  const client = watched(
    direct,
    (_, args) => {
      largest = Math.max(largest, bytesIn(args));
    },
    (reply) => {
      largest = Math.max(largest, bytesIn(reply));
    },
  );
  expect(await redis({ client }).copyThread("long", "copy")).toBe(true);
  expect(largest).toBeLessThan(4.5 * (1 << 20));
  expect(await contentOf("copy")).toEqual(await contentOf("long"));
});

test("readers see all of a copy or nothing of it, whenever they look", async () => {
  await threadOf(300, 2000);
  const whole = await contentOf("long");
  const seen: number[] = [];
  const client = watched(direct, async () => {
    const found = await contentOf("copy");
    if (found.length > 0) expect(found).toEqual(whole);
    seen.push(found.length);
  });
  await redis({ client }).copyThread("long", "copy");
  expect(seen.length).toBeGreaterThan(10);
  expect(new Set(seen)).toEqual(new Set([0, 300]));
});

test("a process that dies under way leaves no copy, and nothing that stays for ever", async () => {
  await threadOf(300, 2000);
  let left = 8;
  const client = watched(direct, () => {
    left -= 1;
    if (left < 0) throw new Error("the process is gone");
  });
  await expect(redis({ client }).copyThread("long", "copy")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await contentOf("copy")).toEqual([]);
  const parts = await direct.keys("stratigraph:c[ti]:*");
  expect(parts.length).toBe(2);
  for (const part of parts) expect(await direct.pttl(part)).toBeGreaterThan(0);
  expect(await direct.keys("stratigraph:[ti]:{copy}")).toEqual([]);
  expect(await redis({ client: direct }).copyThread("long", "copy")).toBe(true);
});

test("a thread that is written meanwhile is copied as it was at one moment; one that always is, is an error", async () => {
  await threadOf(100, 2000);
  const tier = redis({ client: direct });
  let written = 100;
  const write = async (): Promise<void> => {
    const id = `c${String(written).padStart(6, "0")}`;
    await tier.append(put("long", id, `c${String(written - 1).padStart(6, "0")}`));
    written += 1;
  };
  let reads = 0;
  const once = watched(direct, async (command) => {
    reads += command === "HSCAN" ? 1 : 0;
    if (command === "HSCAN" && reads === 3) await write();
  });
  expect(await redis({ client: once }).copyThread("long", "copy")).toBe(true);
  expect(await contentOf("copy")).toEqual(await contentOf("long"));
  const always = watched(direct, async (command) => (command === "HSCAN" ? await write() : undefined));
  await expect(redis({ client: always }).copyThread("long", "other")).rejects.toMatchObject({
    code: "OVERLOADED",
    retryable: true,
  });
  expect(await direct.keys("stratigraph:c[ti]:*")).toEqual([]);
});

test("onto a thread that came into being meanwhile: THREAD_EXISTS, and it stays as it is", async () => {
  await threadOf(100, 2000);
  const tier = redis({ client: direct });
  let began = false;
  const client = watched(direct, async (command) => {
    if (command !== "HSCAN" || began) return;
    began = true;
    await tier.append(put("copy", "mine"));
  });
  await expect(redis({ client }).copyThread("long", "copy")).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  expect(await contentOf("copy")).toEqual([["mine", "mine", [], []]]);
  expect(await direct.keys("stratigraph:c[ti]:*")).toEqual([]);
});

test("pending writes that came before any checkpoint stay with the copy, which expires as others do", async () => {
  await threadOf(3, 100);
  const tier = redis({ client: direct, ttl: "1h" });
  await tier.appendWrites({
    ...at("copy", "early"),
    taskId: "task",
    blobs: [],
    newBlobs: [],
    body: Buffer.from("b"),
  });
  await tier.copyThread("long", "copy");
  expect((await tier.peek(at("copy", "early"))).writes.map(({ taskId }) => taskId)).toEqual(["task"]);
  for (const key of await direct.keys("stratigraph:[ti]:{copy}"))
    expect(await direct.pttl(key)).toBeGreaterThan(3_500_000);
});
