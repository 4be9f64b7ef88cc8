// long file: one storage after another, and what becomes of keys on each
import { allRounds } from "../../../../test/rounds.ts";
import { randomBytes, randomUUID } from "node:crypto";
import { MemoryTier, TierSaver, type EncryptionOptions, type Tier } from "@stratigraph/core";
import type { ItemKeeper, LoggedChange, WorkspaceKeeper, WorkspaceStorage } from "@stratigraph/core/tier";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { TierStack } from "@stratigraph/tiered";
import { createWorkspace, type Workspace, type WorkspaceEvent } from "@stratigraph/workspace";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { countedPool } from "../../../engine/postgres/test/support/countedPool.ts";
import { replacing } from "../../../engine/core/test/contract/support.ts";
import { testWorkspace } from "./suite.ts";

const hashKey = randomBytes(32);
const [one, two] = [randomBytes(32), randomBytes(32)];
const old: EncryptionOptions = { keys: { one }, activeKey: "one", hashKey };
const rotated: EncryptionOptions = { keys: { one, two }, activeKey: "two", hashKey };
const newOnly: EncryptionOptions = { keys: { two }, activeKey: "two", hashKey, refusePlaintext: true };

type Keeper = ItemKeeper & WorkspaceKeeper;

/** Opens a saver on one storage, any number of times. */
interface Storage {
  open(encryption?: EncryptionOptions): TierSaver | Promise<TierSaver>;
  /** All bytes that are stored, as latin1. */
  raw(): Promise<string>;
}

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const keeperOf = ({ tier }: TierSaver): Keeper => tier as unknown as Keeper;
const latin1 = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("latin1");

async function inMemory(): Promise<Storage> {
  const tier = new MemoryTier();
  return {
    open: (encryption) => new TierSaver(tier, { encryption }),
    async raw() {
      const { items } = await tier.items.all({ limit: 10_000 });
      const names = await tier.workspaces.list({ limit: 1000 });
      const logs = await Promise.all(
        names.map(async (name) => await tier.workspaces.log(name, { prefixes: [[]], limit: 10_000 })),
      );
      const all = [...items, ...logs.flatMap(({ entries }) => entries)];
      return all.map((each) => JSON.stringify(each) + latin1(each.value) + latin1(each.note)).join();
    },
  };
}

const database = await freshDatabase();
ends.push(async () => await database.drop());

function opened(saver: PostgresSaver): PostgresSaver {
  ends.push(async () => await saver.end());
  return saver;
}

/** All rows of a schema. Bytes are text there, in hexadecimal digits. */
async function rowsOf(rows: (sql: string) => Promise<readonly Record<string, unknown>[]>, schema: string) {
  const tables = await rows(`select tablename from pg_tables where schemaname = '${schema}'`);
  const found: string[] = [];
  for (const { tablename } of tables)
    for (const { row } of await rows(`select t::text as row from ${schema}.${String(tablename)} t`))
      found.push(
        String(row).replaceAll(/\\+x([0-9a-f]*)/g, (_, hex: string) =>
          Buffer.from(hex, "hex").toString("latin1"),
        ),
      );
  return found.join();
}

async function onPostgres(): Promise<Storage & { readonly schema: string }> {
  const schema = `s${randomUUID().replaceAll("-", "")}`;
  await opened(PostgresSaver.fromConnString(database.url, { schema })).setup();
  return {
    schema,
    open: (encryption) => opened(PostgresSaver.fromConnString(database.url, { schema, encryption })),
    raw: async () => await rowsOf(async (sql) => await query(database.url, sql), schema),
  };
}

async function onStack(): Promise<Storage> {
  const { open, raw } = await onPostgres();
  return {
    open: async (encryption) => {
      const { tier } = (await open()) as PostgresSaver;
      return new TierSaver(new TierStack({ hot: [new MemoryTier()], warm: tier }), { encryption });
    },
    raw,
  };
}

async function onRedis(): Promise<Storage> {
  const { url, prefix } = await sharedRedis();
  const client = new Redis(url);
  ends.push(async () => client.disconnect());
  return {
    open: (encryption) => new RedisSaver({ client, prefix, encryption }),
    async raw() {
      const found: string[] = [];
      for await (const keys of client.scanStream({ match: `${prefix}*` }) as AsyncIterable<string[]>)
        for (const key of keys) {
          const type = await client.type(key);
          const parts =
            type === "hash"
              ? Object.entries(await client.hgetallBuffer(key)).flatMap(([field, value]) => [
                  field,
                  latin1(value),
                ])
              : type === "zset"
                ? (await client.zrangeBuffer(key, "0", "-1")).map(latin1)
                : [latin1(await client.dumpBuffer(key))];
          found.push(key, ...parts);
        }
      return found.join();
    },
  };
}

testWorkspace("memory, encrypted", async () => {
  const storage = await inMemory();
  return { saver: await storage.open(old), other: await storage.open(old) };
});

testWorkspace("PostgreSQL, encrypted", async () => {
  const storage = await onPostgres();
  return { saver: await storage.open(old), other: await storage.open(old) };
});

/** Everything that a workspace keeps text in. @param secret a text that begins with a word, always the same for that */
async function fill(ws: Workspace, secret: (word: string) => string): Promise<void> {
  await ws.put(["plan"], "days", { text: secret("old") }, { reason: secret("reason") });
  await ws.put(["plan"], "days", { text: secret("new"), [secret("field")]: 1 }, { ttl: "1h" });
  await ws.put(["plan"], "gone", { text: secret("gone") });
  await ws.delete(["plan"], "gone", { reason: secret("why") });
  await ws.put(["plan"], "large", {
    text: Array.from({ length: 3000 }, (_, n) => `${n} ${secret("large")}`),
  });
  await ws.topic("news").publish({ text: secret("said") }, { reason: secret("reason") });
  await ws.send("ben", { text: secret("sent") });
  for await (const message of ws.topic("news").subscribe("reader")) {
    await message.ack();
    break;
  }
  await ws.board().add("task", { what: secret("do"), data: { note: secret("data") } });
  await ws.board().work(() => ({ text: secret("result") }));
}

async function collected<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of all) found.push(each);
  return found;
}

/** All that a workspace tells. */
async function told(ws: Workspace): Promise<unknown> {
  const past = await ws.at(await ws.version());
  return {
    version: await ws.version(),
    items: await ws.search([], { limit: 100 }),
    past: await past.search([], { limit: 100 }),
    log: await collected(ws.log()),
    history: await collected(ws.history(["plan"], "days")),
    news: await collected(ws.topic("news").replay()),
    inbox: await collected(ws.inbox("ben").replay()),
    tasks: await ws.board().tasks(),
    namespaces: await ws.listNamespaces(),
    locks: await ws.locks(),
  };
}

async function keysOf(saver: TierSaver): Promise<string[]> {
  const { keys } = await saver.keysInUse();
  return keys.map(({ keyId, items }) => `${keyId ?? "plain"}: ${items}`);
}

async function logOf(saver: TierSaver, name: string): Promise<readonly LoggedChange[]> {
  return (await keeperOf(saver).workspaces.log(name, { prefixes: [[]], limit: 10_000 })).entries;
}

describe.each([
  ["memory", inMemory],
  ["PostgreSQL", onPostgres],
  ["Redis", onRedis],
  ...(allRounds ? ([["a stack", onStack]] as const) : []),
] as const)("encrypted workspaces on %s", (_, opening) => {
  test("no value, author or reason can be read in what is stored", async () => {
    const storage = await opening();
    const secrets = new Map<string, string>();
    const secret = (word: string): string => {
      const known = secrets.get(word) ?? `${word}-${randomUUID()}`;
      secrets.set(word, known);
      return known;
    };
    const open = (saver: TierSaver, name: string): Workspace =>
      createWorkspace(saver, name, { agent: secret("agent") });
    const ws = open(await storage.open(old), "trip");
    await fill(ws, secret);
    await ws.fork("what if");
    const readable = async (): Promise<string[]> => {
      const raw = await storage.raw();
      return [...secrets.values()].filter((each) => raw.includes(each));
    };
    await ws.lock("deploy", undefined, async () => {
      expect(await readable()).toEqual([]);
      const raw = await storage.raw();
      for (const name of ["trip", "what if", "plan", "days", "news", "reader", "ben", "deploy"])
        expect(raw).toContain(name);
    });
    const [best] = await ws.search(["plan"], { query: secret("new") });
    expect(best).toMatchObject({ key: "days" });
    expect(await ws.search(["plan"], { filter: { text: secret("new") } })).toMatchObject([{ key: "days" }]);
    // Much of what a plain saver writes can be read: so the look above would have seen it. The rest is compressed.
    await fill(open(await storage.open(), "open"), secret);
    const short = ["agent", "old", "new", "gone", "said", "sent"];
    expect(await readable()).toEqual(expect.arrayContaining(short.map(secret)));
  });

  test("another key encrypts everything anew, and then the old one may go", async () => {
    const storage = await opening();
    const before = createWorkspace(await storage.open(), "trip", { agent: "anna" });
    await fill(before, (word) => `${word} first`);
    const ws = createWorkspace(await storage.open(old), "trip", { agent: "ben" });
    await fill(ws, (word) => `${word} second`);
    const saver = await storage.open(rotated);
    const now = createWorkspace(saver, "trip", { agent: "cleo" });
    await now.put(["plan"], "days", { text: "third", kind: "third" });
    await (await storage.open()).store().put(["a"], "k", { n: 1 });
    const [known, log] = [await told(now), await logOf(saver, "trip")];
    expect(await keysOf(saver)).toMatchObject([
      expect.stringContaining("plain: "),
      expect.stringContaining("one: "),
      expect.stringContaining("two: 1"),
    ]);
    const ended = new AbortController();
    const seen: WorkspaceEvent[] = [];
    const watching = (async () => {
      for await (const event of now.watch({ signal: ended.signal })) seen.push(event);
    })();

    let cursor: string | undefined;
    let items = 0;
    do {
      const report = await saver.reencrypt({ limit: 1, cursor });
      expect(report).toMatchObject({ threads: 0, failures: 0 });
      items += report.items;
      ({ cursor } = report);
    } while (cursor !== undefined);
    const [left] = await keysOf(saver);
    expect(left).toBe(`two: ${items + 1}`);
    expect(await saver.reencrypt()).toMatchObject({ items: 0, failures: 0 });

    expect(await told(now)).toEqual(known);
    const plain = (entry: LoggedChange) => ({ ...entry, value: undefined, note: undefined });
    expect((await logOf(saver, "trip")).map(plain)).toEqual(log.map(plain));
    ended.abort();
    await watching;
    expect(seen).toEqual([]);
    const last = createWorkspace(await storage.open(newOnly), "trip", { agent: "cleo" });
    expect(await told(last)).toEqual(known);
    await last.fork("what if");
    await createWorkspace(await storage.open(newOnly), "what if").put(["plan"], "hotel", { n: 1 });
    expect(await last.merge("what if")).toEqual({ ok: true, changed: 1 });
    expect(await last.get(["plan"], "days")).toMatchObject({
      value: { text: "third" },
      author: { agent: "cleo" },
    });
    const forked = createWorkspace(await storage.open(newOnly), "what if");
    expect(await forked.get(["plan"], "days")).toMatchObject({ author: { agent: "cleo" } });
    await last.lock("again", undefined, () => {});
  });

  test("a key that only old entries or notes have is in use", async () => {
    const storage = await opening();
    const ws = createWorkspace(await storage.open(old), "trip");
    await ws.put(["a"], "k", { n: 1 });
    const saver = await storage.open(rotated);
    const now = createWorkspace(saver, "trip");
    await now.put(["a"], "k", { n: 2 });
    expect(await keysOf(saver)).toEqual(["one: 1", "two: 1"]);
    await now.trim((await now.version()) + 1, { keep: "0ms" });
    // One more: up to where the log was trimmed.
    expect(await keysOf(saver)).toEqual(["two: 2"]);
    // A deletion has a note only.
    await ws.delete(["a"], "never");
    expect(await keysOf(saver)).toEqual(["one: 1", "two: 2"]);
    expect(await saver.reencrypt()).toMatchObject({ items: 1 });
    expect(await keysOf(saver)).toEqual(["two: 3"]);
  });
});

describe("what is encrypted", () => {
  test("opens in its own place only: not in another workspace, under another key, or as a note", async () => {
    const tier = new MemoryTier();
    const saver = new TierSaver(tier, { encryption: old });
    const [ws, other] = [createWorkspace(saver, "trip"), createWorkspace(saver, "other")];
    for (const each of [ws, other])
      for (const key of ["k", "l"]) await each.put(["a"], key, { n: 1 }, { reason: "why" });
    await ws.topic("a").publish({ n: 1 });
    const [k, l, message] = (await logOf(saver, "trip")) as [LoggedChange, LoggedChange, LoggedChange];
    const [foreign] = (await logOf(saver, "other")) as [LoggedChange];
    const corrupt = { code: "CORRUPT", data: { namespace: ["a"], key: "k" }, cause: { reason: "tampered" } };
    const moved: Pick<LoggedChange, "note" | "value">[] = [
      { note: k.note, value: foreign.value },
      { note: foreign.note, value: k.value },
      { note: k.note, value: l.value },
      { note: l.note, value: k.value },
      { note: k.note, value: message.value },
      { note: k.note, value: k.note },
      { note: k.value!, value: k.value },
    ];
    let was = k;
    for (const bytes of moved) {
      expect(await tier.workspaces.replace("trip", [{ was, ...bytes }])).toBe(1);
      was = { ...k, ...bytes };
      await expect(ws.get(["a"], "k")).rejects.toMatchObject(corrupt);
      await expect(collected(ws.log())).rejects.toMatchObject(corrupt);
      await expect(ws.search([])).rejects.toMatchObject(corrupt);
      const past = await ws.at(await ws.version());
      await expect(past.get(["a"], "k")).rejects.toMatchObject(corrupt);
    }
    const { failed, items } = await new TierSaver(tier, { encryption: rotated }).reencrypt();
    expect([items, failed.map(({ error }) => error.code)]).toEqual([4, ["CORRUPT"]]);
  });

  test("is for those who have the key: others are told which one is missing", async () => {
    const tier = new MemoryTier();
    const ws = createWorkspace(new TierSaver(tier, { encryption: old }), "trip");
    await ws.put(["a"], "k", { n: 1 });
    await ws.topic("t").publish({ n: 1 });
    for (const encryption of [undefined, newOnly]) {
      const stranger = createWorkspace(new TierSaver(tier, { encryption }), "trip");
      const missing = { code: "KEY_MISSING", data: { keyId: "one" } };
      await expect(stranger.get(["a"], "k")).rejects.toMatchObject(missing);
      await expect(stranger.search([], { filter: { n: 2 } })).rejects.toMatchObject(missing);
      await expect(collected(stranger.history(["a"], "k"))).rejects.toMatchObject(missing);
      await expect(collected(stranger.topic("t").replay())).rejects.toMatchObject(missing);
      await expect(stranger.fork(`by ${encryption?.activeKey}`)).rejects.toMatchObject(missing);
    }
    const wrong: EncryptionOptions = { ...old, keys: { one: two } };
    await expect(
      createWorkspace(new TierSaver(tier, { encryption: wrong }), "trip").get(["a"], "k"),
    ).rejects.toMatchObject({ code: "KEY_MISMATCH", data: { keyId: "one" } });
  });

  test("may have been plain before, where plain text isn't refused, until it is encrypted", async () => {
    const tier = new MemoryTier();
    await fill(createWorkspace(new TierSaver(tier), "trip"), (word) => word);
    const open = (refusePlaintext: boolean): Workspace =>
      createWorkspace(new TierSaver(tier, { encryption: { ...old, refusePlaintext } }), "trip");
    const known = await told(open(false));
    await expect(open(true).get(["plan"], "days")).rejects.toMatchObject({ code: "PLAINTEXT_REFUSED" });
    await expect(collected(open(true).log())).rejects.toMatchObject({ code: "PLAINTEXT_REFUSED" });
    await new TierSaver(tier, { encryption: old }).reencrypt();
    expect(await told(open(true))).toEqual(known);
  });
});

describe("encrypting workspaces anew", () => {
  async function filled(count: number): Promise<MemoryTier> {
    const tier = new MemoryTier();
    for (const name of ["a", "b"]) {
      const ws = createWorkspace(new TierSaver(tier, { encryption: old }), name);
      await ws.transact(
        Array.from({ length: count }, (_, n) => ({ put: { namespace: ["n"], key: `k${n}`, value: { n } } })),
      );
    }
    return tier;
  }

  /** A tier that is changed just before entries are replaced, by somebody who looked at none. */
  function interrupted(tier: MemoryTier, before: () => Promise<number | undefined>): Tier {
    const { workspaces } = tier;
    return replacing(tier, {
      workspaces: {
        log: workspaces.log.bind(workspaces),
        list: workspaces.list.bind(workspaces),
        replace: async (...args) => (await before()) ?? (await workspaces.replace(...args)),
      } satisfies Partial<WorkspaceStorage>,
    });
  }

  test("goes on where it stopped, a page at a time", async () => {
    const tier = await filled(700);
    await new TierSaver(tier, { encryption: old }).store().put(["a"], "k", {});
    const saver = new TierSaver(tier, { encryption: rotated });
    const steps: number[] = [];
    let cursor: string | undefined;
    do {
      const report = await saver.reencrypt({ limit: 1, cursor });
      steps.push(report.items);
      ({ cursor } = report);
      // A new workspace, and one that is gone by then, change nothing.
      if (steps.length === 3) await createWorkspace(saver, "aa").put(["n"], "k", {});
    } while (cursor !== undefined);
    expect(steps).toEqual([...[1, 0, 0], ...[500, 200], 0, ...[500, 200]]);
    expect(await keysOf(saver)).toEqual(["two: 1402"]);
  });

  test("leaves what others write and trim meanwhile, and says what it couldn't do", async () => {
    const tier = await filled(3);
    const ws = createWorkspace(new TierSaver(tier, { encryption: rotated }), "a");
    let calls = 0;
    const door = interrupted(tier, async () => {
      if ((calls += 1) > 1) return undefined;
      await ws.put(["n"], "k1", { n: "newer" });
      await ws.delete(["n"], "k2");
      await ws.trim((await ws.version()) + 1, { keep: "0ms" });
      return undefined;
    });
    expect(await new TierSaver(door, { encryption: rotated }).reencrypt()).toMatchObject({
      ...{ items: 4, failures: 0 },
    });
    expect((await ws.search([])).map(({ value }) => value["n"])).toEqual(["newer", 0]);
    expect(await keysOf(new TierSaver(tier))).toEqual(["two: 6"]);

    const busy = interrupted(await filled(2), async () => 0);
    expect(await new TierSaver(busy, { encryption: rotated }).reencrypt()).toMatchObject({
      ...{ items: 0, failures: 2, failed: [{ error: { code: "OVERLOADED" } }, {}] },
    });
  });
});

test("encrypting entries anew waits for nobody on PostgreSQL: no field stays known of an item that a transaction holds", async () => {
  const { open, schema } = await onPostgres();
  const ws = createWorkspace(await open(), "trip");
  for (const key of ["a", "b"]) await ws.put(["a"], key, { text: key });
  const saver = await open(old);
  const fields = async (): Promise<unknown[]> =>
    (await query(database.url, `select fields::text from ${schema}.items order by version`)).map(
      (row) => row["fields"],
    );
  const { pool } = countedPool({ connectionString: database.url, max: 1 });
  const client = await pool.connect();
  await client.query("begin");
  await client.query(`update ${schema}.items set expires_at = null where fields @> '{"text": "b"}'`);
  expect(await saver.reencrypt()).toMatchObject({ items: 1, failed: [{ error: { code: "OVERLOADED" } }] });
  expect(await fields()).toEqual(["true", '{"text": "b"}']);
  await client.query("rollback");
  await client.query("begin");
  await client.query(`update ${schema}.workspace_log set expires_at = null`);
  expect(await saver.reencrypt()).toMatchObject({ items: 0, failed: [{ error: { code: "OVERLOADED" } }] });
  await client.query("rollback");
  client.release();
  await pool.end();
  expect(await saver.reencrypt()).toMatchObject({ items: 1, failures: 0 });
  expect(await fields()).toEqual(["true", "true"]);
});
