import { CorruptionError } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configOf, idOf, longChain, tuples } from "../../../core/test/history/chain.ts";
import { freshDatabase, type FreshDatabase } from "../../../../../test/servers/shared.ts";

const length = 190;
let database: FreshDatabase;
let pool: pg.Pool;
let intact: Awaited<ReturnType<typeof tuples>>;

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  const saver = new PostgresSaver({ pool });
  await saver.setup();
  await longChain(saver, length);
  intact = await tuples(new PostgresSaver({ pool }));
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** Reads a sample of checkpoints with a fresh saver each: an error that names what is damaged, or what was put. */
async function errorsOf(channel: string | undefined): Promise<string[]> {
  const failed: string[] = [];
  for (const n of [1, 2, 30, 60, 61, 171, 172, 173, 180, length]) {
    try {
      expect(await new PostgresSaver({ pool }).getTuple(configOf(idOf(n)))).toEqual(intact.get(idOf(n)));
    } catch (error) {
      if (!(error instanceof CorruptionError)) throw error;
      expect(error.data).toMatchObject({ threadId: "t", checkpointId: idOf(n), channel });
      failed.push(idOf(n));
    }
  }
  return failed;
}

/** Runs a statement, reads, and puts back what was there. */
async function whileDamaged<T>(
  table: string,
  damage: string,
  key: Buffer,
  work: () => Promise<T>,
): Promise<T> {
  const column = table === "blobs" ? "hash" : "id";
  const { rows } = await pool.query(`select * from stratigraph.${table} where ${column} = $1`, [key]);
  const { rowCount } = await pool.query(damage, [key]);
  expect(rowCount).toBe(rows.length);
  try {
    return await work();
  } finally {
    await pool.query(`delete from stratigraph.${table} where ${column} = $1`, [key]);
    for (const row of rows as Record<string, unknown>[]) {
      const names = Object.keys(row);
      const places = names.map((_name, n) => `$${n + 1}`);
      await pool.query(
        `insert into stratigraph.${table} (${names.join(",")}) values (${places.join(",")})`,
        Object.values(row),
      );
    }
  }
}

const flip = (column: string): string =>
  `set ${column} = set_byte(${column}, length(${column}) / 2, get_byte(${column}, length(${column}) / 2) # 8)`;
const cut = (column: string): string => `set ${column} = substring(${column} for length(${column}) / 2)`;

/** The blob of the log of checkpoint n. */
async function blobOf(n: number): Promise<Buffer> {
  const { rows } = await pool.query<{ hash: Buffer }>(
    "select substring(blobs for 20) as hash from stratigraph.checkpoints order by id offset $1 limit 1",
    [n - 1],
  );
  return rows[0]!.hash;
}

async function idKeyOf(n: number): Promise<Buffer> {
  const { rows } = await pool.query<{ id: Buffer }>(
    "select id from stratigraph.checkpoints order by id offset $1 limit 1",
    [n - 1],
  );
  return rows[0]!.id;
}

describe("rows of a two-level chain, damaged by SQL", () => {
  test.each([1, 2, 60, 172, 173, length])("the blob of checkpoint %i", async (n) => {
    const key = await blobOf(n);
    for (const damage of [
      `update stratigraph.blobs ${flip("bytes")} where hash = $1`,
      `update stratigraph.blobs ${cut("bytes")} where hash = $1`,
      "delete from stratigraph.blobs where hash = $1",
    ]) {
      const failed = await whileDamaged("blobs", damage, key, () => errorsOf("log"));
      expect(failed).toContain(idOf(n));
      // Earlier checkpoints don't need the damaged bytes.
      expect(failed.filter((id) => id < idOf(n))).toEqual([]);
    }
    expect(await errorsOf(undefined)).toEqual([]);
  });

  test.each([1, 61, length])("the record of checkpoint %i", async (n) => {
    const key = await idKeyOf(n);
    for (const change of [flip("body"), cut("body")]) {
      const damage = `update stratigraph.checkpoints ${change} where id = $1`;
      expect(await whileDamaged("checkpoints", damage, key, () => errorsOf(undefined))).toEqual([idOf(n)]);
    }
    const gone = "delete from stratigraph.checkpoints where id = $1";
    await whileDamaged("checkpoints", gone, key, async () => {
      const reading = new PostgresSaver({ pool }).getTuple(configOf(idOf(n)));
      // A checkpoint that the head names isn't just unknown.
      if (n === length) await expect(reading).rejects.toMatchObject({ code: "CORRUPT" });
      else expect(await reading).toBeUndefined();
      const neighbour = n === 1 ? 2 : n - 1;
      const saver = new PostgresSaver({ pool });
      expect(await saver.getTuple(configOf(idOf(neighbour)))).toEqual(intact.get(idOf(neighbour)));
    });
  });

  test("a head whose record is gone isn't an empty thread", async () => {
    const gone = "delete from stratigraph.checkpoints where id = $1";
    await whileDamaged("checkpoints", gone, await idKeyOf(length), async () => {
      await expect(new PostgresSaver({ pool }).getTuple(configOf())).rejects.toMatchObject({
        code: "CORRUPT",
        data: { threadId: "t", checkpointId: idOf(length) },
      });
    });
  });

  test.each([30, 180])("pending writes of checkpoint %i", async (n) => {
    const key = await idKeyOf(n);
    for (const change of [flip("body"), cut("body")]) {
      const damage = `update stratigraph.writes ${change} where id = $1`;
      expect(await whileDamaged("writes", damage, key, () => errorsOf(undefined))).toEqual([idOf(n)]);
    }
  });

  test("patches that are based on themselves, or on each other", async () => {
    const [earlier, later] = [await blobOf(179), await blobOf(180)];
    const basedOn = (base: Buffer): string =>
      `update stratigraph.blobs set base = '\\x${base.toString("hex")}' where hash = $1`;
    const itself = await whileDamaged("blobs", basedOn(later), later, () => errorsOf("log"));
    expect(itself).toContain(idOf(180));
    const each = await whileDamaged("blobs", basedOn(earlier), later, async () =>
      whileDamaged("blobs", basedOn(later), earlier, () => errorsOf("log")),
    );
    expect(each).toContain(idOf(180));
  });

  test("the thread is whole again", async () => {
    expect(await tuples(new PostgresSaver({ pool }))).toEqual(intact);
  });
});
