import { rmSync } from "node:fs";
import { postgres, PostgresSaver, PostgresTier } from "@stratigraph/postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { query } from "../../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase } from "../../../../../test/servers/shared.ts";
import { resolveDatabaseOptions } from "../../src/options.ts";
import { PoolExecutor } from "../../src/connection/poolExecutor.ts";
import { openPgLite, PgLiteExecutor } from "../../src/connection/pgliteExecutor.ts";
import { at, checkpointOf } from "../support/checkpoints.ts";
import { countedPool, type CountedPool } from "../support/countedPool.ts";
import { appendOf, writesOf } from "./support/requests.ts";

const metadata = { source: "loop", step: 0, parents: {} } as const;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let counted: CountedPool;
let tier: PostgresTier;

beforeAll(async () => {
  database = await freshDatabase();
  counted = countedPool({ connectionString: database.url, max: 6 });
  tier = postgres({ pool: counted.pool });
  await tier.setup();
});

afterAll(async () => {
  await counted.pool.end();
  await database.drop();
});

const headOf = async (threadId: string) => (await tier.read({ threadId, namespace: "" })).head;

/** Statements that some work takes. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  counted.reset();
  await work();
  return counted.sent.length;
}

test("puts and writes of 60 threads that come together are a few statements; a lone one goes at once", async () => {
  const saver = new PostgresSaver(tier);
  const threads = Array.from({ length: 60 }, (_, n) => `together ${n}`);
  const stored = new Map<string, string>();
  for (const version of [1, 2, 3]) {
    const used = await statementsOf(() =>
      Promise.all(
        threads.map(async (threadId) => {
          const checkpoint = checkpointOf({ log: `${threadId} `.repeat(50), version }, { version });
          const config = at(threadId, stored.get(threadId));
          await saver.put(config, checkpoint, metadata, checkpoint.channel_versions);
          stored.set(threadId, checkpoint.id);
        }),
      ),
    );
    expect(used).toBeLessThanOrEqual(6);
  }
  const writes = await statementsOf(() =>
    Promise.all(
      threads.map((threadId) =>
        saver.putWrites(at(threadId, stored.get(threadId)), [["n", threadId]], "task"),
      ),
    ),
  );
  expect(writes).toBeLessThanOrEqual(3);
  for (const threadId of threads) {
    const tuple = await saver.getTuple(at(threadId));
    expect(tuple?.checkpoint.id).toBe(stored.get(threadId));
    expect(tuple?.checkpoint.channel_values).toEqual({ log: `${threadId} `.repeat(50), version: 3 });
    expect(tuple?.pendingWrites).toEqual([["task", "n", threadId]]);
  }
  expect(await statementsOf(() => tier.append(appendOf("lone", "1")))).toBe(1);
});

test("requests of one thread that come together are done in their order, in one statement", async () => {
  const first = appendOf("order", "c0");
  const used = await statementsOf(async () => {
    const begun = tier.append(first);
    const line = Array.from({ length: 20 }, (_, n) => tier.append(appendOf("order", `c${n + 1}`, `c${n}`)));
    const writes = Array.from({ length: 20 }, (_, n) => tier.appendWrites(writesOf("order", "c20", `t${n}`)));
    // A repetition of the first append is no conflict, and the head stays.
    await Promise.all([begun, ...line, ...writes, tier.append(first)]);
  });
  expect(used).toBe(1);
  const { head, revision, checkpoint } = await tier.read({ threadId: "order", namespace: "" });
  expect(head).toBe("c20");
  expect(revision).toBe(42);
  expect(checkpoint?.writes.map(({ taskId }) => taskId)).toEqual(
    Array.from({ length: 20 }, (_, n) => `t${n}`),
  );
});

test("a conflict, a late writer, a stale one: each is refused alone, and leaves no trace", async () => {
  for (const threadId of ["a", "b", "c", "d", "gone", "pruned"]) await tier.append(appendOf(threadId, "1"));
  await tier.deleteThread("gone");
  const { revision } = await tier.peek({ threadId: "pruned", namespace: "" });
  const removed = { checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] };
  expect(await tier.remove({ threadId: "pruned", revision, ...removed })).toBe(true);
  const before = await tier.peek({ threadId: "b", namespace: "" });

  let outcomes: PromiseSettledResult<unknown>[] = [];
  const used = await statementsOf(async () => {
    outcomes = await Promise.allSettled([
      tier.append(appendOf("a", "2", "1")),
      tier.append(appendOf("b", "2", "elsewhere")),
      tier.append(appendOf("c", "2", "elsewhere", { onConflict: "branch" })),
      tier.append(appendOf("gone", "2", "1", { seen: 1 })),
      tier.append(appendOf("pruned", "2", "1", { seen: 1, relies: true })),
      tier.appendWrites({ ...writesOf("gone", "1", "t"), seen: 1 }),
      // After a refusal in the same statement, the thread goes on as if it hadn't been.
      tier.append(appendOf("b", "3", "1")),
      tier.append(appendOf("d", "2", "1")),
    ]);
  });
  expect(used).toBe(1);
  const codes = outcomes.map((each) =>
    each.status === "fulfilled" ? "done" : (each.reason as { code: string }).code,
  );
  const [conflict, deleted, stale] = ["CHECKPOINT_CONFLICT", "THREAD_DELETED", "STALE_READ"];
  expect(codes).toEqual(["done", conflict, "done", deleted, stale, deleted, "done", "done"]);
  expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({
    data: { threadId: "b", checkpointId: "2", parentId: "elsewhere", head: "1" },
  });
  expect((outcomes[2] as PromiseFulfilledResult<unknown>).value).toMatchObject({
    heads: [{ head: "1", moved: false }],
  });
  expect(await Promise.all(["a", "b", "c", "d", "gone", "pruned"].map(headOf))).toEqual([
    "2",
    "3",
    "1",
    "2",
    undefined,
    "1",
  ]);
  expect((await tier.peek({ threadId: "b", namespace: "" })).revision).toBe(before.revision + 1);
  expect((await tier.read({ threadId: "b", namespace: "", checkpointId: "2" })).checkpoint).toBeUndefined();
  const branched = await tier.read({ threadId: "c", namespace: "", checkpointId: "2" });
  expect(branched.checkpoint?.record.lostTo).toBe("1");
  expect(await tier.blobs("pruned")).toHaveLength(1);
});

test("one request that the server can't do fails alone; a large one goes alone", async () => {
  await query(
    database.url,
    `create function poison() returns trigger language plpgsql as
       $$ begin if new.body = 'body of poison' then raise exception 'poisoned row'; end if; return new; end $$`,
  );
  await query(
    database.url,
    "create trigger poison before insert on stratigraph.checkpoints for each row execute function poison()",
  );
  let outcomes: PromiseSettledResult<unknown>[] = [];
  const used = await statementsOf(async () => {
    outcomes = await Promise.allSettled([
      ...Array.from({ length: 10 }, (_, n) => tier.append(appendOf(`beside ${n}`, "1"))),
      tier.append(appendOf("poisoned", "poison")),
      tier.append(appendOf("beside 3", "2", "1")),
      tier.append(appendOf("large", "1", undefined, { content: Buffer.alloc(3_000_000, "x") })),
    ]);
  });
  expect(outcomes.map(({ status }) => status)).toEqual([
    ...Array(10).fill("fulfilled"),
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
  expect(String((outcomes[10] as PromiseRejectedResult).reason)).toContain("poisoned row");
  // The group, its twelve requests one by one, and the large one.
  expect(used).toBe(14);
  expect(await headOf("beside 3")).toBe("2");
  expect(await headOf("poisoned")).toBeUndefined();
  expect(await headOf("large")).toBe("1");
  await query(database.url, "drop trigger poison on stratigraph.checkpoints");
});

test("a thread whose row is locked holds up others for a moment, and its own requests until it is free", async () => {
  await tier.append(appendOf("locked", "1"));
  const locker = await counted.pool.connect();
  await locker.query(
    "begin; select from stratigraph.threads where key = $$\\x02$$::bytea || 'locked' for update",
  );
  // In one group with others.
  const beside = tier.append(appendOf("free too", "1"));
  const waiting = [tier.append(appendOf("locked", "2", "1")), tier.append(appendOf("locked", "3", "2"))];
  await beside;
  let done = false;
  const all = Promise.all(waiting).then(() => (done = true));
  for (let n = 1; n <= 5; n += 1)
    await tier.append(appendOf("free", `${n}`, n === 1 ? undefined : `${n - 1}`));
  expect(await headOf("free")).toBe("5");
  expect(done).toBe(false);
  await locker.query("commit");
  locker.release();
  await all;
  expect(await headOf("locked")).toBe("3");
});

test("many threads whose rows are locked hold up no others either", async () => {
  const locked = Array.from({ length: 20 }, (_, n) => `held ${n}`);
  await Promise.all(locked.map((threadId) => tier.append(appendOf(threadId, "1"))));
  const locker = await counted.pool.connect();
  await locker.query(
    "begin; select from stratigraph.threads where key like $$\\x02$$::bytea || 'held%' for update",
  );
  let done = 0;
  const waiting = locked.map(async (threadId) => {
    await tier.append(appendOf(threadId, "2", "1"));
    done += 1;
  });
  for (let n = 1; n <= 10; n += 1)
    await tier.append(appendOf("beside", `${n}`, n === 1 ? undefined : `${n - 1}`));
  expect(done).toBe(0);
  await locker.query("commit");
  locker.release();
  await Promise.all(waiting);
  for (const threadId of locked) expect(await headOf(threadId)).toBe("2");
});

test("with the server away, all that waited get the error after the time given, not one group after the other", async () => {
  const away = postgres({ url: "postgresql://postgres@127.0.0.1:1/none", retryFor: "400ms" });
  const sent = vi.spyOn(PoolExecutor.prototype, "send");
  onTestFinished(() => void sent.mockRestore());
  const outcomes = await Promise.allSettled(
    Array.from({ length: 400 }, (_, n) => away.append(appendOf(`thread ${n}`, "1"))),
  );
  for (const outcome of outcomes) {
    expect(outcome.status).toBe("rejected");
    expect((outcome as PromiseRejectedResult).reason).toMatchObject({
      code: "UNAVAILABLE",
      data: { forMs: 400 },
    });
  }
  // Of the seven groups, those that had begun when the first one failed.
  expect(sent.mock.calls.length).toBeLessThanOrEqual(4);
  await away.end();
});

test("embedded, with its one connection, groups as well", async () => {
  const folder = await embeddedFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const executor = new PgLiteExecutor(() => openPgLite(folder), resolveDatabaseOptions({}));
  let sent = 0;
  const send = executor.send.bind(executor);
  executor.send = async (statement) => {
    sent += 1;
    return await send(statement);
  };
  const embedded = new PostgresTier(executor, "stratigraph", "pglite");
  await embedded.setup();
  sent = 0;
  await Promise.all(Array.from({ length: 10 }, (_, n) => embedded.append(appendOf(`thread ${n}`, "1"))));
  expect(sent).toBeLessThanOrEqual(2);
  for (let n = 0; n < 10; n += 1)
    expect((await embedded.read({ threadId: `thread ${n}`, namespace: "" })).head).toBe("1");
  await embedded.end();
}, 240_000);
