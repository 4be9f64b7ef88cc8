import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StratigraphError, type ErrorCode, type TraceEvent } from "@stratigraph/core";
import { pglite, postgres, PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../../../test/servers/process.ts";
import { available } from "../../../../test/servers/available.ts";
import { query, startPostgres } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";

// Every error has a code that says whether waiting helps, a sentence that says what to do, and the driver's error as its cause.

const metadata = { source: "loop", step: 0, parents: {} } as const;
const first = checkpointOf({ n: 1 });

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** The error of some work, which must fail, as one of ours. */
async function failure(work: Promise<unknown>): Promise<StratigraphError> {
  const error: unknown = await work.then(
    () => expect.unreachable("it should have failed"),
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error)) throw error;
  return error;
}

/** Every method of a saver that asks the database. */
const calls: readonly ((saver: PostgresSaver) => Promise<unknown>)[] = [
  (saver) => saver.getTuple(at("t")),
  (saver) => saver.put(at("t"), first, metadata, first.channel_versions),
  (saver) => saver.putWrites(at("t", "1"), [["n", 1]], "task"),
  (saver) => saver.list(at("t")).next(),
  (saver) => saver.listThreads(),
  (saver) => saver.deleteThread("t"),
  (saver) => saver.copyThread("t", "u"),
  (saver) => saver.prune(["t"], { strategy: "keep_latest" }),
  (saver) => saver.setup({ verifyOnly: true }),
  (saver) => saver.tier.ping(),
  (saver) => saver.tier.sweep(0),
];

async function expectEach(saver: PostgresSaver, code: ErrorCode, advice: string): Promise<void> {
  for (const call of calls) {
    const error = await failure(call(saver));
    expect(error).toMatchObject({ code, retryable: code === "UNAVAILABLE" });
    expect(error.message).toContain(advice);
    expect(error.message).not.toContain("hunter2");
  }
}

const changes: readonly (readonly [
  name: string,
  change: (url: URL) => unknown,
  code: ErrorCode,
  advice: string,
])[] = [
  [
    "a database that isn't there",
    (url) => (url.pathname = "/nowhere"),
    "NOT_SET_UP",
    "database doesn't exist",
  ],
  ["a user who isn't there", (url) => (url.username = "nobody"), "ACCESS_DENIED", "refused the user"],
  ["no server", (url) => (url.port = "1"), "UNAVAILABLE", "Check that the server runs"],
  ["an unknown host", (url) => (url.hostname = "nowhere.invalid"), "MISCONFIGURED", "host isn't known"],
  ["SSL", (url) => url.searchParams.set("sslmode", "verify-full"), "MISCONFIGURED", "asks for SSL"],
  [
    "a certificate's file that isn't there",
    (url) => url.searchParams.set("sslrootcert", "/nowhere/ca.pem"),
    "MISCONFIGURED",
    "Correct sslrootcert",
  ],
  ["a password of special characters", (url) => (url.password = "hunter2/#?x"), "NOT_SET_UP", "Call setup()"],
];

test.each(changes)("%s, by every method", async (_name, change, code, advice) => {
  const url = new URL(database.url);
  change(url);
  const saver = PostgresSaver.fromConnString(url.href, { retryFor: "100ms" });
  await expectEach(saver, code, advice);
  await saver.end();
});

test("a schema that was never set up, by every method", async () => {
  const saver = PostgresSaver.fromConnString(database.url, { schema: "missing" });
  for (const call of calls) {
    const error = await failure(call(saver));
    expect(error).toMatchObject({ code: "NOT_SET_UP", retryable: false });
  }
  await saver.end();
});

test("a connection string that can't be read shows no password, not in its cause either", async () => {
  const saver = PostgresSaver.fromConnString("postgresql://user:hunter2@host:port/database");
  const error = await failure(saver.getTuple(at("t")));
  expect(error.code).toBe("MISCONFIGURED");
  expect(JSON.stringify([error.message, error.data, { ...(error.cause as object) }])).not.toContain(
    "hunter2",
  );
  await saver.end();
});

test("a pool that its owner ended", async () => {
  const pool = new pg.Pool({ connectionString: database.url });
  const saver = new PostgresSaver({ pool });
  await saver.setup();
  await pool.end();
  for (const call of calls) expect(await failure(call(saver))).toMatchObject({ code: "CLOSED" });
});

describe("the name of a host isn't known", () => {
  test("and never was: the error comes soon, not after retryFor", async () => {
    const saver = PostgresSaver.fromConnString("postgresql://postgres@nowhere.invalid/none", {
      retryFor: "1h",
    });
    const error = await failure(saver.setup());
    expect(error).toMatchObject({ code: "MISCONFIGURED", data: { forMs: 2000 } });
    await saver.end();
  });

  test("but was: an outage, which is waited out", async () => {
    const there = new pg.Pool({ connectionString: database.url });
    const nowhere = new pg.Pool({ connectionString: "postgresql://postgres@nowhere.invalid/none" });
    let away = 0;
    const pool = {
      query: (statement: { text: string; values?: unknown[] }) => {
        away -= 1;
        return (away < 0 ? there : nowhere).query(statement);
      },
    };
    const saver = new PostgresSaver({ pool });
    await saver.setup();
    away = 4;
    const events = await tracedWhile(() => saver.getTuple(at("t")));
    expect(events.filter(({ type }) => type === "retry")).toHaveLength(4);
    const brief = new PostgresSaver({ pool, retryFor: "100ms" });
    await brief.setup();
    away = 100;
    expect(await failure(brief.getTuple(at("t")))).toMatchObject({ code: "UNAVAILABLE" });
    await there.end();
    await nowhere.end();
  });
});

describe("a server that takes no writes", () => {
  /** Switches writing of a database off or on, for sessions that begin from now on. */
  const setReadOnly = async (url: string, value: "on" | "off") => {
    const elsewhere = new URL(url);
    elsewhere.pathname = "/postgres";
    const name = new URL(url).pathname.slice(1);
    await query(elsewhere.href, `alter database ${name} set default_transaction_read_only = ${value}`);
  };

  test("for a moment, as in a failover: the put is repeated, on new connections", async () => {
    const own = await freshDatabase();
    const saver = PostgresSaver.fromConnString(own.url);
    await saver.setup();
    await saver.end();
    await setReadOnly(own.url, "on");
    const writer = PostgresSaver.fromConnString(own.url);
    const isRetry = ({ type }: TraceEvent) => type === "retry";
    const events = await tracedWhile(async (told) => {
      const put = writer.put(at("t"), first, metadata, first.channel_versions);
      await waitUntil("a retry", () => told.some(isRetry));
      await setReadOnly(own.url, "off");
      await put;
    });
    expect(events.filter(isRetry)).not.toEqual([]);
    expect((await writer.getTuple(at("t")))?.checkpoint.id).toBe(first.id);
    await writer.end();
    await own.drop();
  });

  test("for longer: the settings are wrong", async () => {
    const owner = PostgresSaver.fromConnString(database.url);
    await owner.setup();
    await owner.end();
    const url = `${database.url}?options=-c%20default_transaction_read_only%3Don`;
    const saver = PostgresSaver.fromConnString(url, { retryFor: "100ms" });
    expect(await saver.getTuple(at("nothing"))).toBeUndefined();
    const error = await failure(saver.put(at("t"), first, metadata, first.channel_versions));
    expect(error).toMatchObject({ code: "MISCONFIGURED", data: { sqlState: "25006" } });
    expect(error.message).toContain("Connect to the primary");
    await saver.end();
  });
});

test("what somebody added to the tables refuses a row: an error of ours, with theirs as its cause", async () => {
  const saver = PostgresSaver.fromConnString(database.url, { schema: "changed" });
  await saver.setup();
  await query(database.url, "alter table changed.checkpoints add check (length(body) > 1e9)");
  const error = await failure(saver.put(at("t"), first, metadata, first.channel_versions));
  expect(error).toMatchObject({ code: "MISCONFIGURED", data: { sqlState: "23514" } });
  expect(error.cause).toMatchObject({ code: "23514" });
  await saver.end();
});

describe.skipIf(!available.postgres)("a server that asks for a password", () => {
  test("none given, a wrong one, the right one", async () => {
    const server = await startPostgres();
    const hba = join(server.dataDir, "pg_hba.conf");
    writeFileSync(hba, `host all guarded 127.0.0.1/32 scram-sha-256\n${readFileSync(hba, "utf8")}`);
    await query(server.url, "create role guarded login password 'right'");
    await query(server.url, "select pg_reload_conf()");
    const url = (login: string) => server.url.replace("postgres@", `${login}@`);
    for (const [login, advice] of [
      ["guarded", "none was given"],
      ["guarded:hunter2", "refused the password"],
    ] as const) {
      const saver = PostgresSaver.fromConnString(url(login));
      await expectEach(saver, "ACCESS_DENIED", advice);
      await saver.end();
    }
    const right = PostgresSaver.fromConnString(url("guarded:right"));
    expect(await failure(right.getTuple(at("t")))).toMatchObject({ code: "NOT_SET_UP" });
    await right.end();
    await server.stop();
  });
});

test.skipIf(!available.postgres)(
  "a role that has all its connections: the error says so, not that the server can't be reached",
  async () => {
    const server = await startPostgres();
    await query(server.url, "create role few login connection limit 0");
    const url = server.url.replace("postgres@", "few@");
    const saver = PostgresSaver.fromConnString(url, { retryFor: "100ms" });
    for (const call of [() => saver.getTuple(at("t")), () => saver.tier.ping()]) {
      const error = await failure(call());
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, data: { sqlState: "53300" } });
      expect(error.message).toContain("PostgreSQL took no more connections");
      expect(error.message).toContain("or raise the limit");
    }
    await saver.end();
    await server.stop();
  },
);

describe("the folder of an embedded database", () => {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-folder-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "file");
  writeFileSync(file, "");

  test.each([
    ["a file in its place", file, /MISCONFIGURED/],
    ["a file in its path", join(file, "below"), /MISCONFIGURED/],
    ["no right to write", "/sys/stratigraph", /ACCESS_DENIED|MISCONFIGURED/],
    ["a name that is too long", join(folder, "x".repeat(300)), /MISCONFIGURED/],
  ])("%s", async (_name, path, code) => {
    const tier = pglite({ path });
    const error = await failure(tier.setup());
    expect(error.code).toMatch(code);
    expect(error.message).toContain(`Folder ${path} can't be used.`);
    expect(error.cause).toBeInstanceOf(Error);
    await tier.end();
  });
});

test("ping tells whether calls would be served, without waiting", async () => {
  const away = postgres({ url: "postgresql://postgres@127.0.0.1:1/none", retryFor: "1h" });
  expect(await failure(away.ping())).toMatchObject({ code: "UNAVAILABLE" });
  await away.end();
  const tier = postgres({ url: database.url, schema: "pinged" });
  expect(await failure(tier.ping())).toMatchObject({ code: "NOT_SET_UP" });
  await tier.setup();
  await tier.ping();
  await query(
    database.url,
    "delete from pinged.migrations where id = (select max(id) from pinged.migrations)",
  );
  expect(await failure(tier.ping())).toMatchObject({ code: "NOT_SET_UP" });
  await tier.end();
  expect(await failure(tier.ping())).toMatchObject({ code: "CLOSED" });
});
