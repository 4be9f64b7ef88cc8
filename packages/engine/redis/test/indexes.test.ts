// long file: all stories of the indexes share one set-up
import { statusTerms } from "@stratigraph/core/internal";
import type { ThreadTag } from "@stratigraph/core/tier";
import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis, type RedisTier } from "../src/index.ts";
import { put, watched } from "./fixtures.ts";

// The indexes are other keys than the threads, written by other commands. Whatever comes between two commands, an index may name too
// many threads, and never too few.

const { url, prefix: keyPrefix } = await sharedRedis();
const client = new Redis(url);
afterAll(() => client.disconnect());

const hourMs = 3_600_000;
const anna: ThreadTag = { key: "user_id", value: "anna" };
const team: ThreadTag = { key: "team", value: "red" };

let prefix: string;
/** Another process. */
let other: RedisTier;
let tests = 0;
beforeEach(() => {
  tests += 1;
  prefix = `${keyPrefix}${tests}:`;
  other = redis({ client, prefix: prefix });
});

/** A process in which `work` is done once, right before the first command that is asked for. */
function before(isMeant: (command: string, args: readonly unknown[]) => boolean, work: () => unknown) {
  let isDone = false;
  const slow = watched(client, async (command, args) => {
    if (isDone || !isMeant(command, args)) return;
    isDone = true;
    await work();
  });
  return redis({ client: slow, prefix: prefix });
}

/** As {@link before}, right after the first reply to such a command. */
function after(command: string, work: () => unknown) {
  let isDone = false;
  const slow = watched(
    client,
    () => undefined,
    async (_, name) => {
      if (isDone || name !== command) return;
      isDone = true;
      await work();
    },
  );
  return redis({ client: slow, prefix: prefix });
}

/** The append of a checkpoint by a run. */
const ofRun = (threadId: string, id: string, parentId?: string) => {
  const request = put(threadId, id, parentId);
  return { ...request, records: request.records.map((record) => ({ ...record, runId: "run" })) };
};

async function idsOf(found: AsyncIterable<{ threadId: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { threadId } of found) ids.push(threadId);
  return ids;
}
async function ofRuns(): Promise<string[]> {
  const ids: string[] = [];
  for await (const { record } of other.list({ runIds: ["run"] })) ids.push(record.threadId);
  return ids;
}

/** A run that wrote to a thread long ago, which is gone. */
async function oldRun(threadId: string): Promise<void> {
  await redis({ client, prefix: prefix }).append(ofRun(threadId, "c1"));
  await client.del(`${prefix}t:{${threadId}}`, `${prefix}i:{${threadId}}`);
  await client.zadd(`${prefix}runs`, 1000, "run");
}

describe("of runs", () => {
  test("a thread that a run begins anew while its name is swept keeps its name", async () => {
    await oldRun("t");
    const sweeper = after("HMGET", () => other.append(ofRun("t", "anew")));
    expect(await sweeper.sweep(hourMs)).toBe(0);
    expect(await ofRuns()).toEqual(["t"]);
  });

  test("a sweep that sees the name of a thread that isn't written yet sees also that it is young", async () => {
    await oldRun("gone");
    const index = (command: string, [key]: readonly unknown[]): boolean =>
      (command === "ZADD" && key === `${prefix}runs`) || (command === "SADD" && key === `${prefix}run:run`);
    let asked = 0;
    // Between the two commands that index it, and before the thread is written.
    const writer = before(
      (command, args) => index(command, args) && (asked += 1) === 2,
      () => other.sweep(hourMs),
    );
    await writer.append(ofRun("t", "c1"));
    expect(asked).toBe(2);
    expect(await ofRuns()).toEqual(["t"]);
  });

  test("a thread is named before a run writes to it", async () => {
    let isNamed = 0;
    const writer = before(
      (command) => command === "append",
      async () => (isNamed = await client.sismember(`${prefix}run:run`, "t")),
    );
    await writer.append(ofRun("t", "c1"));
    expect(isNamed).toBe(1);
  });

  test("a name that couldn't be stored is stored with the run's next write", async () => {
    const writer = before(
      (command) => command === "SADD",
      () => {
        throw new Error("OOM command not allowed when used memory > 'maxmemory'.");
      },
    );
    await writer.append(ofRun("t", "c1"));
    expect(await ofRuns()).toEqual([]);
    await writer.append(ofRun("t", "c2", "c1"));
    expect(await ofRuns()).toEqual(["t", "t"]);
  });
});

test("a thread that is begun anew while its name is taken out of the index of all threads keeps its name", async () => {
  await other.append(put("t", "c1"));
  await client.del(`${prefix}t:{t}`, `${prefix}i:{t}`);
  await client.zadd(`${prefix}threads`, 1000, "t");
  const reader = after("HMGET", () => other.append(put("t", "anew")));
  await idsOf(reader.threads({}));
  expect(await idsOf(other.threads({}))).toEqual(["t"]);
});

describe("of tags", () => {
  const tagged = (tag = anna) => idsOf(other.threads({ tags: [tag] }));

  test("who looks at a thread while it is tagged doesn't take its name out", async () => {
    await other.append(put("t", "c1"));
    const writer = before((command) => command === "tagThread", tagged);
    await writer.tagThread("t", [anna]);
    expect(await tagged()).toEqual(["t"]);
  });

  test("a copy is named before it is there, and also by tags that its source got meanwhile", async () => {
    await other.append(put("source", "c1"));
    await other.tagThread("source", [anna]);
    const key = (await client.keys(`${prefix}tag:*`))[0]!;
    let isNamed: string | null = null;
    const copier = before(
      (command) => command === "HSCAN",
      () => other.tagThread("source", [team]),
    );
    expect(await copier.copyThread("source", "copy")).toBe(true);
    const again = before(
      (command) => command === "paste",
      async () => (isNamed = await client.zscore(key, "again")),
    );
    expect(await again.copyThread("source", "again")).toBe(true);
    expect(isNamed).not.toBeNull();
    expect((await tagged()).sort()).toEqual(["again", "copy", "source"]);
    expect((await tagged(team)).sort()).toEqual(["again", "copy", "source"]);
  });

  test("a copy whose name is taken out before it is there is named again", async () => {
    await other.append(put("source", "c1"));
    await other.tagThread("source", [anna]);
    const copier = before((command) => command === "paste", tagged);
    expect(await copier.copyThread("source", "copy")).toBe(true);
    expect((await tagged()).sort()).toEqual(["copy", "source"]);
  });

  test("a tag without threads is forgotten at once, but not one that is given meanwhile", async () => {
    for (const threadId of ["a", "b"]) {
      await other.append(put(threadId, "c1"));
      await other.tagThread(threadId, [anna]);
    }
    await other.deleteThread("a");
    expect(await client.scard(`${prefix}tags`)).toBe(1);
    const deleter = before(
      (command) => command === "SREM",
      () => other.tagThread("a", [anna]),
    );
    await deleter.deleteThread("b");
    expect(await client.scard(`${prefix}tags`)).toBe(1);
    await other.untagThread("a", [anna]);
    expect(await client.keys(`${prefix}tag*`)).toEqual([]);
  });

  test("a sweep goes on behind the threads of a tag that stay", async () => {
    for (let n = 0; n < 210; n += 1) await other.tagThread(`t${n}`, [anna]);
    const [key] = await client.keys(`${prefix}tag:*`);
    await client.zadd(key!, (Date.now() + hourMs / 2) * 1024, "gone");
    expect([await other.sweep(-hourMs), await other.sweep(-hourMs)]).toEqual([0, 1]);
    expect(await client.zcard(key!)).toBe(210);
  });

  test("a sweep leaves a thread whose tags are damaged, and goes on", async () => {
    for (const threadId of ["damaged", "gone"]) {
      await other.append(put(threadId, "c1"));
      await other.tagThread(threadId, [anna]);
    }
    await client.hset(`${prefix}t:{damaged}`, "g", "9:x");
    await client.del(`${prefix}t:{gone}`, `${prefix}i:{gone}`);
    await other.sweep(-hourMs);
    const [key] = await client.keys(`${prefix}tag:*`);
    expect(await client.zrange(key!, 0, "-1")).toEqual(["damaged"]);
  });
});

test("a copy of which a part was evicted before it was there whole is made again", async () => {
  await other.append(put("source", "c1"));
  const copier = before(
    (command) => command === "paste",
    async () => {
      const [staged] = await client.keys(`${prefix}ct:*`);
      await client.del(staged!);
    },
  );
  expect(await copier.copyThread("source", "copy")).toBe(true);
  expect((await other.read({ threadId: "copy", namespace: "" })).checkpoint?.record.checkpointId).toBe("c1");
});

describe("of open threads", () => {
  test("a damaged thread among them is told, and the others are listed", async () => {
    for (const threadId of ["a", "damaged", "z"]) await other.append(put(threadId, "c1"));
    const listed = async (told: Error[]): Promise<string[]> => {
      const found: string[] = [];
      const query = { status: "unknown", onDamaged: (error: Error) => void told.push(error) } as const;
      for await (const { threadId } of other.threads(query)) found.push(threadId);
      return found.toSorted();
    };
    // The first listing makes the index whole, so that the others read it.
    expect(await listed([])).toEqual(["a", "damaged", "z"]);
    await client.hset(`${prefix}t:{damaged}`, "id", "another");
    const told: Error[] = [];
    expect(await listed(told)).toEqual(["a", "z"]);
    expect(told).toMatchObject([{ code: "CORRUPT", data: { threadId: "damaged" } }]);
  });

  const open = async (threadId: string) => await client.zscore(`${prefix}open`, threadId);
  /** A process that dies once the server has run its script. */
  const dying = () => {
    let isDead = false;
    const cut = watched(
      client,
      () => {
        if (isDead) throw new Error("killed");
      },
      (_, name) => {
        if (name === "append" || name === "appendWrites") isDead = true;
      },
    );
    return redis({ client: cut, prefix });
  };
  const asks = (threadId: string) => ({
    ...{ threadId, namespace: "", checkpointId: "c1", taskId: "task", outcome: "waiting" as const },
    ...{ blobs: [], body: Buffer.from("b"), newBlobs: [] },
  });
  const waiting = async () => await idsOf(other.threads({ status: "waiting" }));

  test("a process that dies right after its write has put the thread there", async () => {
    expect(await waiting()).toEqual([]);
    await dying()
      .append(put("begun", "c1"))
      .catch(() => undefined);
    expect(await open("begun")).not.toBeNull();
    const idle = put("asks", "c1");
    await other.append({
      ...idle,
      records: idle.records.map((record) => ({ ...record, terms: [statusTerms.idle] })),
    });
    await waiting();
    expect(await open("asks")).toBeNull();
    await dying()
      .appendWrites(asks("asks"))
      .catch(() => undefined);
    expect(await waiting()).toContain("asks");
  });

  test("an entry too many is dropped by who reads it", async () => {
    await waiting();
    const refused = { ...put("gone", "c2"), seen: 7 };
    await other.append(refused).catch(() => undefined);
    const idle = put("idle", "c1");
    await other.append({
      ...idle,
      records: idle.records.map((record) => ({ ...record, terms: [statusTerms.idle] })),
    });
    await client.zadd(`${prefix}open`, 1000, "idle", 1000, "never");
    expect(await waiting()).toEqual([]);
    expect([await open("idle"), await open("never")]).toEqual([null, null]);
  });

  test("a sweep finds one that is missing", async () => {
    await other.append(put("t", "c1"));
    await other.appendWrites(asks("t"));
    await waiting();
    const before = await open("t");
    await other.sweep(-hourMs);
    expect(await open("t")).toBe(before);
    await client.zrem(`${prefix}open`, "t");
    expect(await waiting()).toEqual([]);
    await other.sweep(-hourMs);
    expect(await waiting()).toEqual(["t"]);
  });
});
