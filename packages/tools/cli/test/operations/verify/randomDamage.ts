import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import pg from "pg";
import { freshDatabase, sharedRedis } from "../../../../../../test/servers/shared.ts";

// Storages of which a row, a field or a file is damaged at random, below every tier, and which can be put back as they were.

/** Numbers from 0 to 1. */
export type Numbers = () => number;

export interface Damageable {
  /** Opened anew, so that nothing is answered from what another one remembers. */
  open(): TierSaver;
  /** What is there now is what `restore` brings back. */
  keep(): Promise<void>;
  restore(): Promise<void>;
  /** @returns what was damaged, and how */
  damage(numbers: Numbers): Promise<string>;
  close(): Promise<void>;
}

const among = (numbers: Numbers, count: number): number => Math.floor(numbers() * count);
const oneOf = <T>(numbers: Numbers, all: readonly T[]): T => all[among(numbers, all.length)]!;

/** One bit flipped, or the end cut off. */
function altered(numbers: Numbers, bytes: Buffer): readonly [how: string, Buffer] {
  const at = among(numbers, bytes.length);
  if (bytes.length === 0) return ["a byte added", Buffer.from([1])];
  if (numbers() < 0.3) return [`cut off at ${at} of ${bytes.length}`, bytes.subarray(0, at)];
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1 << among(numbers, 8);
  return [`a bit of byte ${at} of ${bytes.length} flipped`, copy];
}

const tables = {
  threads: "key",
  heads: "thread, ns",
  checkpoints: "thread, ns, id",
  blobs: "thread, hash",
  writes: "thread, ns, id, seq, part",
} as const;
const names = Object.keys(tables) as (keyof typeof tables)[];

class Rows {
  readonly pool: pg.Pool;

  constructor(url: string) {
    this.pool = new pg.Pool({ connectionString: url, max: 4 });
  }

  async keep(): Promise<void> {
    for (const name of names)
      await this.pool.query(`create table kept_${name} as select * from stratigraph.${name}`);
  }

  async restore(): Promise<void> {
    const qualified = names.map((name) => `stratigraph.${name}`).join(", ");
    const put = names.map(
      (name) => `insert into stratigraph.${name} overriding system value select * from kept_${name};`,
    );
    await this.pool.query(`begin; truncate ${qualified}; ${put.join(" ")} commit`);
  }

  async damage(numbers: Numbers): Promise<string> {
    for (;;) {
      const name = oneOf(numbers, names);
      const { rows } = await this.pool.query(
        `select ctid, * from stratigraph.${name} order by ${tables[name]}`,
      );
      if (rows.length === 0) continue;
      const n = among(numbers, rows.length);
      const { ctid, ...row } = rows[n] as Record<string, unknown>;
      const what = `row ${n} of ${name}`;
      if (numbers() < 0.4) {
        await this.pool.query(`delete from stratigraph.${name} where ctid = $1`, [ctid]);
        return `${what} deleted`;
      }
      const column = oneOf(
        numbers,
        Object.keys(row).filter((each) => row[each] !== null && each !== "written_at"),
      );
      const [how, value] = alteredColumn(numbers, row[column]);
      try {
        await this.pool.query(`update stratigraph.${name} set ${column} = $1 where ctid = $2`, [value, ctid]);
        return `${column} of ${what}: ${how}`;
      } catch (error) {
        // Some keys are taken, and some columns can't be changed.
        if (!(error instanceof pg.DatabaseError)) throw error;
      }
    }
  }
}

function alteredColumn(numbers: Numbers, value: unknown): readonly [how: string, value: unknown] {
  if (Buffer.isBuffer(value)) return altered(numbers, value);
  if (typeof value === "boolean") return [`not ${value}`, !value];
  if (Array.isArray(value)) return ["its first left out", value.slice(1)];
  const other = Number(value) ^ (1 << among(numbers, 8));
  return [`${String(value)} is now ${other}`, other];
}

class Files {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async all(): Promise<string[]> {
    const found = await readdir(this.path, { recursive: true, withFileTypes: true });
    return found
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(this.path.length + 1))
      .sort();
  }

  async keep(): Promise<void> {
    await cp(this.path, `${this.path}-kept`, { recursive: true });
  }

  async restore(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
    await cp(`${this.path}-kept`, this.path, { recursive: true });
  }

  async damage(numbers: Numbers): Promise<string> {
    const files = await this.all();
    const file = oneOf(numbers, files);
    const path = join(this.path, file);
    const kind = numbers();
    if (kind < 0.25) {
      await rm(path);
      return `${file} deleted`;
    }
    if (kind < 0.4) {
      const other = oneOf(numbers, files);
      await writeFile(path, await readFile(join(this.path, other)));
      return `${file} replaced by ${other}`;
    }
    const [how, bytes] = altered(numbers, await readFile(path));
    await writeFile(path, bytes);
    return `${file}: ${how}`;
  }

  async close(): Promise<void> {
    for (const path of [this.path, `${this.path}-kept`]) await rm(path, { recursive: true, force: true });
  }
}

const newFolder = async (): Promise<Files> =>
  new Files(await mkdtemp(join(tmpdir(), "stratigraph-damaged-")));

async function onPostgres(): Promise<Damageable & { readonly rows: Rows }> {
  const database = await freshDatabase();
  const rows = new Rows(database.url);
  const open = (): TierSaver => new TierSaver(postgres({ pool: rows.pool }), { conflict: "branch" });
  await open().setup();
  return {
    open,
    rows,
    keep: () => rows.keep(),
    restore: () => rows.restore(),
    damage: (numbers) => rows.damage(numbers),
    close: async () => {
      await rows.pool.end();
      await database.drop();
    },
  };
}

async function onRedis(): Promise<Damageable> {
  const place = await sharedRedis();
  const client = new Redis(place.url);
  const savers: TierSaver[] = [];
  let kept: (readonly [key: string, dump: Buffer])[] = [];
  const keys = async (): Promise<string[]> => (await client.keys(`${place.prefix}*`)).sort();
  return {
    open: () => {
      const saver = new TierSaver(redis({ ...place, ttl: "1h" }), { conflict: "branch" });
      savers.push(saver);
      return saver;
    },
    keep: async () => {
      kept = await Promise.all(
        (await keys()).map(async (key) => [key, await client.dumpBuffer(key)] as const),
      );
    },
    restore: async () => {
      const now = await keys();
      if (now.length > 0) await client.del(...now);
      for (const [key, dump] of kept) await client.restore(key, 0, dump);
    },
    damage: async (numbers) => {
      const threads = (await keys()).filter((key) => key.startsWith(`${place.prefix}t:`));
      const key = oneOf(numbers, threads);
      const fields = (await client.hkeys(key)).sort();
      const field = oneOf(numbers, fields);
      const what = `${field} of ${key}`;
      if (numbers() < 0.4) {
        await client.hdel(key, field);
        return `${what} deleted`;
      }
      const [how, value] = altered(numbers, (await client.hgetBuffer(key, field))!);
      await client.hset(key, field, value);
      return `${what}: ${how}`;
    },
    close: async () => {
      for (const saver of savers) await saver.end();
      client.disconnect();
    },
  };
}

async function inFolder(): Promise<Damageable> {
  const files = await newFolder();
  return {
    open: () => new TierSaver(folder({ path: files.path }), { conflict: "branch" }),
    keep: () => files.keep(),
    restore: () => files.restore(),
    damage: (numbers) => files.damage(numbers),
    close: () => files.close(),
  };
}

/** Memory in front of PostgreSQL, and an archive in a folder. */
async function inStack(): Promise<Damageable> {
  const warm = await onPostgres();
  const cold = await newFolder();
  let hot = new MemoryTier();
  const open = () =>
    new TieredSaver({
      hot,
      warm: postgres({ pool: warm.rows.pool }),
      cold: folder({ path: cold.path }),
      conflict: "branch",
      restoreOn: "write",
    });
  return {
    open,
    keep: async () => {
      await warm.keep();
      await cold.keep();
    },
    restore: async () => {
      hot = new MemoryTier();
      await warm.restore();
      await cold.restore();
    },
    damage: async (numbers) =>
      numbers() < 0.5 ? `warm: ${await warm.damage(numbers)}` : `cold: ${await cold.damage(numbers)}`,
    close: async () => {
      await warm.close();
      await cold.close();
    },
  };
}

/** By name. */
export const damageableAtRandom = {
  postgres: onPostgres,
  redis: onRedis,
  folder: inFolder,
  stack: inStack,
} satisfies Record<string, () => Promise<Damageable>>;
