import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import {
  MemoryTier,
  StratigraphError,
  TierSaver,
  type EncryptionOptions,
  type Tier,
  type TraceEvent,
} from "@stratigraph/core";
import { folder, FolderSaver } from "@stratigraph/s3";
import { FaultyTier } from "@stratigraph/testing";
import { createCheckpointer, PostgresSaver, RedisSaver, TieredSaver } from "stratigraph";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";

const hashKey = randomBytes(32);
const right: EncryptionOptions = { keys: { a: randomBytes(32) }, activeKey: "a", hashKey };
const wrong: EncryptionOptions = { ...right, keys: { a: randomBytes(32) } };

function refusedBy(tier: string, role = "warm") {
  return { code: "KEY_MISMATCH", data: { keyId: "a", tier, role } };
}

async function say(saver: TierSaver, threadId: string): Promise<void> {
  const config = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const value = { a: `said in ${threadId} ${"x".repeat(500)}` };
  const checkpoint = { ...emptyCheckpoint(), channel_values: value, channel_versions: { a: 1 } };
  await saver.put(config, checkpoint, { source: "input", step: 0, parents: {} }, { a: 1 });
}

async function read(saver: TierSaver, threadId: string): Promise<unknown> {
  return (await saver.getTuple({ configurable: { thread_id: threadId } }))?.checkpoint.channel_values["a"];
}

async function freshFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "stratigraph-keys-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Opens a saver that is ended with the test. */
async function opened<T extends TierSaver>(saver: T): Promise<T> {
  onTestFinished(() => saver.end());
  await saver.setup();
  return saver;
}

describe("a folder", () => {
  test("keeps check values beside the threads; damaged ones are written anew after the keys proved themselves", async () => {
    const path = await freshFolder();
    await say(await opened(new FolderSaver(path, { encryption: right })), "t");
    await expect(opened(new FolderSaver(path, { encryption: wrong }))).rejects.toMatchObject(
      refusedBy("folder"),
    );
    await writeFile(join(path, ".keys", "checks"), "{");
    await expect(opened(new FolderSaver(path, { encryption: wrong }))).rejects.toThrow(
      "nothing that was looked at",
    );
    await say(await opened(new FolderSaver(path, { encryption: right })), "t2");
    await expect(opened(new FolderSaver(path, { encryption: wrong }))).rejects.toThrow(
      "check value is another",
    );
    expect((await new FolderSaver(path).listThreads()).threads).toHaveLength(2);
  });
});

describe("a stack", () => {
  const stack = (
    warm: Tier,
    cold: Tier,
    encryption: EncryptionOptions,
    hot: readonly Tier[] = [],
  ): TieredSaver => new TieredSaver({ hot, warm, cold, encryption });

  test("an archive that was written with another key is named, and nothing is left in the warm tier", async () => {
    const path = await freshFolder();
    await opened(new FolderSaver(path, { encryption: right }));
    const warm = new MemoryTier();
    await expect(opened(stack(warm, folder({ path }), wrong))).rejects.toMatchObject(
      refusedBy("folder", "cold"),
    );
    expect((await warm.keyChecks(["hash", "key a"])).size).toBe(0);
  });

  test("a hot tier with copies of another storage is named, and may be emptied", async () => {
    const hot = new MemoryTier();
    await opened(new TierSaver(hot, { encryption: wrong }));
    const saver = stack(new MemoryTier(), folder({ path: await freshFolder() }), right, [hot]);
    const refused: unknown = await opened(saver).catch((error: unknown) => error);
    expect(refused).toMatchObject(refusedBy("memory", "hot"));
    expect(String(refused)).toContain("empty it");
  });

  test("an archive and a hot tier that are away keep nobody from opening the stack", async () => {
    const [hot, cold] = [new FaultyTier(new MemoryTier()), new FaultyTier(new MemoryTier())];
    for (const tier of [hot, cold])
      tier.failWhen(({ method }) =>
        method === "keyChecks" ? new StratigraphError("UNAVAILABLE", "away") : false,
      );
    const saver = await opened(stack(new MemoryTier(), cold, right, [hot]));
    await say(saver, "t");
    expect(await read(saver, "t")).toContain("said in t");
    expect(await saver.diagnoseKeys({ timeoutMs: 10_000 })).toMatchObject([
      { role: "hot", status: "unknown" },
      { role: "warm", status: "ok" },
      { role: "cold", status: "unknown" },
    ]);
  });
});

describe("PostgreSQL", async () => {
  const database = await freshDatabase();
  afterAll(() => database.drop());
  let schemas = 0;
  const fresh = (): string => `keys${(schemas += 1)}`;
  const saverOf = (schema: string, encryption: EncryptionOptions, url = database.url): PostgresSaver =>
    PostgresSaver.fromConnString(url, { schema, encryption });

  test("another key is refused, also by who changes nothing; of two at once, one wins", async () => {
    const schema = fresh();
    const both = await Promise.allSettled([opened(saverOf(schema, right)), opened(saverOf(schema, wrong))]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const [one, other] = both[0].status === "fulfilled" ? [right, wrong] : [wrong, right];
    await say(await opened(saverOf(schema, one)), "t");
    const looking = saverOf(schema, other);
    onTestFinished(() => looking.end());
    await expect(looking.setup({ verifyOnly: true })).rejects.toMatchObject(refusedBy("postgres"));
    await expect(
      createCheckpointer({ postgres: database.url, schema, encryption: other }),
    ).rejects.toMatchObject(refusedBy("postgres"));
    // As the guide says.
    const remove = `delete from ${schema}.leases where ${schema}.id_text(name) like 'stratigraph.keyCheck/%' returning 1`;
    expect(await query(database.url, remove)).toHaveLength(2);
    await expect(opened(saverOf(schema, other))).rejects.toThrow("nothing that was looked at");
    const reader = await opened(saverOf(schema, one));
    expect(await read(reader, "t")).toContain("said in t");
  });

  test("who may only read opens it, and stores nothing; nor does setup under verifyOnly", async () => {
    const schema = fresh();
    const writer = await opened(saverOf(schema, right));
    await say(writer, "t");
    await query(database.url, `delete from ${schema}.leases`);
    const role = `reader_${randomBytes(4).toString("hex")}`;
    await query(
      database.url,
      `create role ${role} login; grant usage on schema ${schema} to ${role};
       grant select on all tables in schema ${schema} to ${role};
       grant execute on all functions in schema ${schema} to ${role}`,
    );
    const url = new URL(database.url);
    url.username = role;
    const asks = async (): Promise<void> => {
      const retries: unknown[] = [];
      const note = (event: unknown): void =>
        void ((event as TraceEvent).type === "retry" && retries.push(event));
      subscribe("stratigraph", note);
      const reader = await opened(saverOf(schema, right, url.href));
      unsubscribe("stratigraph", note);
      expect(retries, "the opening waits for nothing").toEqual([]);
      expect(await read(reader, "t")).toContain("said in t");
    };
    await asks();
    await query(database.url, `revoke all on ${schema}.leases from ${role}`);
    await asks();
    await query(database.url, `alter role ${role} set default_transaction_read_only = on`);
    await query(database.url, `grant select on ${schema}.leases to ${role}`);
    await asks();
    const looking = saverOf(schema, right);
    onTestFinished(() => looking.end());
    await looking.setup({ verifyOnly: true });
    expect(await query(database.url, `select from ${schema}.leases`)).toHaveLength(0);
    await query(database.url, `drop owned by ${role}; drop role ${role}`);
  });

  test("each of several databases keeps its own, and the one that differs is named", async () => {
    const other = await freshDatabase();
    onTestFinished(() => other.drop());
    const schema = fresh();
    const open = (encryption: EncryptionOptions): Promise<TierSaver> =>
      createCheckpointer({ postgres: [database.url, other.url], schema, encryption });
    const saver = await open(right);
    for (let n = 0; n < 8; n += 1) await say(saver, `t${n}`);
    await saver.end();
    await query(database.url, `delete from ${schema}.leases`);
    await expect(open(wrong)).rejects.toMatchObject(refusedBy("postgres#2"));
    expect(await query(database.url, `select from ${schema}.leases`)).toHaveLength(0);
    await (await open(right)).end();
    expect(await query(database.url, `select from ${schema}.leases`)).toHaveLength(2);
  });
});

test.skipIf(!available.redis)(
  "Redis that was emptied is no outage: the next process stores its check values",
  async () => {
    const { url, prefix } = await sharedRedis();
    const saver = await RedisSaver.fromUrl(url, { prefix, encryption: right });
    onTestFinished(() => saver.end());
    await expect(RedisSaver.fromUrl(url, { prefix, encryption: wrong })).rejects.toMatchObject(
      refusedBy("redis"),
    );
    const { Redis } = await import("ioredis");
    const client = new Redis(url);
    onTestFinished(() => client.disconnect());
    expect(await client.del(`${prefix}keychecks`)).toBe(1);
    await say(saver, "t");
    await expect(RedisSaver.fromUrl(url, { prefix, encryption: wrong })).rejects.toThrow(
      "nothing that was looked at",
    );
    const next = await RedisSaver.fromUrl(url, { prefix, encryption: right });
    onTestFinished(() => next.end());
    expect(await read(next, "t")).toContain("said in t");
    expect(await client.hlen(`${prefix}keychecks`)).toBe(2);
  },
);
