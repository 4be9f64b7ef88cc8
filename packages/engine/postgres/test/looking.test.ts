import { PostgresSaver } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { keyOf } from "../src/wire/keys.ts";
import { appendOf } from "./group/support/requests.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import { threeNodes } from "./support/threeNodes.ts";

// What people find with psql.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let saver: PostgresSaver;
beforeAll(async () => {
  database = await freshDatabase();
  saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
});
afterAll(async () => {
  await saver.end();
  await database.drop();
});

const sql = (text: string, values?: unknown[]) => query(database.url, text, values);
const historyOf = (threadId: string) => sql("select * from stratigraph.history_of($1)", [threadId]);

test("the history of a thread: newest first, with time, source, size, and what is pending", async () => {
  const config = { configurable: { thread_id: "a thread" } };
  const before = Date.now();
  await threeNodes(saver).invoke({ last: "a" }, config);
  await threeNodes(saver).updateState(config, { last: "x".repeat(1000) });
  const after = Date.now();
  const rows = await historyOf("a thread");
  const listed: { id: string; source: unknown; ts: string }[] = [];
  for await (const { checkpoint, metadata } of saver.list(at("a thread")))
    listed.push({ id: checkpoint.id, source: metadata?.source, ts: checkpoint.ts });
  expect(rows.map(({ checkpoint_id: id }) => id)).toEqual(listed.map(({ id }) => id));
  expect(rows.map(({ source }) => source)).toEqual(listed.map(({ source }) => source));
  expect(rows.map(({ source }) => source)).toEqual(["update", "loop", "loop", "loop", "loop", "input"]);
  for (const row of rows) {
    expect(row).toMatchObject({ thread_id: "a thread", checkpoint_ns: "", lost_to: null });
    const time = (row["time"] as Date).getTime();
    expect(time).toBeGreaterThanOrEqual(before - 1);
    expect(time).toBeLessThanOrEqual(after + 1);
    expect(row["record_bytes"]).toBeGreaterThan(0);
  }
  expect(rows.map(({ head }) => head)).toEqual([true, false, false, false, false, false]);
  expect(rows.map(({ parent_checkpoint_id: parent }) => parent)).toEqual([
    ...rows.slice(1).map(({ checkpoint_id: id }) => id),
    null,
  ]);
  expect(Number(rows[0]!["value_bytes"])).toBeGreaterThan(10);
  expect(Number(rows.at(-1)!["pending_writes"])).toBeGreaterThan(0);
});

test.each(["fork", "input", "loop", "update"] as const)(
  "source %s is told by its tag, also of encrypted records",
  async (source) => {
    const encrypted = PostgresSaver.fromConnString(database.url, {
      encryption: { keys: { k: Buffer.alloc(32, 7) }, activeKey: "k", hashKey: Buffer.alloc(32, 8) },
    });
    const checkpoint = checkpointOf({ n: 1 });
    await encrypted.put(
      at(`by ${source}`),
      checkpoint,
      { source, step: 3, parents: {} },
      checkpoint.channel_versions,
    );
    expect(await historyOf(`by ${source}`)).toMatchObject([{ source, checkpoint_id: checkpoint.id }]);
    await encrypted.end();
  },
);

const ids = [
  "grüße 🦕👩‍👩‍👧‍👦",
  "é",
  "e\u0301",
  "'quoted' \\x00 \"",
  "1f1e4e9b-0f5a-6ec0-83e6-0a96b323db2b",
  "1F1E4E9B-0F5A-6EC0-83E6-0A96B323DB2B",
  "ü".repeat(256),
  "ü".repeat(257),
  "long 🦕 ".repeat(1_000),
];

test.each(ids)(
  "id %#: read as it was written, found by equality, and its key is what the package makes of it",
  async (id) => {
    await saver.tier.append(appendOf(id, "1"));
    expect(await historyOf(id)).toMatchObject([
      { thread_id: id, checkpoint_id: "1", time: null, source: null },
    ]);
    const found = await sql("select thread_id from stratigraph.history where thread_id = $1", [id]);
    expect(found).toEqual([{ thread_id: id }]);
    expect(
      await sql("select thread_id, checkpoints from stratigraph.overview where thread_id = $1", [id]),
    ).toEqual([{ thread_id: id, checkpoints: "1" }]);
    const [row] = await sql("select stratigraph.id_key($1) as key", [id]);
    expect(row!["key"]).toEqual(keyOf(id));
  },
);

test("ids that text can't hold are shown with escapes, and break no view", async () => {
  await saver.tier.append(appendOf("nul\0 ü", "\0"));
  await saver.tier.append(appendOf("\0".repeat(600), "1"));
  const rows = await sql(
    "select thread_id, checkpoint_id from stratigraph.history where thread_id like $1 or thread_id like $2",
    ["nul%", "\\\\000%"],
  );
  expect(rows).toEqual(
    expect.arrayContaining([
      { thread_id: "nul\\000 \\303\\274", checkpoint_id: "\\000" },
      { thread_id: "\\000".repeat(600), checkpoint_id: "1" },
    ]),
  );
  await sql("select * from stratigraph.overview");
});

test("a time is told by UUIDs of version 6 and 7 alone", async () => {
  const timeOf = async (id: string) =>
    (await sql("select stratigraph.id_time(stratigraph.id_key($1)) as time", [id]))[0]!["time"];
  // The examples of RFC 9562: 22 February 2022, 14:22:22 in New York.
  const example = new Date("2022-02-22T19:22:22.000Z");
  expect(await timeOf("1ec9414c-232a-6b00-b3c8-9f6bdeced846")).toEqual(example);
  expect(await timeOf("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")).toEqual(example);
  for (const id of ["", "1", "919108f7-52d1-4320-9bac-f847db4148a8", "c232ab00-9414-11ec-b3c8-9f6bdeced846"])
    expect(await timeOf(id)).toBeNull();
});

test("the overview: live, evicted, deleted, with early writes alone", async () => {
  const { tier } = saver;
  await tier.append(appendOf("evicted", "1"));
  const { revision } = await tier.peek({ threadId: "evicted", namespace: "" });
  await tier.evict("evicted", revision);
  await tier.append(appendOf("deleted", "1"));
  await tier.deleteThread("deleted");
  await tier.append(appendOf("live", "1"));
  const rowOf = async (id: string) =>
    (await sql("select * from stratigraph.overview where thread = stratigraph.thread_of($1)", [id]))[0];
  expect(await rowOf("live")).toMatchObject({ checkpoints: "1", evicted: false, deleted: false });
  expect(Number((await rowOf("live"))!["bytes"])).toBe("value of 1".length + "body of 1".length);
  expect(await rowOf("evicted")).toMatchObject({
    checkpoints: "0",
    bytes: "0",
    evicted: true,
    deleted: false,
  });
  expect(await rowOf("deleted")).toMatchObject({
    checkpoints: "0",
    bytes: "0",
    evicted: false,
    deleted: true,
  });
  expect(await rowOf("never")).toBeUndefined();
});

test("one thread among many is found by indexes", async () => {
  await sql(
    `insert into stratigraph.threads (key, revision, live, written_at) select stratigraph.id_key('many ' || n), 1, true, now() from generate_series(1, 5000) n`,
  );
  await sql(
    `insert into stratigraph.checkpoints (thread, id, ns, terms, blobs, body)
     select t.thread, stratigraph.id_key('c' || n), '', '{}', substring(sha256('value') for 20), 'body'
       from stratigraph.threads t, generate_series(1, 5) n;
     insert into stratigraph.heads (thread, ns, id) select t.thread, '', stratigraph.id_key('c5') from stratigraph.threads t
     on conflict do nothing;
     insert into stratigraph.blobs (thread, hash, bytes)
     select t.thread, substring(sha256('value') for 20), 'value' from stratigraph.threads t;
     insert into stratigraph.writes (thread, id, ns, seq, part, task, blobs, body)
     select t.thread, stratigraph.id_key('c5'), '', 1, 1, 'task', '', 'body' from stratigraph.threads t`,
  );
  await sql(
    "analyze stratigraph.threads, stratigraph.checkpoints, stratigraph.heads, stratigraph.blobs, stratigraph.writes",
  );
  for (const statement of [
    "select * from stratigraph.history_of('many 77')",
    "select * from stratigraph.history where thread = stratigraph.thread_of('many 77')",
    "select * from stratigraph.overview where thread = stratigraph.thread_of('many 77')",
  ]) {
    const plan = (await sql(`explain ${statement}`)).map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toContain("Index");
    expect(plan).not.toContain("Seq Scan");
  }
  const rows = await historyOf("many 77");
  expect(rows.map(({ value_bytes: bytes, pending_writes: writes }) => [bytes, writes])).toEqual([
    ["5", "1"],
    ...Array.from({ length: 4 }, () => ["5", "0"]),
  ]);
});

test("everything says in psql what it is", async () => {
  const silent = await sql(
    `select c.relname as name from pg_class c
      where c.relnamespace = 'stratigraph'::regnamespace and c.relkind in ('r', 'v') and obj_description(c.oid, 'pg_class') is null
     union all
     select p.proname from pg_proc p
      where p.pronamespace = 'stratigraph'::regnamespace and obj_description(p.oid, 'pg_proc') is null`,
  );
  expect(silent).toEqual([]);
});
