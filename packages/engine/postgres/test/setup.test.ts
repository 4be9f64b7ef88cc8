import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { runChild } from "../../../../test/servers/children.ts";
import { postgresBin, query } from "../../../../test/servers/postgres.ts";
import { run } from "../../../../test/servers/process.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { allRounds, inRounds } from "../../../../test/rounds.ts";
import { at } from "./support/checkpoints.ts";
import { logOf, threeNodes } from "./support/threeNodes.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.drop());

const root = join(import.meta.dirname, "..");
const program = (name: string) => join(postgresBin() ?? "", name);

/** A run through a saver, and what another one then reads. */
async function expectWorks(saver: PostgresSaver): Promise<void> {
  const config = { configurable: { thread_id: "t" } };
  const { log } = await threeNodes(saver).invoke({ last: "a" }, config);
  expect(log).toEqual(logOf("a"));
  expect((await threeNodes(saver).getState(config)).values.log).toEqual(log);
  await saver.copyThread("t", "copy");
  await saver.prune(["copy"], { strategy: "keep_latest" });
  expect((await saver.listThreads()).threads.map(({ threadId }) => threadId).toSorted()).toEqual([
    "copy",
    "t",
  ]);
  await saver.deleteThread("copy");
  await saver.deleteThread("t");
  expect(await saver.getTuple(at("t"))).toBeUndefined();
}

/** The error of some work, which must fail. */
async function failure(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => expect.unreachable("it should have failed"),
    (error: unknown) => error,
  );
}

const together = inRounds({ few: 4, all: 10 });

test(`${together} processes call setup() at once`, async () => {
  const script = join(import.meta.dirname, "support/setupChild.ts");
  const children = Array.from({ length: together }, () => runChild<string>(script, [database.url]));
  await Promise.all(children.map((child) => child.message((message) => message === "up")));
  for (const child of children) child.send("go");
  for (const child of children) expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup({ verifyOnly: true });
  await expectWorks(saver);
  await saver.end();
});

test("setup() is repeatable and touches no data", async () => {
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
  const config = { configurable: { thread_id: "t" } };
  await threeNodes(saver).invoke({ last: "a" }, config);
  for (let n = 0; n < 3; n += 1) await saver.setup();
  expect((await threeNodes(saver).getState(config)).values.log).toEqual(logOf("a"));
  const rows = await query(database.url, "select id from stratigraph.migrations order by id");
  expect(rows).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((id) => ({ id })));
  await saver.end();
});

test.each([
  'quo"te',
  "dot.ted",
  "with space",
  "Großbuchstaben und ünïcode 🦕",
  "single'quote; drop table x; --",
  "back\\slash",
  "dollar$$sign",
  "$migration$",
  "$stratigraph$",
  ":schema",
  ":id :text",
  "%I%s",
  "public",
])("schema name %j", async (schema) => {
  const saver = PostgresSaver.fromConnString(database.url, { schema });
  await saver.setup();
  await saver.setup();
  await expectWorks(saver);
  const rows = await query(
    database.url,
    "select distinct table_schema from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')",
  );
  expect(rows).toEqual([{ table_schema: schema }]);
  await saver.end();
});

test.each(["", "a\0b", "x".repeat(64), "ü".repeat(32)])("schema name %j is refused", (schema) => {
  expect(() => PostgresSaver.fromConnString(database.url, { schema })).toThrow("Invalid option schema");
});

test("two schemas of one database are two savers", async () => {
  const [a, b] = ["a", "b"].map((schema) => PostgresSaver.fromConnString(database.url, { schema }));
  await Promise.all([a!.setup(), b!.setup()]);
  await threeNodes(a!).invoke({ last: "a" }, { configurable: { thread_id: "t" } });
  expect(await b!.getTuple(at("t"))).toBeUndefined();
  await Promise.all([a!.end(), b!.end()]);
});

test("what setupSql prints, applied through psql, is a set-up schema", async () => {
  for (const schema of ["printed", 'pri"nted two']) {
    const sql = PostgresSaver.setupSql({ schema });
    const { pathname, port } = new URL(database.url);
    const file = join(tmpdir(), `stratigraph-setup-${process.pid}.sql`);
    writeFileSync(file, sql);
    const psql = ["-h", "127.0.0.1", "-p", port, "-U", "postgres", "-X", "-v", "ON_ERROR_STOP=1"];
    for (let n = 0; n < 2; n += 1) await run(program("psql"), [...psql, "-d", pathname.slice(1), "-f", file]);
    rmSync(file);
    const saver = PostgresSaver.fromConnString(database.url, { schema });
    await saver.setup({ verifyOnly: true });
    await expectWorks(saver);
    await saver.end();
  }
});

/** The block of the README that says which rights a process needs. */
function grants(): string {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  return /```sql\n(-- Rights[\s\S]*?)```/.exec(readme)![1]!;
}

test("a role with the rights that the README names runs everything, and can't set up", async () => {
  const { pathname } = new URL(database.url);
  const role = `app_${pathname.slice(1)}`;
  await query(database.url, `create role ${role} login`);
  const url = new URL(database.url);
  url.username = role;
  const app = PostgresSaver.fromConnString(url.href);
  try {
    // Nothing is there.
    expect(await failure(app.setup({ verifyOnly: true }))).toMatchObject({ code: "NOT_SET_UP" });
    expect(await failure(app.getTuple(at("t")))).toMatchObject({ code: "NOT_SET_UP" });
    const refused = await failure(app.setup());
    expect(refused).toMatchObject({ code: "ACCESS_DENIED", data: { sqlState: "42501" }, retryable: false });
    expect(String(refused)).toContain("apply the SQL that PostgresSaver.setupSql() prints");

    const owner = PostgresSaver.fromConnString(database.url);
    await owner.setup();
    await owner.end();
    // There, and forbidden.
    const forbidden = await failure(app.getTuple(at("t")));
    expect(forbidden).toMatchObject({ code: "ACCESS_DENIED", data: { sqlState: "42501" } });
    expect(String(forbidden)).toContain("grant usage on schema");

    await query(database.url, grants().replaceAll("app_role", role));
    await app.setup({ verifyOnly: true });
    await expectWorks(app);
    expect(await failure(query(url.href, "create table stratigraph.mine (n integer)"))).toMatchObject({
      code: "42501",
    });
    // Done already, so that it needs no more rights.
    await app.setup({ createSchema: false });
  } finally {
    await app.end();
    await query(database.url, `drop owned by ${role}; drop role ${role}`);
  }
});

test("createSchema: false sets up inside a schema that somebody else made", async () => {
  const saver = PostgresSaver.fromConnString(database.url, { schema: "made" });
  const error = await failure(saver.setup({ createSchema: false }));
  expect(error).toMatchObject({ code: "NOT_SET_UP" });
  expect(await query(database.url, "select from pg_namespace where nspname = 'made'")).toEqual([]);
  await query(database.url, "create schema made");
  await saver.setup({ createSchema: false });
  await expectWorks(saver);
  await saver.end();
});

test("a migration of a newer version that breaks older ones keeps them out; one that doesn't, doesn't", async () => {
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
  await query(database.url, "insert into stratigraph.migrations (id) values (900000)");
  await saver.setup();
  await expectWorks(saver);
  await query(database.url, "insert into stratigraph.migrations (id, breaking) values (900001, true)");
  for (const options of [{}, { verifyOnly: true }]) {
    const error = await failure(saver.setup(options));
    expect(error).toMatchObject({ code: "NOT_SET_UP" });
    expect(String(error)).toContain("Upgrade @stratigraph/postgres");
  }
  await query(database.url, "delete from stratigraph.migrations where id in (10, 900000, 900001)");
  expect(String(await failure(saver.setup({ verifyOnly: true })))).toContain("lacks migration 10");
  await saver.end();
});

test("a setup that fails half-way leaves nothing", async () => {
  await query(database.url, "create schema half; create view half.history as select 1 as one");
  const saver = PostgresSaver.fromConnString(database.url, { schema: "half" });
  const error = await failure(saver.setup());
  expect(error).toMatchObject({ code: "MISCONFIGURED", data: { sqlState: "42P07" } });
  expect(String(error)).toContain("Use a schema of its own: the option schema");
  const rows = await query(
    database.url,
    "select table_name from information_schema.tables where table_schema = 'half'",
  );
  expect(rows).toEqual([{ table_name: "history" }]);
  await query(database.url, "drop view half.history");
  await saver.setup();
  await expectWorks(saver);
  await saver.end();
});

test.each([
  ["threads", "id integer"],
  ["migrations", "name text"],
])("a table of others called %s in the schema is said to be one", async (table, columns) => {
  await query(database.url, `create table public.${table} (${columns})`);
  const saver = PostgresSaver.fromConnString(database.url, { schema: "public" });
  const error = await failure(saver.setup());
  expect(error).toMatchObject({ code: "MISCONFIGURED" });
  expect(String(error)).toContain("Use a schema of its own: the option schema");
  await saver.end();
});

test.runIf(allRounds)(
  "waiting for another process that sets up has an end, and leaves no setting behind",
  async () => {
    const locker = new pg.Client({ connectionString: database.url });
    await locker.connect();
    // As another process that hangs while it sets up.
    await locker.query("begin; select pg_advisory_xact_lock(hashtextextended('stratigraph setup', 0))");
    const saver = PostgresSaver.fromConnString(database.url, { retryFor: "1s", statementTimeout: "1s" });
    expect(await failure(saver.setup())).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    await locker.query("commit");
    await saver.setup();
    await saver.end();
    await locker.query("set lock_timeout = '7s'");
    await locker.query(`begin; ${PostgresSaver.setupSql({ schema: "again" })}; commit`);
    expect((await locker.query("show lock_timeout")).rows).toEqual([{ lock_timeout: "7s" }]);
    await locker.end();
  },
);
