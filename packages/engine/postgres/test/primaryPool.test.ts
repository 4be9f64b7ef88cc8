import { expect, test } from "vitest";
import type { PgPool } from "../src/connection/client.ts";
import { PrimaryPool } from "../src/connection/primaryPool.ts";

// Which pool a statement meets when others fail, late or at once. Every statement here ends when the test says so.

interface Statement {
  readonly url: string;
  answer(): void;
  fail(code: string): void;
}

/** A primary pool over servers that are the primary one after the other, and what it does. */
function servers(...urls: readonly string[]) {
  const statements: Statement[] = [];
  const done: string[] = [];
  const open = (url: string): PgPool => {
    done.push(`opens ${url}`);
    return {
      query: () =>
        new Promise((resolve, reject) => {
          const fail = (code: string): void => reject(Object.assign(new Error(code), { code }));
          statements.push({ url, answer: () => resolve({ rows: [url] }), fail });
        }),
      end: async () => void done.push(`ends ${url}`),
    };
  };
  const find = async (): Promise<string> => {
    const url = urls[done.filter((each) => each.startsWith("opens")).length];
    if (url === undefined) throw new Error("looked for a primary once too often");
    return url;
  };
  const pool = new PrimaryPool(find, open);
  /** Hands a statement over, and answers how it ends and the means to end it. */
  const query = async (): Promise<Statement & { outcome: Promise<unknown> }> => {
    const before = statements.length;
    const outcome = pool.query({ text: "select" }).catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
    if (statements.length === before) throw (await outcome) as Error;
    return { ...statements.at(-1)!, outcome };
  };
  return { pool, query, done };
}

test("after a failure the primary is looked for again; a late failure of the old one changes nothing", async () => {
  const { query, done, pool } = servers("a", "b");
  const [first, second] = [await query(), await query()];
  expect([first.url, second.url]).toEqual(["a", "a"]);
  first.fail("ECONNRESET");
  await first.outcome;
  const third = await query();
  expect(third.url).toBe("b");
  // The second one still waits for an answer on its connection.
  expect(done).toEqual(["opens a", "opens b"]);
  second.fail("57P01");
  await second.outcome;
  const fourth = await query();
  expect(fourth.url).toBe("b");
  third.answer();
  fourth.answer();
  await Promise.all([third.outcome, fourth.outcome]);
  await pool.end();
  expect(done).toEqual(["opens a", "opens b", "ends a", "ends b"]);
});

test("a server that became a standby is left, and one that refuses a statement isn't", async () => {
  const { query } = servers("a", "b");
  for (const [code, next] of [
    ["23505", "a"],
    ["25006", "b"],
  ] as const) {
    const statement = await query();
    expect(statement.url).toBe("a");
    statement.fail(code);
    await statement.outcome;
    const after = await query();
    expect(after.url).toBe(next);
    after.answer();
    await after.outcome;
  }
});

test("statements that come together look for the primary once; after end() none is looked for", async () => {
  const { pool, done } = servers("a");
  const pending = [pool.query({ text: "select" }), pool.query({ text: "select" })];
  await pool.end();
  expect(await Promise.race([Promise.all(pending), new Promise((resolve) => setImmediate(resolve))])).toBe(
    undefined,
  );
  expect(done).toEqual(["opens a"]);
  await expect(pool.query({ text: "select" })).rejects.toThrow("after calling end");
});
