import { postgres, type PostgresTier } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";

// Tokens of locks tell a later holder from an earlier one, also where the server's clock went back or another server took over.

const hourMs = 3_600_000;

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

const sql = async (text: string): Promise<void> => void (await pool.query(text));

/** Makes all that is stored an hour older, which is the same as a clock that is an hour ahead. Tokens are in microseconds. */
const clockGoesBack = () => sql(`update stratigraph.locks set token = token + ${hourMs * 1000}`);

test.each([
  ["was given back", () => tier.unlock("lock", "one")],
  ["ended", () => sql("update stratigraph.locks set until = now() - interval '1 second'")],
])("the next holder of a lock that %s has a larger token, though the clock went back", async (_, end) => {
  await sql("delete from stratigraph.locks");
  const one = await tier.lock("lock", "one", hourMs);
  await end();
  await clockGoesBack();
  const two = await tier.lock("lock", "two", hourMs);
  expect(two).toMatchObject({ held: true, holder: "two" });
  expect(two.token).toBeGreaterThan(one.token + hourMs * 1000);
  // The one who has it keeps its number, whatever the clock says.
  expect(await tier.lock("lock", "two", hourMs)).toEqual(two);
});

test("a lock that was given back is remembered until it is swept as old", async () => {
  await sql("delete from stratigraph.locks");
  await tier.lock("lock", "one", hourMs);
  await tier.unlock("lock", "one");
  expect(await tier.sweep(hourMs)).toBe(0);
  await sql("update stratigraph.locks set until = until - interval '2 hours'");
  expect(await tier.sweep(4 * hourMs)).toBe(0);
  expect(await tier.sweep(hourMs)).toBe(1);
});

test("a lock that is swept while somebody asks for it is asked for again", async () => {
  let asked = 0;
  const query: pg.Pool["query"] = pool.query.bind(pool);
  const sweptBetween = postgres({
    pool: {
      query: async (statement) => {
        if (!statement.text.includes("lock_1")) return await query(statement);
        asked += 1;
        // The insertion met another holder's row, and the look at it afterwards found none.
        return asked === 1 ? { rows: [] } : await query(statement);
      },
    },
  });
  expect(await sweptBetween.lock("swept", "one", hourMs)).toMatchObject({ held: true, holder: "one" });
  expect(asked).toBe(2);
});
