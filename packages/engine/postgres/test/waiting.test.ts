import { postgres, type PostgresTier } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { appendOf, blobOf, writesOf } from "./group/support/requests.ts";
import { openTransaction, waitsOrEnds } from "./support/openTransaction.ts";

// Two writers of one thread, of which the second comes while the transaction of the first is open. It waits for the first one's lock,
// and must then decide by what the first one left, not by what it saw before it waited.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let pool: pg.Pool;
let tier: PostgresTier;
let threadId = "";

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 6 });
  tier = postgres({ pool });
  await tier.setup();
});
beforeEach((context) => {
  threadId = context.task.name;
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const sql = async (text: string): Promise<void> => void (await pool.query(text));
const headOf = async (id = threadId) => (await tier.read({ threadId: id, namespace: "" })).head;

/** Does `first` in a transaction, begins `second`, commits when it waits for the first one, and answers what the second one did. */
async function behind<T>(
  first: (tier: PostgresTier) => Promise<unknown>,
  second: () => Promise<T>,
): Promise<PromiseSettledResult<T>> {
  const transaction = await openTransaction(pool);
  await first(transaction.tier);
  const ending = Promise.allSettled([second()]);
  expect(await waitsOrEnds(pool, ending)).toBe("waits");
  await transaction.commit();
  return (await ending)[0];
}

/** Two checkpoints. @returns the revision */
async function begun(): Promise<number> {
  await tier.append(appendOf(threadId, "1"));
  return (await tier.append(appendOf(threadId, "2", "1"))).revision;
}

test("a thread that is written to isn't deleted by who read it before", async () => {
  const revision = await begun();
  const deletion = await behind(
    (writer) => writer.append(appendOf(threadId, "3", "2")),
    () => tier.deleteUnchanged(threadId, revision),
  );
  expect(deletion).toEqual({ status: "fulfilled", value: false });
  expect(await headOf()).toBe("3");
});

test("a thread that is written to isn't pruned by who read it before", async () => {
  const revision = await begun();
  const at = { threadId, namespace: "", checkpointId: "1" };
  const dropped = blobOf("value of 1");
  // The writer relies on a value that nothing else needs.
  const pruned = await behind(
    (writer) => writer.append(appendOf(threadId, "3", "2", { content: "value of 1", blobs: [] })),
    () =>
      tier.remove({
        ...{ threadId, revision, checkpoints: [at] },
        ...{ dropBlobs: [dropped.hash], replaceBlobs: [], heads: [] },
      }),
  );
  expect(pruned).toEqual({ status: "fulfilled", value: false });
  const { checkpoint } = await tier.read({ threadId, namespace: "" });
  expect(checkpoint?.record.checkpointId).toBe("3");
  expect([...checkpoint!.blobs.keys()]).toEqual([dropped.hash]);
});

test("of two that go on from one head, the second is told of the first", async () => {
  await begun();
  const late = await behind(
    (writer) => writer.append(appendOf(threadId, "3", "2")),
    () => tier.append(appendOf(threadId, "late", "2")),
  );
  expect(late).toMatchObject({ reason: { code: "CHECKPOINT_CONFLICT", data: { head: "3" } } });
  expect(await headOf()).toBe("3");
});

test("of two that begin a thread, the second is told of the first", async () => {
  const late = await behind(
    (writer) => writer.append(appendOf(threadId, "1")),
    () => tier.append(appendOf(threadId, "late")),
  );
  expect(late).toMatchObject({ reason: { code: "CHECKPOINT_CONFLICT", data: { head: "1" } } });
  expect(await headOf()).toBe("1");
});

test("of two batches of pending writes, the second has the later place", async () => {
  await begun();
  await behind(
    (writer) => writer.appendWrites(writesOf(threadId, "2", "first")),
    () => tier.appendWrites(writesOf(threadId, "2", "second")),
  );
  const { writes } = await tier.peek({ threadId, namespace: "" });
  expect(writes.map(({ taskId }) => taskId)).toEqual(["first", "second"]);
  expect(new Set(writes.map(({ order }) => order)).size).toBe(2);
});

test("a writer who comes during a deletion is late", async () => {
  const seen = await begun();
  const late = await behind(
    (deleter) => deleter.deleteThread(threadId),
    () => tier.append(appendOf(threadId, "3", "2", { seen })),
  );
  expect(late).toMatchObject({ reason: { code: "THREAD_DELETED" } });
  expect(await headOf()).toBeUndefined();
});

test("a thread is deleted after it was copied as a whole, not in between", async () => {
  await begun();
  const copyId = `copy of ${threadId}`;
  // The copy has begun, and waits for a writer of its target.
  const transaction = await openTransaction(pool);
  await transaction.tier.tagThread(copyId, [{ key: "user", value: "anna" }]);
  const copying = tier.copyThread(threadId, copyId);
  expect(await waitsOrEnds(pool, copying)).toBe("waits");
  const deletion = tier.deleteThread(threadId);
  expect(await waitsOrEnds(pool, deletion, 2)).toBe("waits");
  await transaction.commit();
  expect(await copying).toBe(true);
  await deletion;
  expect((await tier.read({ threadId: copyId, namespace: "" })).checkpoint?.record.checkpointId).toBe("2");
  expect(await headOf()).toBeUndefined();
});

test("an old tombstone that somebody begins anew isn't taken away with others, and holds up nobody", async () => {
  await begun();
  await tier.deleteThread(threadId);
  await sql("update stratigraph.threads set written_at = written_at - interval '8 days' where not live");
  const transaction = await openTransaction(pool);
  await transaction.tier.append(appendOf(threadId, "anew"));
  const deletion = tier.deleteThread("another thread");
  expect(await waitsOrEnds(pool, deletion)).toBe("ended");
  await transaction.commit();
  expect(await headOf()).toBe("anew");
});

test("a sweep leaves a thread alone that is written to, and doesn't wait for it", async () => {
  await tier.appendWrites(writesOf(threadId, "1", "task"));
  const transaction = await openTransaction(pool);
  await transaction.tier.append(appendOf(threadId, "1"));
  const sweeping = tier.sweep(0);
  expect(await waitsOrEnds(pool, sweeping)).toBe("ended");
  await transaction.commit();
  expect((await tier.peek({ threadId, namespace: "" })).writes).toHaveLength(1);
});

test("a thread that another writer holds waits alone, not with those that came with it", async () => {
  await begun();
  const transaction = await openTransaction(pool);
  await transaction.tier.appendWrites(writesOf(threadId, "2", "theirs"));
  const waiting = tier.appendWrites(writesOf(threadId, "2", "ours"));
  const free = tier.append(appendOf(`beside ${threadId}`, "1"));
  expect(await waitsOrEnds(pool, free)).toBe("ended");
  expect(await waitsOrEnds(pool, waiting)).toBe("waits");
  await transaction.commit();
  await waiting;
});

test("new threads of one statement are begun in one order, so that two statements never wait for each other", async () => {
  const [a, b] = [`${threadId} a`, `${threadId} b`];
  const transaction = await openTransaction(pool);
  await transaction.tier.append(appendOf(a, "1"));
  // Named the other way round. It waits for a, and hasn't begun b yet: its turn comes later.
  const both = Promise.all([b, a].map((id) => tier.appendWrites(writesOf(id, "1", "task"))));
  expect(await waitsOrEnds(pool, both)).toBe("waits");
  const other = postgres({ pool }).append(appendOf(b, "1"));
  expect(await waitsOrEnds(pool, other, 2)).toBe("ended");
  await transaction.commit();
  await both;
  for (const id of [a, b]) expect((await tier.peek({ threadId: id, namespace: "" })).writes).toHaveLength(1);
});
