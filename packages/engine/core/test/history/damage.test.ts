import { StratigraphError, MemoryTier, TierSaver } from "@stratigraph/core";
import type { Blob, ListedCheckpoint, Reading, StoredCheckpoint } from "@stratigraph/core/tier";
import { beforeAll, describe, expect, test } from "vitest";
import { replacing } from "../contract/support.ts";
import { configOf, idOf, longChain, tuples } from "./chain.ts";

/** More than a chain holds, so that the next one begins on where this one began. */
const length = 190;

type Change = (stored: StoredCheckpoint) => StoredCheckpoint;

/** The same storage, with something in it changed. */
function damaged(tier: MemoryTier, change: Change): TierSaver {
  const read = async (...args: Parameters<MemoryTier["read"]>): Promise<Reading> => {
    const { checkpoint, ...state } = await tier.read(...args);
    return checkpoint === undefined ? state : { ...state, checkpoint: change(checkpoint) };
  };
  async function* list(...args: Parameters<MemoryTier["list"]>): AsyncGenerator<ListedCheckpoint> {
    for await (const { head, ...stored } of tier.list(...args)) yield { ...change(stored), head };
  }
  return new TierSaver(replacing(tier, { read, list }));
}

const harms: readonly (readonly [name: string, harm: (bytes: Uint8Array, n: number) => Uint8Array])[] = [
  [
    "a flipped bit",
    (bytes, n) => {
      const changed = Uint8Array.from(bytes);
      changed[(n * 7919) % bytes.length]! ^= 1 << (n % 8);
      return changed;
    },
  ],
  ["cut short", (bytes, n) => bytes.slice(0, (n * 7919) % bytes.length)],
];

const tier = new MemoryTier();
let intact: Awaited<ReturnType<typeof tuples>>;
let stored: StoredCheckpoint[];
let blobs: ReadonlyMap<string, Blob>;
/** For each blob: the checkpoints whose channel, or whose pending writes, need it. */
const needed = new Map<string, Set<string>>();

beforeAll(async () => {
  await longChain(new TierSaver(tier), length);
  intact = await tuples(new TierSaver(tier));
  stored = [];
  for await (const one of tier.list({ threadId: "t" })) stored.push(one);
  blobs = stored[0]!.blobs;
  for (const { record, writes } of stored) {
    for (let hash of [...record.blobs, ...writes.flatMap((batch) => batch.blobs)]) {
      for (;;) {
        needed.set(hash, (needed.get(hash) ?? new Set()).add(record.checkpointId));
        const { base } = blobs.get(hash)!;
        if (base === undefined) break;
        hash = base;
      }
    }
  }
});

/** Reads one checkpoint by its id: an error that names the damage, or what was put. Tells which. */
async function outcome(
  saver: TierSaver,
  id: string,
  channel: string | undefined,
): Promise<"error" | "value"> {
  try {
    expect(await saver.getTuple(configOf(id))).toEqual(intact.get(id));
    return "value";
  } catch (error) {
    if (!StratigraphError.is(error)) throw error;
    // A first byte that says something else can't be told from what a newer version writes, or from encrypted bytes.
    expect(["CORRUPT", "NEWER_FORMAT", "KEY_MISSING"]).toContain(error.code);
    expect(error.data).toMatchObject({ threadId: "t", checkpointId: id, channel });
    for (const named of ['"t"', id, ...(channel === undefined ? [] : [`"${channel}"`])])
      expect(error.message).toContain(named);
    return "error";
  }
}

test("the chain has two levels", () => {
  let [upper, depth] = [0, 0];
  for (let hash = stored[0]!.record.blobs[0]!; ; depth += 1) {
    const { base } = blobs.get(hash)!;
    if (base === undefined) break;
    if (needed.get(base)!.size < length - 100) upper += 1;
    hash = base;
  }
  expect(blobs.size).toBe(length + length / 10);
  expect([...blobs.values()].filter(({ base }) => base === undefined)).toHaveLength(1 + length / 10);
  // The newest stands on far fewer than all before it: its chain began anew.
  expect(depth).toBeLessThan(40);
  expect(depth).toBeGreaterThan(10);
  expect(upper).toBeGreaterThan(10);
});

describe("one damaged blob", () => {
  test.each([...harms, ["gone", undefined] as const])("%s, each in turn", async (_name, harm) => {
    let errors = 0;
    for (const [n, [hash, blob]] of [...blobs].entries()) {
      const left = new Map(blobs);
      if (harm === undefined) left.delete(hash);
      else left.set(hash, { ...blob, bytes: harm(blob.bytes, n) });
      const saver = damaged(tier, (one) => ({ ...one, blobs: left }));
      const users = [...needed.get(hash)!];
      // The nearest and the farthest that stand on it, and one that doesn't.
      for (const id of new Set([users[0]!, users.at(-1)!]))
        if ((await outcome(saver, id, "log")) === "error") errors += 1;
      const other = [...intact.keys()].find((id) => !needed.get(hash)!.has(id));
      if (other !== undefined) expect(await outcome(saver, other, "log")).toBe("value");
    }
    // zstd has bits that mean nothing; hardly any.
    expect(errors).toBeGreaterThan(blobs.size * (harm === undefined ? 1 : 0.95));
  });

  test("in the middle of a chain: every checkpoint that stands on it is an error, all others are whole", async () => {
    const hash = stored.find(({ record }) => record.checkpointId === idOf(60))!.record.blobs[0]!;
    const left = new Map(blobs);
    left.delete(hash);
    const saver = damaged(tier, (one) => ({ ...one, blobs: left }));
    const wrong: string[] = [];
    for (const id of intact.keys())
      if (((await outcome(saver, id, "log")) === "error") !== needed.get(hash)!.has(id)) wrong.push(id);
    expect(wrong).toEqual([]);
    expect(needed.get(hash)!.size).toBeLessThan(length);
    expect(needed.get(hash)!.size).toBeGreaterThan(50);
  });

  test("in a listing: what comes before it arrives, then the error", async () => {
    const hash = stored.find(({ record }) => record.checkpointId === idOf(5))!.record.blobs[0]!;
    const left = new Map(blobs);
    left.delete(hash);
    const saver = damaged(tier, (one) => ({ ...one, blobs: left }));
    const read: string[] = [];
    const listing = (async () => {
      for await (const tuple of saver.list(configOf())) {
        expect(tuple).toEqual(intact.get(tuple.checkpoint.id));
        read.push(tuple.checkpoint.id);
      }
    })();
    await expect(listing).rejects.toMatchObject({ code: "CORRUPT", data: { threadId: "t", channel: "log" } });
    for (const id of read) expect(needed.get(hash)!.has(id)).toBe(false);
  });
});

describe("one damaged record or batch of pending writes", () => {
  test.each(harms)("%s, each in turn", async (_name, harm) => {
    let errors = 0;
    for (const [n, { record, writes }] of stored.entries()) {
      const id = record.checkpointId;
      const other = id === idOf(1) ? idOf(2) : idOf(1);
      const saver = damaged(tier, (one) =>
        one.record.checkpointId === id
          ? { ...one, record: { ...one.record, body: harm(one.record.body, n) } }
          : one,
      );
      if ((await outcome(saver, id, undefined)) === "error") errors += 1;
      expect(await outcome(saver, other, undefined)).toBe("value");
      if (writes.length === 0) continue;
      const written = damaged(tier, (one) =>
        one.record.checkpointId === id
          ? { ...one, writes: one.writes.map((batch) => ({ ...batch, body: harm(batch.body, n) })) }
          : one,
      );
      if ((await outcome(written, id, undefined)) === "error") errors += 1;
    }
    expect(errors).toBeGreaterThan((length + length / 10) * 0.95);
  });

  test("a batch that is gone can't be told from one that never was; a record that is gone is no checkpoint", async () => {
    const id = idOf(10);
    const without = damaged(tier, (one) => ({ ...one, writes: [] }));
    expect((await without.getTuple(configOf(id)))?.pendingWrites).toEqual([]);
    const read = async (...args: Parameters<MemoryTier["read"]>): Promise<Reading> =>
      args[0].checkpointId === id ? { revision: 1 } : await tier.read(...args);
    async function* list(): AsyncGenerator<ListedCheckpoint> {}
    const gone = new TierSaver(replacing(tier, { read, list }));
    expect(await gone.getTuple(configOf(id))).toBeUndefined();
    expect(await gone.getTuple(configOf(idOf(11)))).toEqual(intact.get(idOf(11)));
  });
});
