import { StratigraphError } from "@stratigraph/core";
import { postgres, PostgresSaver } from "@stratigraph/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { at } from "./support/checkpoints.ts";
import { logOf, threeNodes } from "./support/threeNodes.ts";

// A schema belongs to a DBA, and the application's role may do only a part of what a superuser may. Each right that is missing is named.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let role: string;
/** The database, by a role that may do nothing yet. */
let url: string;

beforeEach(async () => {
  database = await freshDatabase();
  role = `app_${new URL(database.url).pathname.slice(1)}`;
  await query(database.url, `create role ${role} login`);
  const login = new URL(database.url);
  login.username = role;
  url = login.href;
});
afterEach(async () => {
  await query(database.url, `drop owned by ${role}; drop role ${role}`);
  await database.drop();
});

/** Work with a saver of the role, on this schema. */
async function asRole<T>(work: (saver: PostgresSaver) => Promise<T>, schema = "stratigraph"): Promise<T> {
  const saver = PostgresSaver.fromConnString(url, { schema });
  try {
    return await work(saver);
  } finally {
    await saver.end();
  }
}

async function setUpByDba(schema = "stratigraph"): Promise<void> {
  const dba = PostgresSaver.fromConnString(database.url, { schema });
  await dba.setup();
  await dba.end();
}

/** The error of some work, which must be one of ours. */
async function failure(work: Promise<unknown>): Promise<StratigraphError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error)) throw new Error(`It should have failed with a code: ${String(error)}`);
  return error;
}

/** A statement that a message advises. */
function statementIn(message: string, first: string): string {
  const from = message.indexOf(first, message.indexOf(" As "));
  expect(from, message).toBeGreaterThan(-1);
  return message.slice(from, message.indexOf(";", from) + 1);
}

async function expectRuns(saver: PostgresSaver): Promise<void> {
  const config = { configurable: { thread_id: "t" } };
  const { log } = await threeNodes(saver).invoke({ last: "a" }, config);
  expect(log.slice(-3)).toEqual(logOf("a"));
}

/** The script of the schema as it was before a migration. */
function scriptBefore(migration: number, schema: string): string {
  const script = PostgresSaver.setupSql({ schema });
  const cut = script.lastIndexOf("if not exists", script.indexOf(`where id = ${migration})`));
  return script.slice(0, cut) + script.slice(script.lastIndexOf("perform set_config"));
}

describe("a role that may create tables in a schema that a DBA made", () => {
  test.each([
    ["granted", "usage, create", "stratigraph"],
    ["of an odd name", "usage, create", `d'b"a $x\\ :schema_name`],
  ])("sets up, %s", async (_, rights, schema) => {
    const name = `"${schema.replaceAll('"', '""')}"`;
    await query(database.url, `create schema ${name}; grant ${rights} on schema ${name} to ${role}`);
    await asRole(async (saver) => {
      await saver.setup();
      await saver.setup();
      await expectRuns(saver);
    }, schema);
  });

  test("upgrades what it set up before", async () => {
    await query(database.url, `create schema stratigraph authorization ${role}`);
    const script = scriptBefore(8, "stratigraph");
    await query(url, script);
    expect(await query(url, "select max(id) as id from stratigraph.migrations")).toEqual([{ id: 7 }]);
    await asRole(async (saver) => {
      await saver.setup();
      await expectRuns(saver);
    });
  });

  test("sets up several databases", async () => {
    const other = await freshDatabase();
    const second = new URL(other.url);
    second.username = role;
    try {
      for (const one of [database.url, other.url])
        await query(one, `create schema stratigraph authorization ${role}`);
      const tier = postgres({ shards: [url, second.href] });
      await tier.setup();
      await tier.end();
    } finally {
      await query(other.url, `drop owned by ${role}`);
      await other.drop();
    }
  });

  test("the printed script does as well", async () => {
    await query(database.url, `create schema stratigraph authorization ${role}`);
    await query(url, PostgresSaver.setupSql());
    await asRole((saver) => saver.setup({ verifyOnly: true }));
  });
});

describe("the error of setup() names the right and the statement that gives it", () => {
  test("no schema, and no right to create one", async () => {
    const error = await failure(asRole((saver) => saver.setup(), "mine"));
    expect(error).toMatchObject({ code: "ACCESS_DENIED", data: { sqlState: "42501" } });
    expect(error.message).toContain(`User ${role} may not make schema mine in database`);
    await query(database.url, statementIn(error.message, "create schema"));
    await asRole((saver) => saver.setup(), "mine");
  });

  test("no schema: the right on the database would do, too", async () => {
    const error = await failure(asRole((saver) => saver.setup()));
    await query(database.url, statementIn(error.message, "grant create on database"));
    await asRole((saver) => saver.setup());
  });

  test.each([
    ["neither usage nor create", "select 1"],
    ["usage alone", "grant usage on schema stratigraph to"],
  ])("a schema with %s", async (_, grant) => {
    await query(database.url, "create schema stratigraph");
    await query(database.url, grant.endsWith("to") ? `${grant} ${role}` : grant);
    const error = await failure(asRole((saver) => saver.setup()));
    expect(error.code).toBe("ACCESS_DENIED");
    expect(error.message).toContain(`User ${role} may not create tables in schema stratigraph`);
    await query(database.url, statementIn(error.message, "grant usage, create"));
    await asRole((saver) => saver.setup());
  });

  test("an upgrade of tables that belong to another user", async () => {
    const owner = `${role}_owner`;
    await query(database.url, `create role ${owner}; create schema stratigraph authorization ${owner}`);
    try {
      await query(database.url, `set role ${owner}; ${scriptBefore(8, "stratigraph")}; reset role`);
      await query(
        database.url,
        `grant usage, create on schema stratigraph to ${role};
         grant select, insert, update, delete on all tables in schema stratigraph to ${role}`,
      );
      const error = await failure(asRole((saver) => saver.setup()));
      expect(error.code).toBe("ACCESS_DENIED");
      expect(error.message).toContain(`belong to user ${owner}`);
      await query(database.url, statementIn(error.message, `grant "${owner}"`));
      await asRole(async (saver) => {
        await saver.setup();
        await expectRuns(saver);
      });
    } finally {
      await query(
        database.url,
        `reassign owned by ${role} to postgres; drop owned by ${owner} cascade; drop role ${owner}`,
      );
    }
  });
});

test("a call without a right names it, and the statements that give all of them", async () => {
  await setUpByDba();
  const forbidden = await failure(asRole((saver) => saver.getTuple(at("t"))));
  expect(forbidden.code).toBe("ACCESS_DENIED");
  expect(forbidden.message).toMatch(/lacks rights in schema stratigraph: usage of the schema, .* more\./);
  for (const first of ["grant usage", "grant select", "grant execute"])
    await query(database.url, statementIn(forbidden.message, first));
  await asRole(expectRuns);
  await query(database.url, `revoke insert on stratigraph.writes from ${role}`);
  const error = await failure(asRole(expectRuns));
  expect(error).toMatchObject({ code: "ACCESS_DENIED", data: { sqlState: "42501" } });
  expect(error.message).toContain("insert on table writes. As the schema's owner: grant usage");
});

describe("row-level security", () => {
  const grant = (table: string): string =>
    `grant usage on schema stratigraph to ${role};
     grant select, insert, update, delete on all tables in schema stratigraph to ${role};
     grant execute on all functions in schema stratigraph to ${role};
     alter table stratigraph.${table} enable row level security`;

  test.each(["threads", "migrations", "heads"])("on %s is named wherever it is noticed", async (table) => {
    await setUpByDba();
    await query(database.url, grant(table));
    const errors = [
      await failure(asRole((saver) => saver.setup())),
      await failure(asRole((saver) => saver.setup({ verifyOnly: true }))),
      ...(table === "migrations" ? [] : [await failure(asRole(expectRuns))]),
    ];
    for (const error of errors) {
      expect(error.code).toBe("ACCESS_DENIED");
      expect(error.message).toContain(`Row-level security hides all rows of ${table} in schema stratigraph`);
    }
    const health = await asRole((saver) => saver.health());
    expect(health).toMatchObject({ ok: false, tiers: [{ error: { code: "ACCESS_DENIED" } }] });
    const found = await asRole((saver) =>
      saver.tier.diagnose({ role: "warm", timeoutMs: 30_000, write: false }),
    );
    expect(found.find(({ check }) => check === "rights")).toMatchObject({
      status: "problem",
      found: expect.stringContaining(`hides all rows of ${table}`),
    });
    await query(database.url, statementIn(errors[0]!.message, "create policy"));
    await asRole(async (saver) => {
      await saver.setup();
      await expectRuns(saver);
    });
  });
});

describe("what was removed since the schema was set up", () => {
  test.each([
    ["a table", "drop table stratigraph.writes cascade", /removed since: table writes/],
    ["a function", "drop function stratigraph.blobs_1", /removed since: function blobs_1\./],
  ])("%s is named by calls and by the diagnosis", async (_, damage, named) => {
    const saver = PostgresSaver.fromConnString(database.url);
    try {
      await saver.setup();
      await query(database.url, damage);
      await saver.setup();
      const error = await failure(
        damage.includes("table") ? expectRuns(saver) : saver.tier.blobs("t").then(() => saver.tier.sweep(0)),
      );
      expect(error.code).toBe("NOT_SET_UP");
      expect(error.message).toMatch(named);
      expect(error.message).toContain("Restore them from a backup");
      expect(error.message).not.toContain("Call setup()");
      const found = await saver.tier.diagnose({ role: "warm", timeoutMs: 30_000, write: false });
      expect(found.find(({ check }) => check === "schema")).toMatchObject({
        status: "problem",
        found: expect.stringMatching(named),
      });
    } finally {
      await saver.end();
    }
  });
});
