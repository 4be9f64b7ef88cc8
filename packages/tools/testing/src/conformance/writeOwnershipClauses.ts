import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { type ClauseContext, type ConformingSaver, clauseGroup } from "./clause.ts";
import { at, idOf, listIds, makeCheckpoint, makeMetadata, mustGet, newThread, putOne } from "./fixtures.ts";

/** Two workers on one thread: both read the first checkpoint, and then `winner` writes its child. */
const takeOver = async ({ saver, reopen }: ClauseContext) => {
  const thread = newThread();
  const first = await putOne(saver, thread, { values: { by: "start" } });
  const loser = await reopen();
  const winner = await reopen();
  await mustGet(loser, at(thread));
  await mustGet(winner, at(thread));
  const parent = idOf(first);
  const won = await putOne(winner, thread, { parent, values: { by: "winner" }, versions: { by: 2 } });
  // Nobody may read before the loser's put, because reading the first checkpoint again would make that put a fork.
  const late = (): Promise<unknown> =>
    putOne(loser, thread, { parent, values: { by: "loser" }, versions: { by: 2 }, metadata: { step: 1 } });
  return { thread, first, won, winner, loser, late };
};

/** Whether a saver reports conflicts of a thread. */
const namesConflicts = async (saver: ConformingSaver, thread: string): Promise<boolean> => {
  if (!("conflicts" in saver) || typeof saver.conflicts !== "function") return false;
  const found: unknown = await saver.conflicts(thread);
  return Array.isArray(found) && found.length > 0;
};

/**
 * Which of two workers may change a thread's state. In Python's clauses a worker claims ownership with a method that no JavaScript saver
 * has. Here a worker is superseded when another one puts a child of the checkpoint that both have read. The work of the superseded
 * worker may be refused or kept as a side branch, but it must not silently become the thread's state.
 */
export const writeOwnershipClauses = clauseGroup("write_ownership", {
  ownership_superseded_writer_cannot_fork_the_chain: async (context) => {
    const { thread, won, late } = await takeOver(context);
    await late().catch(() => undefined);
    const tuple = await mustGet(await context.reopen(), at(thread));
    assert.deepEqual([tuple.checkpoint.id, tuple.checkpoint.channel_values], [idOf(won), { by: "winner" }]);
  },

  ownership_superseded_writer_learns_it: async (context) => {
    const { thread, late } = await takeOver(context);
    const outcome = await late().then(
      () => "accepted",
      () => "refused",
    );
    if (outcome === "accepted")
      assert.ok(await namesConflicts(context.saver, thread), "the late put was accepted in silence");
  },

  ownership_superseded_writer_stays_superseded: async (context) => {
    const { thread, won, late } = await takeOver(context);
    for (let attempt = 0; attempt < 3; attempt++) await late().catch(() => undefined);
    assert.equal((await mustGet(await context.reopen(), at(thread))).checkpoint.id, idOf(won));
  },

  ownership_superseded_writer_does_not_change_the_winners_values: async (context) => {
    const { first, won, late } = await takeOver(context);
    await late().catch(() => undefined);
    const other = await context.reopen();
    assert.deepEqual((await mustGet(other, won)).checkpoint.channel_values, { by: "winner" });
    assert.deepEqual((await mustGet(other, first)).checkpoint.channel_values, { by: "start" });
  },

  ownership_superseded_writer_cannot_displace_a_write: async (context) => {
    const { first, winner, loser } = await takeOver(context);
    const task = randomUUID();
    await winner.putWrites(first, [["ch", "winner"]], task);
    await loser.putWrites(first, [["ch", "loser"]], task).catch(() => undefined);
    assert.deepEqual((await mustGet(context.saver, first)).pendingWrites, [[task, "ch", "winner"]]);
  },

  ownership_new_writer_goes_on: async (context) => {
    const { thread, won, winner, late } = await takeOver(context);
    await late().catch(() => undefined);
    const next = await putOne(winner, thread, {
      parent: idOf(won),
      values: { by: "winner again" },
      versions: { by: 3 },
    });
    const tuple = await mustGet(await context.reopen(), at(thread));
    assert.deepEqual([tuple.checkpoint.id, idOf(tuple.parentConfig)], [idOf(next), idOf(won)]);
    assert.deepEqual(tuple.checkpoint.channel_values, { by: "winner again" });
  },

  /** It is no conflict if a put is repeated because its answer was lost. */
  ownership_repeated_put_is_accepted: async ({ saver, reopen }) => {
    const thread = newThread();
    const first = await putOne(saver, thread);
    const other = await reopen();
    await mustGet(other, at(thread));
    const checkpoint = makeCheckpoint({ channel_values: { k: "v" }, channel_versions: { k: 1 } });
    for (let attempt = 0; attempt < 2; attempt++) {
      await other.put(at(thread, { id: idOf(first) }), checkpoint, makeMetadata(), { k: 1 });
    }
    assert.deepEqual(await listIds(saver, at(thread)), [checkpoint.id, idOf(first)]);
  },

  ownership_is_per_thread: async (context) => {
    const other = newThread();
    const base = await putOne(context.saver, other);
    const { loser, late } = await takeOver(context);
    await mustGet(loser, at(other));
    await late().catch(() => undefined);
    const next = await putOne(loser, other, { parent: idOf(base) });
    assert.equal((await mustGet(context.saver, at(other))).checkpoint.id, idOf(next));
  },

  /** Reading an old checkpoint first makes a put on it a deliberate fork, which always changes the thread's state. */
  ownership_does_not_forbid_forks: async (context) => {
    const { thread, first, loser } = await takeOver(context);
    await mustGet(loser, first);
    await mustGet(loser, at(thread));
    await mustGet(loser, first);
    const fork = await putOne(loser, thread, {
      parent: idOf(first),
      values: { by: "fork" },
      versions: { by: 2 },
    });
    const tuple = await mustGet(await context.reopen(), at(thread));
    assert.deepEqual([tuple.checkpoint.id, tuple.checkpoint.channel_values], [idOf(fork), { by: "fork" }]);
  },
});
