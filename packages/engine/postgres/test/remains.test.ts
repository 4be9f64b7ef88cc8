import { postgres, type PostgresTier } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { appendOf, writesOf } from "./group/support/requests.ts";

// What a deletion leaves, and for how long.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let pool: pg.Pool;
let tier: PostgresTier;
beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  tier = postgres({ pool });
  await tier.setup();
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const sql = async (text: string) => (await pool.query<Record<string, string>>(text)).rows;
const age = (interval: string) =>
  sql(`update stratigraph.threads set written_at = written_at - interval '${interval}' where not live`);

/** How many rows each table has that name a thread, by the name of the table; tables without any are left out. */
async function rowsByTable(): Promise<Record<string, number>> {
  const tables = await sql(
    `select table_name as name from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema = 'stratigraph' and table_type = 'BASE TABLE' and column_name = 'thread'`,
  );
  const counted = tables.map(async ({ name = "" }) => {
    const [row] = await sql(`select count(*)::text as n from stratigraph.${name}`);
    return [name, Number(row!["n"])] as const;
  });
  return Object.fromEntries((await Promise.all(counted)).filter(([, n]) => n > 0));
}

test.each([
  ["deleteThread", () => tier.deleteThread("thread")],
  [
    "deleteUnchanged",
    async () => {
      const { revision } = await tier.peek({ threadId: "thread", namespace: "" });
      expect(await tier.deleteUnchanged("thread", revision)).toBe(true);
    },
  ],
])("%s leaves a row that says so, and nothing else of the thread in any table", async (_, deletion) => {
  const long = (name: string) => `${name} of anna `.repeat(60);
  await tier.append(appendOf("thread", long("checkpoint"), undefined, { content: "value" }));
  await tier.appendWrites(writesOf("thread", long("checkpoint"), long("task")));
  await tier.tagThread("thread", [{ key: "user", value: "anna" }]);
  expect(Object.keys(await rowsByTable()).sort()).toEqual(
    ["blobs", "checkpoints", "heads", "long_ids", "thread_tags", "threads", "writes"].sort(),
  );
  await deletion();
  expect(await rowsByTable()).toEqual({ threads: 1 });
});

test("later deletions take a tombstone away after a week, and not before", async () => {
  const { revision: seen } = await tier.append(appendOf("late", "1"));
  await tier.deleteThread("late");
  await age("6 days 23 hours");
  await tier.deleteThread("another");
  const late = appendOf("late", "2", "1", { seen });
  await expect(tier.append(late)).rejects.toMatchObject({ code: "THREAD_DELETED" });
  await age("7 days 1 hour");
  await tier.deleteThread("another");
  expect(await tier.inspect("late")).toBeUndefined();
});
