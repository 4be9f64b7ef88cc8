// long file: the stories of archives that have another life of a thread
import { Annotation, DeltaChannel, START, StateGraph, type BaseCheckpointSaver } from "@langchain/langgraph";
import { MemoryTier, StratigraphError, TierSaver, type Tier } from "@stratigraph/core";
import { readThread } from "@stratigraph/core/internal";
import { moveThreads } from "@stratigraph/migrate";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { setBackTier } from "../../../../../../test/setBack/setBackTier.ts";
import { ran } from "../support/ran.ts";
import { repaired, verified } from "./support.ts";

// An archive that has another life of a thread, or another database's: nothing is taken from it, and all advice is followed here.

const plain = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const delta = Annotation.Root({
  log: () => new DeltaChannel<string[], string[]>((a, b) => [...a, ...b.flat()]),
}) as unknown as typeof plain;
const kinds = { plain, delta };
type Kind = keyof typeof kinds;

/** A turn of a thread: what was said and answered so far. */
async function say(saver: BaseCheckpointSaver, text: string, kind: Kind = "plain"): Promise<string[]> {
  const graph = new StateGraph(kinds[kind])
    .addNode("answer", ({ log }) => ({ log: [`${log.length} read`] }))
    .addEdge(START, "answer")
    .compile({ checkpointer: saver });
  return (await graph.invoke({ log: [text] }, { configurable: { thread_id: "ada" } })).log;
}

/** The states of the thread, newest first. */
async function history(saver: BaseCheckpointSaver): Promise<unknown[]> {
  const graph = new StateGraph(plain)
    .addNode("answer", () => ({}))
    .addEdge(START, "answer")
    .compile({ checkpointer: saver });
  const states = [];
  for await (const { values } of graph.getStateHistory({ configurable: { thread_id: "ada" } }))
    states.push(values);
  return states;
}

const root = { threadId: "ada", namespace: "" };
const input = { thread: ["ada"] };
const everything = { apply: true, prune: true };
const headOf = async (tier: Tier): Promise<string> => (await tier.peek(root)).head!;

async function held(tier: Tier): Promise<unknown> {
  return [await tier.peek(root), await readThread(tier, "ada")];
}

/** A thread of two turns that was archived. */
async function archived(who: string, kind: Kind = "plain"): Promise<{ warm: MemoryTier; cold: MemoryTier }> {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  for (const text of [`${who}1`, `${who}2`]) await say(new TieredSaver({ warm, cold }), text, kind);
  await ran("archive", input, new TieredSaver({ warm, cold }));
  return { warm, cold };
}

/** Verifies, and repairs all that is found. */
async function mended(saver: TierSaver) {
  const { findings, ...report } = await verified(saver.tier);
  const { results, left } = await repaired(saver.tier, { findings, ...report }, everything);
  return {
    found: findings.map(({ kind, severity, part }) => `${kind} ${severity} ${part}`),
    outcomes: results.map(({ outcome }) => outcome),
    advice: results.map(({ action }) => action).join("\n"),
    meaning: findings.map(({ meaning }) => meaning).join("\n"),
    targets: findings.flatMap(({ target }) => target ?? []),
    left,
  };
}

const untouched = { found: [], outcomes: [] };

describe.each(Object.keys(kinds) as Kind[])("%s", (kind) => {
  test("a wrong archive with the same id: nothing is taken from it, and the right one has all", async () => {
    const [{ warm, cold }, bob] = [await archived("alice", kind), await archived("bob", kind)];
    const wrong = new TieredSaver({ warm, cold: bob.cold });
    const before = [await held(warm), await held(bob.cold)];
    await expect(say(wrong, "alice3", kind)).rejects.toMatchObject({ code: "EVICTED" });
    const { found, outcomes, advice, targets } = await mended(wrong);
    expect(found).toContain("wrong-head error head");
    expect(targets).toEqual([]);
    expect(outcomes.every((outcome) => outcome === "impossible")).toBe(true);
    expect(advice).toContain("Name the archive that it was archived to");
    expect([await held(warm), await held(bob.cold)]).toEqual(before);
    const right = new TieredSaver({ warm, cold });
    expect(await mended(right)).toMatchObject(untouched);
    expect(await say(right, "alice3", kind)).toEqual([
      "alice1",
      "1 read",
      "alice2",
      "3 read",
      "alice3",
      "5 read",
    ]);
  });

  test("a head that a repair set to another conversation: told, taken back, and the other is a side branch", async () => {
    const [{ warm, cold }, bob] = [await archived("alice", kind), await archived("bob", kind)];
    // As repair did with a wrong archive, before it asked for lives.
    const { checkpoint } = await bob.cold.read({ ...root, checkpointId: await headOf(bob.cold) });
    const { record, blobs } = checkpoint!;
    await warm.append({
      threadId: "ada",
      records: [record],
      blobs: [...blobs.values()],
      heads: [{ namespace: "", to: record.checkpointId, expected: "any" }],
      onConflict: "refuse",
    });
    const right = new TieredSaver({ warm, cold });
    const { found, outcomes, advice, meaning, targets } = await mended(right);
    // Values of DeltaChannels are rebuilt from checkpoints that aren't here.
    const unreadable = kind === "delta" ? ["gap error record"] : [];
    expect(found).toEqual([...unreadable, "wrong-head warning thread"]);
    expect(outcomes).toEqual(found.map(() => "impossible"));
    expect(meaning).toContain("another conversation was made the head");
    const [target] = targets;
    expect(advice).toContain(`stratigraph promote "ada@${target}"`);
    await ran("promote", { at: `ada@${target}` }, right);
    expect(await mended(right)).toMatchObject({
      found: ["orphan warning thread"],
      outcomes: ["done"],
      left: [],
    });
    expect(await say(right, "alice3", kind)).toEqual([
      "alice1",
      "1 read",
      "alice2",
      "3 read",
      "alice3",
      "5 read",
    ]);
    expect(await mended(right)).toMatchObject(untouched);
    await ran("archive", input, right);
    expect(await mended(right)).toMatchObject(untouched);
  });

  test("another conversation beside an archived thread: no head without the archive, a side branch with it", async () => {
    const [{ warm, cold }, bob] = [await archived("alice", kind), await archived("bob", kind)];
    // As an import did without the archive, before it asked whether the thread is archived.
    const { records, blobs, writes } = await readThread(bob.cold, "ada");
    await warm.append({ threadId: "ada", records, blobs, writes, heads: [], onConflict: "refuse" });
    const before = await held(warm);
    for (const saver of [new TierSaver(warm), new TieredSaver({ warm, cold: new MemoryTier() })]) {
      const { outcomes } = await mended(saver);
      expect(outcomes.every((outcome) => outcome === "impossible")).toBe(true);
      expect(await held(warm)).toEqual(before);
    }
    const right = new TieredSaver({ warm, cold });
    const { found, outcomes, advice, meaning } = await mended(right);
    expect([found, outcomes]).toEqual([["orphan warning thread"], ["done"]]);
    expect(meaning).toContain("can be read and continued as before");
    const [, at] = /stratigraph fork "([^"]+)"/.exec(advice)!;
    await ran("fork", { at, to: "theirs" }, right);
    expect((await right.tier.peek({ threadId: "theirs", namespace: "" })).head).toBe(await headOf(bob.cold));
    expect(await mended(right)).toMatchObject(untouched);
    expect(await say(right, "alice3", kind)).toEqual([
      "alice1",
      "1 read",
      "alice2",
      "3 read",
      "alice3",
      "5 read",
    ]);
  });
});

test("a deletion with a wrong archive deletes nothing, and says why; with the right one it is proved", async () => {
  const [{ warm, cold }, bob] = [await archived("alice"), await archived("bob")];
  const before = [await held(warm), await held(bob.cold)];
  const wrong = await new TieredSaver({ warm, cold: bob.cold }).deleteThreads({ threadIds: ["ada"] });
  expect(wrong).toMatchObject({
    complete: false,
    threads: [{ verified: false, reason: expect.stringContaining("Name the right archive") }],
  });
  expect([await held(warm), await held(bob.cold)]).toEqual(before);
  const right = await new TieredSaver({ warm, cold }).deleteThreads({ threadIds: ["ada"] });
  expect(right).toMatchObject({ complete: true, threads: [{ verified: true }] });
  // If the right one is lost for good: without an archive.
  const { warm: other } = await archived("carol");
  const without = await new TierSaver(other).deleteThreads({ threadIds: ["ada"] });
  expect(without).toMatchObject({
    complete: false,
    threads: [{ verified: false, reason: expect.stringContaining("the archive may still have it") }],
  });
  expect((await other.peek(root)).head).toBeUndefined();
});

test("a thread that lost its head isn't taken for a deleted one: its archive stays", async () => {
  const { warm, cold } = await archived("alice");
  const before = await held(cold);
  const { revision } = await warm.peek(root);
  const none = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  expect(await warm.remove({ threadId: "ada", revision, ...none, heads: [{ namespace: "" }] })).toBe(true);
  await new TieredSaver({ warm, cold }, () => Date.now() + 2 * 86_400_000).maintain();
  expect(await held(cold)).toEqual(before);
});

test("a wrong archive that is away for a moment at a deletion keeps what it has", async () => {
  const [{ warm }, bob] = [await archived("alice"), await archived("bob")];
  const before = await held(bob.cold);
  const cold = new FaultyTier(bob.cold, "cold");
  let asked = 0;
  cold.failWhen(() => {
    asked += 1;
    return asked === 1 ? new StratigraphError("UNAVAILABLE", "away") : undefined;
  });
  await new TieredSaver({ warm, cold }).deleteThread("ada");
  expect(asked).toBe(1);
  expect((await warm.peek(root)).head).toBeUndefined();
  expect(await held(bob.cold)).toEqual(before);
});

test("a database restored to before a thread that the archive has, and the id begun anew: each way out is one", async () => {
  const [warm, cold] = [setBackTier(), new MemoryTier()];
  const open = (): TieredSaver => new TieredSaver({ warm, cold, archiveAfter: "7d", pause: "0ms" });
  await warm.tagThread("another", []);
  const { mark } = warm;
  await say(open(), "before");
  await ran("archive", input, open());
  await warm.setBack(mark);
  await say(open(), "anew");
  const { found, outcomes, advice } = await mended(open());
  expect([found, outcomes]).toEqual([["orphan info thread"], ["impossible"]]);
  const archiving = await ran<{ items: { error?: unknown }[] }>("archive", input, open());
  const told = 'stratigraph delete "ada" --url URL_OF_THE_ARCHIVE';
  expect(JSON.stringify(archiving.output)).toContain(JSON.stringify(told).slice(1, -1));
  expect(advice).toContain(told);
  // It wasn't deleted here: maintenance leaves it, and so does a deletion, which says what else to do.
  await new TieredSaver({ warm, cold }, () => Date.now() + 2 * 86_400_000).maintain();
  const deleting = await open().deleteThreads({ threadIds: ["ada"] });
  expect(deleting.threads).toMatchObject([{ verified: false, reason: expect.stringContaining(told) }]);
  expect((await mended(open())).found).toEqual(["orphan info thread"]);
  // What the advice says: to keep it, move it; then delete it in the archive alone.
  const kept = new TierSaver(new MemoryTier());
  expect(await moveThreads(new TierSaver(cold), kept)).toMatchObject({ threads: 1, differences: [] });
  expect(await say(kept, "next")).toEqual(["before", "1 read", "next", "3 read"]);
  await ran("delete", input, new TierSaver(cold));
  expect(await mended(open())).toMatchObject(untouched);
  await ran("archive", input, open());
  expect((await warm.read(root)).checkpoint).toBeUndefined();
  expect(await mended(open())).toMatchObject(untouched);
  expect(await say(open(), "next")).toEqual(["anew", "1 read", "next", "3 read"]);
  expect((await open().deleteThreads({ threadIds: ["ada"] })).complete).toBe(true);
});

describe("a database restored to a time at which a thread was in use that is archived since", () => {
  async function restored() {
    const [warm, cold] = [setBackTier(), new MemoryTier()];
    const open = (): TieredSaver => new TieredSaver({ warm, cold });
    await say(open(), "one");
    const { mark } = warm;
    await say(open(), "two");
    await ran("archive", input, open());
    await warm.setBack(mark);
    const { found, outcomes, advice } = await mended(open());
    expect([found, outcomes]).toEqual([["wrong-head warning head"], ["impossible"]]);
    expect(advice).toContain("stratigraph move URL_OF_THE_DATABASE --url URL_OF_THE_ARCHIVE");
    return { warm, cold, open };
  }

  test("what the archive has is moved back, as repair says", async () => {
    const { warm, cold, open } = await restored();
    const moved = await moveThreads(new TierSaver(cold), new TierSaver(warm), { threadIds: ["ada"] });
    expect(moved).toMatchObject({ differences: [], diverged: [] });
    expect(await mended(open())).toMatchObject(untouched);
    await ran("archive", input, open());
    expect((await warm.read(root)).checkpoint).toBeUndefined();
    expect(await say(open(), "three")).toEqual(["one", "1 read", "two", "3 read", "three", "5 read"]);
    expect(await mended(open())).toMatchObject(untouched);
  });

  test("or it goes on from what the database has, and archiving keeps both", async () => {
    const { warm, open } = await restored();
    expect(await say(open(), "other")).toEqual(["one", "1 read", "other", "3 read"]);
    await ran("archive", input, open());
    expect((await warm.read(root)).checkpoint).toBeUndefined();
    expect((await mended(open())).outcomes).toEqual([]);
    expect(await say(open(), "last")).toEqual(["one", "1 read", "other", "3 read", "last", "5 read"]);
  });
});

test("an archive that was set back to an older backup: the head is set back to what it has, as EVICTED says", async () => {
  const [warm, cold] = [new MemoryTier(), setBackTier()];
  const open = (): TieredSaver => new TieredSaver({ warm, cold });
  await say(open(), "one");
  await ran("archive", input, open());
  const { mark } = cold;
  await say(open(), "two");
  await ran("archive", input, open());
  await cold.setBack(mark);
  await expect(say(open(), "three")).rejects.toMatchObject({ code: "EVICTED" });
  const { found, outcomes } = await mended(open());
  expect([found, outcomes]).toEqual([
    ["wrong-head error head", "gap error thread"],
    ["done", "done"],
  ]);
  expect(await say(open(), "again")).toEqual(["one", "1 read", "again", "3 read"]);
  expect(await mended(open())).toMatchObject(untouched);
  await ran("archive", input, open());
  expect((await warm.read(root)).checkpoint).toBeUndefined();
  expect(await history(open())).toHaveLength(6);
  expect(await mended(open())).toMatchObject(untouched);
});

test("an archive that was set back under a thread that is in use again: its own newest turns aren't called another's", async () => {
  const [warm, cold] = [new MemoryTier(), setBackTier()];
  const open = (): TieredSaver => new TieredSaver({ warm, cold });
  await say(open(), "one");
  await ran("archive", input, open());
  const { mark } = cold;
  await say(open(), "two");
  await ran("archive", input, open());
  await say(open(), "three");
  const whole = cold.mark;
  await cold.setBack(mark);
  await expect(history(open())).rejects.toMatchObject({ code: "EVICTED" });
  await expect(ran("archive", input, open())).resolves.toMatchObject({
    output: { items: [{ error: expect.stringContaining("restored from an older backup") }] },
  });
  const head = await headOf(warm);
  const { findings } = await verified(open().tier);
  expect(findings.map(({ kind, severity, part }) => `${kind} ${severity} ${part}`)).toEqual([
    "gap error thread",
  ]);
  expect(findings[0]!.meaning).toContain("it was restored from an older backup");
  expect(whole).toBeGreaterThan(mark);
  // If it is lost for good.
  expect((await mended(open())).outcomes).toEqual(["done"]);
  expect(await headOf(warm)).toBe(head);
  expect(await say(open(), "four")).toEqual([
    "one",
    "1 read",
    "two",
    "3 read",
    "three",
    "5 read",
    "four",
    "7 read",
  ]);
  await ran("archive", input, open());
  expect((await warm.read(root)).checkpoint).toBeUndefined();
  expect(await say(open(), "five")).toHaveLength(10);
});

test("a thread that is in use again, with a wrong archive: moves, exports and imports take nothing from it", async () => {
  const [{ warm, cold }, bob] = [await archived("alice"), await archived("bob")];
  await say(new TieredSaver({ warm, cold }), "alice3");
  const before = [await held(warm), await held(bob.cold)];
  const wrong = (): TieredSaver => new TieredSaver({ warm, cold: bob.cold });
  const target = new TierSaver(new MemoryTier());
  const evicted = { code: "EVICTED" };
  for (const [from, to] of [
    [wrong(), target],
    [new TieredSaver(bob), wrong()],
  ] as const) {
    const { differences, checkpoints } = await moveThreads(from, to);
    expect(differences).toMatchObject([{ what: expect.stringContaining("It may be the wrong archive") }]);
    expect(checkpoints).toBe(0);
  }
  await expect(ran("fork", { at: "ada", to: "theirs" }, wrong())).rejects.toMatchObject(evicted);
  await expect(ran("history", { thread: "ada" }, wrong())).rejects.toMatchObject(evicted);
  await expect(history(wrong())).rejects.toMatchObject(evicted);
  await expect(wrong().deleteForRuns(["unknown"])).resolves.toBeUndefined();
  expect((await target.listThreads()).threads).toEqual([]);
  expect((await warm.peek({ threadId: "theirs", namespace: "" })).head).toBeUndefined();
  expect([await held(warm), await held(bob.cold)]).toEqual(before);
  const { found } = await mended(wrong());
  expect(found.toSorted()).toEqual(["gap error thread", "orphan info thread"]);
  for (const other of [wrong(), new TieredSaver({ warm, cold: new MemoryTier() })]) {
    const told = await mended(other);
    expect(told.meaning).toContain("doesn't have it: it is another archive");
    expect(new Set(told.outcomes)).toEqual(new Set(["impossible"]));
    expect(told.advice).toContain("Name the archive that it was archived to");
  }
  expect([await held(warm), await held(bob.cold)]).toEqual(before);
  expect(await mended(new TieredSaver({ warm, cold }))).toMatchObject(untouched);
});

test("a head that was set to an older checkpoint stays while the archive isn't open", async () => {
  const { warm, cold } = await archived("alice");
  await say(new TieredSaver({ warm, cold }), "alice3");
  const newest = await headOf(warm);
  const { checkpoint, revision } = await warm.read(root);
  const heads = [{ namespace: "", to: checkpoint!.record.parentId }];
  await warm.remove({ threadId: "ada", revision, checkpoints: [], dropBlobs: [], replaceBlobs: [], heads });
  const { found, outcomes, advice } = await mended(new TierSaver(warm));
  expect([found, outcomes]).toEqual([["wrong-head warning head"], ["impossible"]]);
  expect(advice).toContain("Open the storage together with the archive");
  expect((await mended(new TieredSaver({ warm, cold }))).outcomes).toEqual(["done"]);
  expect(await headOf(warm)).toBe(newest);
});

test("the row of a head that is lost after a part was archived: the newest that is there becomes the head", async () => {
  const { warm, cold } = await archived("alice");
  const open = (): TieredSaver => new TieredSaver({ warm, cold });
  await say(open(), "alice3");
  const checkpointId = await headOf(warm);
  const { revision } = await warm.peek(root);
  const none = { dropBlobs: [], replaceBlobs: [], heads: [] };
  await warm.remove({ threadId: "ada", revision, checkpoints: [{ ...root, checkpointId }], ...none });
  const alone = await mended(new TierSaver(warm));
  expect(alone.outcomes).toEqual(["impossible"]);
  expect(alone.advice).toContain("Open the storage together with the archive");
  expect((await mended(open())).outcomes).toContain("done");
  expect((await say(open(), "alice4")).slice(0, 5)).toEqual([
    "alice1",
    "1 read",
    "alice2",
    "3 read",
    "alice3",
  ]);
});
