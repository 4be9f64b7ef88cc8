import { MemorySaver as OfficialMemorySaver } from "@langchain/langgraph-checkpoint";
import { TierSaver } from "@stratigraph/core";
import { pglite, postgres, PostgresSaver, PostgresTier } from "@stratigraph/postgres";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { expectRefused } from "../../../../test/expectRefused.ts";

// Constructors and setup, called wrongly: refused with an error that names the field, says what was found and what to do, before
// the database is asked anything.

let asked = 0;
const pool = {
  query: async () => {
    asked += 1;
    return { rows: [] };
  },
};
const url = "postgresql://user:hunter2@127.0.0.1:1/none";
const saver = new PostgresSaver(pool);
const own = new pg.Pool({ connectionString: url });
afterAll(() => own.end());

function make(...args: unknown[]): unknown {
  return Reflect.construct(PostgresSaver, args) as unknown;
}
function call(method: (...args: never[]) => unknown, ...args: unknown[]): unknown {
  return Reflect.apply(method, PostgresSaver, args) as unknown;
}
const setup = (options: unknown) => call(saver.setup.bind(saver), options);

const rows: readonly (readonly [name: string, work: () => unknown, field: string, says: string])[] = [
  [
    "fromConnString: schmea",
    () => call(PostgresSaver.fromConnString, url, { schmea: "mine" }),
    "schmea",
    "Did you mean schema?",
  ],
  [
    "fromConnString: nothing",
    () => call(PostgresSaver.fromConnString),
    "url",
    'found "undefined". Pass a connection string',
  ],
  [
    "fromConnString: empty text",
    () => call(PostgresSaver.fromConnString, ""),
    "url",
    "Pass a connection string",
  ],
  [
    "fromConnString: a schema for options",
    () => call(PostgresSaver.fromConnString, url, "mine"),
    "options",
    "takes an object of schema",
  ],
  [
    "fromConnString: ssl",
    () => call(PostgresSaver.fromConnString, url, { ssl: true }),
    "ssl",
    "belongs to the pool",
  ],
  [
    "fromConnString: ttl",
    () => call(PostgresSaver.fromConnString, url, { ttl: "1d" }),
    "ttl",
    "Nothing expires",
  ],
  [
    "fromConnString: a schema that is no text",
    () => call(PostgresSaver.fromConnString, url, { schema: 5 }),
    "schema",
    "a name of 1 to 63",
  ],
  [
    "fromConnString: a duration without a unit",
    () => call(PostgresSaver.fromConnString, url, { retryFor: "15" }),
    "retryFor",
    "units",
  ],
  [
    "fromConnString: maxCalls 0",
    () => call(PostgresSaver.fromConnString, url, { maxCalls: 0 }),
    "maxCalls",
    "1 or more",
  ],
  [
    "fromConnString: statementTimeout as a number",
    () => call(PostgresSaver.fromConnString, url, { statementTimeout: 10_000 }),
    "statementTimeout",
    "units",
  ],
  [
    "fromConnString: no time for statements",
    () => call(PostgresSaver.fromConnString, url, { statementTimeout: "0s" }),
    "statementTimeout",
    "1ms or more",
  ],
  [
    "fromConnString: query_timeout",
    () => call(PostgresSaver.fromConnString, url, { query_timeout: 10_000 }),
    "query_timeout",
    "Write statementTimeout",
  ],
  [
    "fromConnString: statement_timeout",
    () => call(PostgresSaver.fromConnString, url, { statement_timeout: 10_000 }),
    "statement_timeout",
    "Write statementTimeout",
  ],
  [
    "fromConnString: conflcit",
    () => call(PostgresSaver.fromConnString, url, { conflcit: "throw" }),
    "conflcit",
    "Did you mean conflict?",
  ],
  ["new: nothing", () => make(), "pool", "Pass { pool }"],
  ["new: a connection string", () => make(url), "pool", "PostgresSaver.fromConnString(url)"],
  ["new: null", () => make(null), "pool", 'found "null"'],
  ["new: a pool that is none", () => make({ pool: {} }), "pool", "pg.Pool"],
  [
    "new: a misspelt option beside the pool",
    () => make({ pool, scheme: "mine" }),
    "scheme",
    "Did you mean schema?",
  ],
  [
    "new: options where the serializer is",
    () => make(own, { schema: "mine" }),
    "serde",
    "options are the third",
  ],
  [
    "new: a misspelt option after the pool",
    () => make(own, undefined, { schmea: "mine" }),
    "schmea",
    "Did you mean schema?",
  ],
  [
    "new: options after { pool }",
    () => make({ pool }, undefined, { schema: "mine" }),
    "options",
    "beside the pool",
  ],
  [
    "new: a serializer after { pool }",
    () => make({ pool }, new OfficialMemorySaver().serde),
    "serde",
    "beside the pool",
  ],
  [
    "new: options of the tier after a tier",
    () => make(saver.tier, undefined, { schema: "mine" }),
    "schema",
    "pass it to postgres()",
  ],
  ["postgres(): nothing", () => call(postgres), "options", "Pass { url } or { pool }"],
  ["postgres(): a connection string", () => call(postgres, url), "options", "takes an object of schema"],
  [
    "postgres(): connectionString",
    () => call(postgres, { connectionString: url }),
    "connectionString",
    "Write url",
  ],
  ["postgres(): both", () => call(postgres, { url, pool }), "url", "not both"],
  ["postgres(): neither", () => call(postgres, {}), "url", "Pass a connection string"],
  ["pglite(): a folder as text", () => call(pglite, "./data"), "options", "takes an object of path, schema"],
  ["pglite(): folder", () => call(pglite, { folder: "./data" }), "folder", "Write path"],
  ["pglite(): maxCalls 0", () => call(pglite, { maxCalls: 0 }), "maxCalls", "1 or more"],
  [
    "embedded: no time for statements",
    () => call(PostgresSaver.embedded, "./data", { statementTimeout: "0ms" }),
    "statementTimeout",
    "1ms or more",
  ],
  [
    "new: statementTimeout after a tier",
    () => make(saver.tier, undefined, { statementTimeout: "1s" }),
    "statementTimeout",
    "pass it to postgres()",
  ],
  ["pglite(): an empty folder", () => call(pglite, { path: "" }), "path", "leave it out for memory"],
  [
    "embedded: retryFor",
    () => call(PostgresSaver.embedded, "./data", { retryFor: "1s" }),
    "retryFor",
    "leave it out",
  ],
  ["embedded: { folder }", () => call(PostgresSaver.embedded, { folder: "./data" }), "path", "Pass the path"],
  [
    "embedded: schmea",
    () => call(PostgresSaver.embedded, "./data", { schmea: "x" }),
    "schmea",
    "Did you mean schema?",
  ],
  ["setup: verifyonly", () => setup({ verifyonly: true }), "verifyonly", "Did you mean verifyOnly?"],
  ["setup: text for false", () => setup({ createSchema: "false" }), "createSchema", "true or false"],
  ["setup: a number for true", () => setup({ verifyOnly: 1 }), "verifyOnly", "true or false"],
  ["setup: schema", () => setup({ schema: "mine" }), "schema", "where the saver is made"],
  ["setup: true", () => setup(true), "options", "takes an object of createSchema, verifyOnly"],
  [
    "setupSql: a schema as text",
    () => call(PostgresSaver.setupSql, "mine"),
    "options",
    "takes an object of schema",
  ],
  [
    "setupSql: createschema",
    () => call(PostgresSaver.setupSql, { createschema: false }),
    "createschema",
    "Did you mean createSchema?",
  ],
  [
    "setupSql: text for false",
    () => call(PostgresSaver.setupSql, { createSchema: "no" }),
    "createSchema",
    "true or false",
  ],
  [
    "PostgresTier: a pool",
    () => Reflect.construct(PostgresTier, [pool, "mine"]) as unknown,
    "executor",
    "postgres({ pool })",
  ],
];

test.each(rows.map(([name, ...row]) => ({ name, row })))(
  "refuses $name",
  async ({ row: [work, field, says] }) => {
    await expectRefused(work, field, says);
    expect(asked).toBe(0);
  },
);

describe("right calls pass", () => {
  const { serde } = new OfficialMemorySaver();

  test("as LangGraph's saver is made", () => {
    const made = new PostgresSaver(own, serde, { schema: "mine" });
    expect([made.serde, made.tier.schema]).toEqual([serde, "mine"]);
    expect(new PostgresSaver(own).tier.schema).toBe("stratigraph");
    expect(PostgresSaver.fromConnString(url, { schema: "mine" }).tier.schema).toBe("mine");
  });

  test("with options beside the pool, after a tier, embedded", () => {
    const beside = new PostgresSaver({ pool: own, schema: "mine", serde, conflict: "throw", maxCalls: 5 });
    expect([beside.serde, beside.tier.schema]).toEqual([serde, "mine"]);
    const over = new PostgresSaver(postgres({ pool: own, retryFor: "1s" }), serde, { conflict: "branch" });
    expect(over.serde).toBe(serde);
    expect(PostgresSaver.embedded(undefined, { schema: "mine", maxValueSize: "1mb" }).tier.schema).toBe(
      "mine",
    );
    expect(PostgresSaver.setupSql({ createSchema: false })).not.toMatch(/create schema/i);
  });

  test("undefined is as good as absent", () => {
    expect(PostgresSaver.fromConnString(url, { schema: undefined, maxCalls: undefined }).tier.schema).toBe(
      "stratigraph",
    );
    expect(make(own, undefined, undefined)).toBeInstanceOf(TierSaver);
    expect(make({ pool: own, schmea: undefined }, undefined, undefined)).toBeInstanceOf(TierSaver);
    expect(pglite({ path: undefined, schema: undefined }).schema).toBe("stratigraph");
  });
});
