import { rm } from "node:fs/promises";
import { sweeps } from "@stratigraph/core/internal";
import { PostgresTier } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import type { Executor } from "../src/connection/client.ts";
import { resolveDatabaseOptions } from "../src/options.ts";
import { openPgLite, PgLiteExecutor } from "../src/connection/pgliteExecutor.ts";
import { PoolExecutor } from "../src/connection/poolExecutor.ts";
import { appendOf, blobOf, writesOf } from "./group/support/requests.ts";
import { waitsOrEnds } from "./support/openTransaction.ts";

// Threads with nothing but pending writes, which processes that died leave behind, and tombstones older than a week.

const hourMs = 3_600_000;
const limits = { ...resolveDatabaseOptions({}), retryForMs: 15_000 };

interface Opened {
  readonly executor: Executor;
  readonly close: () => Promise<void>;
}

const kinds: readonly (readonly [string, () => Promise<Opened>])[] = [
  [
    "PostgreSQL",
    async () => {
      const database = await freshDatabase();
      const pool = new pg.Pool({ connectionString: database.url, max: 6 });
      const close = async () => {
        await pool.end();
        await database.drop();
      };
      return { executor: new PoolExecutor(pool, limits), close };
    },
  ],
  [
    "PGlite",
    async () => {
      const folder = await embeddedFolder();
      const executor = new PgLiteExecutor(() => openPgLite(folder), limits);
      const close = async () => {
        await executor.end();
        await rm(folder, { recursive: true });
      };
      return { executor, close };
    },
  ],
];

describe.each(kinds)("%s", (_name, open) => {
  let opened: Opened;
  let tier: PostgresTier;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());
  let schemas = 0;
  beforeEach(async () => {
    schemas += 1;
    tier = new PostgresTier(opened.executor, `s${schemas}`);
    await tier.setup();
  });

  const sql = async (text: string) =>
    (await opened.executor.run({ text: text.replaceAll("stratigraph.", `${tier.schema}.`), method: "test" }))
      .rows;
  const threads = async () =>
    (await sql("select stratigraph.id_text(key) as id from stratigraph.threads order by 1")).map(
      ({ id }) => id,
    );
  const age = async (interval: string) => {
    await sql(`update stratigraph.threads set written_at = written_at - interval '${interval}'`);
  };

  test("threads with nothing but pending writes go when they are old, with all that is theirs", async () => {
    await tier.appendWrites(writesOf("early", "c1", "task"));
    await tier.appendWrites(writesOf("x".repeat(600), "c1", "task"));
    await tier.append(appendOf("whole", "1"));
    // Of a checkpoint that never came, beside one that did.
    await tier.appendWrites(writesOf("whole", "2", "task"));
    await age("3 hours");
    await tier.appendWrites(writesOf("young", "c1", "task"));

    expect(sweeps(tier)).toBe(true);
    expect(await tier.sweep(24 * hourMs)).toBe(0);
    expect(await tier.sweep(2 * hourMs)).toBe(2);
    expect(await tier.sweep(2 * hourMs)).toBe(0);
    expect(await threads()).toEqual(["whole", "young"]);
    expect(await tier.strays("whole")).toHaveLength(1);
    expect((await tier.peek({ threadId: "young", namespace: "", checkpointId: "c1" })).writes).toHaveLength(
      1,
    );
    const [left] = await sql(
      `select (select count(*) from stratigraph.writes)::int as writes, (select count(*) from stratigraph.long_ids)::int as ids`,
    );
    expect(left).toEqual({ writes: 2, ids: 0 });
    // Nothing is younger than nothing.
    expect(await tier.sweep(0)).toBe(1);
  });

  test("leases that nobody prolonged go; those that hold stay", async () => {
    for (const name of ["dead", "held"]) await tier.lease(name, "one", hourMs);
    await tier.lease("done", "one", hourMs);
    await tier.lease("done", "one", 0);
    await sql(
      "update stratigraph.leases set until = until - interval '4 hours' where stratigraph.id_text(name) = 'dead'",
    );
    expect(await tier.sweep(4 * hourMs)).toBe(0);
    expect(await tier.sweep(2 * hourMs)).toBe(1);
    expect(await sql("select name::text from stratigraph.leases")).toHaveLength(1);
    expect(await tier.lease("held", "two", hourMs)).toBe(false);
  });

  test("tags stay for the checkpoint that their writer is about to put, however old the row that they are given to", async () => {
    const tag = { key: "user_id", value: "anna" };
    await tier.append(appendOf("deleted", "1"));
    await tier.deleteThread("deleted");
    await tier.appendWrites(writesOf("early", "c1", "task"));
    await tier.append(appendOf("whole", "1"));
    await age("8 days");
    const [before] = await sql("select written_at from stratigraph.threads where live");
    for (const threadId of ["deleted", "early", "whole"]) await tier.tagThread(threadId, [tag]);
    expect(await tier.sweep(24 * hourMs)).toBe(0);
    for (const threadId of ["deleted", "early", "whole"])
      expect(await tier.threadTags(threadId)).toEqual([tag]);
    // A tag doesn't renew the age of a thread that has a checkpoint.
    expect(await sql("select written_at from stratigraph.threads where live")).toEqual([before]);
  });

  test("a writer who believes that blobs are there which were swept is told, and not believed", async () => {
    const blob = blobOf("a value");
    const early = { ...writesOf("early", "c1", "task"), blobs: [blob.hash], newBlobs: [blob] };
    await tier.appendWrites(early);
    const { revision } = await tier.peek({ threadId: "early", namespace: "" });
    await age("3 hours");
    expect(await tier.sweep(2 * hourMs)).toBe(1);
    expect(await tier.sweep(2 * hourMs)).toBe(0);
    expect(await tier.blobs("early")).toEqual([]);
    const relying = appendOf("early", "c1", undefined, { blobs: [], content: "a value", relies: true });
    await expect(tier.append({ ...relying, seen: revision })).rejects.toMatchObject({ code: "STALE_READ" });
    await age("8 days");
    expect(await tier.sweep(2 * hourMs)).toBe(1);
    expect(await threads()).toEqual([]);
  });

  test("tombstones, and threads that lost all their checkpoints, stay for a week", async () => {
    await tier.append(appendOf("deleted", "1"));
    await tier.deleteThread("deleted");
    await tier.append(appendOf("emptied", "1"));
    const { revision } = await tier.peek({ threadId: "emptied", namespace: "" });
    await tier.remove({
      threadId: "emptied",
      revision,
      checkpoints: [{ threadId: "emptied", checkpointId: "1", namespace: "" }],
      dropBlobs: [blobOf("value of 1").hash],
      replaceBlobs: [],
      heads: [{ namespace: "", to: undefined }],
    });
    await age("6 days");
    expect(await tier.sweep(hourMs)).toBe(0);
    await age("2 days");
    expect(await tier.sweep(30 * 24 * hourMs)).toBe(0);
    expect(await tier.sweep(hourMs)).toBe(2);
    expect(await threads()).toEqual([]);
  });

  test("more than one call takes: each takes a part, oldest first", async () => {
    await Promise.all(
      Array.from({ length: 450 }, (_, n) => tier.appendWrites(writesOf(`early ${n}`, "c1", "task"))),
    );
    await age("3 hours");
    const swept: number[] = [];
    for (let n = 0; n < 4; n += 1) swept.push(await tier.sweep(hourMs));
    expect(swept).toEqual([200, 200, 50, 0]);
    expect(await threads()).toEqual([]);
  });

  test("first puts and sweeps at once: every put is there, whole", async () => {
    const ids = Array.from({ length: 150 }, (_, n) => `race ${n}`);
    await Promise.all(ids.map((threadId) => tier.appendWrites(writesOf(threadId, "1", "task"))));
    const sweeping = Array.from({ length: 10 }, () => tier.sweep(0));
    await Promise.all([...ids.map((threadId) => tier.append(appendOf(threadId, "1"))), ...sweeping]);
    for (const threadId of ids) {
      const { head, checkpoint } = await tier.read({ threadId, namespace: "" });
      expect(head).toBe("1");
      expect(checkpoint?.blobs.size).toBe(1);
    }
    expect(await tier.sweep(0)).toBe(0);
  });
});

describe("beside a transaction that is still open, on PostgreSQL", () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let pool: pg.Pool;
  let tier: PostgresTier;
  beforeAll(async () => {
    database = await freshDatabase();
    pool = new pg.Pool({ connectionString: database.url });
    tier = new PostgresTier(new PoolExecutor(pool, limits), "stratigraph");
    await tier.setup();
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  test("a thread that is being written is left alone", async () => {
    await tier.appendWrites(writesOf("t", "1", "task"));
    const writer = await pool.connect();
    await writer.query("begin; update stratigraph.threads set revision = revision + 1");
    expect(await tier.sweep(0)).toBe(0);
    await writer.query("rollback");
    writer.release();
    expect(await tier.sweep(0)).toBe(1);
  });

  test("a first put that waits for the sweep makes the thread anew", async () => {
    await tier.appendWrites(writesOf("t", "1", "task"));
    const sweeper = await pool.connect();
    await sweeper.query("begin; select stratigraph.sweep_1(0, 200)");
    const put = tier.append(appendOf("t", "1"));
    expect(await waitsOrEnds(pool, put)).toBe("waits");
    await sweeper.query("commit");
    sweeper.release();
    await put;
    expect((await tier.read({ threadId: "t", namespace: "" })).checkpoint?.blobs.size).toBe(1);
  });

  test("once a sweep has locked a thread it looks again: a checkpoint may have come before that", async () => {
    const own = new PostgresTier(new PoolExecutor(pool, limits), "looked");
    await own.setup();
    await own.appendWrites(writesOf("t", "1", "task"));
    // The sweep's first look at heads takes until this lock is given back.
    await pool.query(
      `alter table looked.heads rename to heads_there;
       create function looked.slow_heads() returns setof looked.heads_there language plpgsql volatile as $$
         begin perform pg_advisory_xact_lock_shared(77); return query select * from looked.heads_there; end $$;
       create view looked.heads as select * from looked.slow_heads()`,
    );
    const holder = await pool.connect();
    await holder.query("select pg_advisory_lock(77)");
    const swept = own.sweep(0);
    await waitsOrEnds(pool, swept);
    // As an append does that brings a checkpoint and moves no head.
    await pool.query(
      `update looked.threads set revision = revision + 1;
       insert into looked.checkpoints (thread, id, ns, terms, blobs, body) select thread, looked.id_key('1'), '', '{}', '', '' from looked.threads`,
    );
    await holder.query("select pg_advisory_unlock(77)");
    holder.release();
    expect(await swept).toBe(0);
    const { rows } = await pool.query("select count(*)::integer as n from looked.threads");
    expect(rows).toEqual([{ n: 1 }]);
  });
});
