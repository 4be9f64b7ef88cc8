import { MemoryTier, TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import {
  exportThreads,
  importThreads,
  moveThreads,
  saverSource,
  saverTarget,
  type CopyOptions,
  type CopyReport,
} from "@stratigraph/migrate";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { describe, expect, it, onTestFinished } from "vitest";
import { inRounds } from "../../../../test/rounds.ts";
import { createJournal } from "../src/index.ts";
import { throughFile } from "../../migrate/test/support/throughFile.ts";
import { decodeEntry, encodeEntry } from "../src/log/records.ts";
import { kinds, thread, written, type Place } from "./support/erasable.ts";

// What a source erased since a thread was copied is erased in the copy, too, by the next copy, or is told.

const all = () => ({ before: new Date(Date.now() + 3_600_000) });
const config = { configurable: { thread_id: thread } };
const nothingElse = { complete: true, threads: 1, diverged: [], differences: [] };

type Copy = (from: TierSaver, to: TierSaver, options?: CopyOptions) => Promise<CopyReport>;

const ways: Record<string, Copy> = {
  move: moveThreads,
  import: (from, to, options) => importThreads(saverSource(from), to, options),
  export: (from, to, options) => exportThreads(from, saverTarget(to), options),
  "a file": throughFile,
};
const names = Object.keys(ways);

async function placeOf(kind: (typeof kinds)[number]): Promise<Place> {
  const place = await kind.open();
  onTestFinished(() => place.close());
  return place;
}

/** How many entries still have arguments or a result, of a trail that is whole. */
async function valuesIn(saver: TierSaver): Promise<number> {
  const journal = createJournal(saver);
  let count = 0;
  for await (const { args, result } of journal.trail(thread))
    if (args !== undefined || (await result()) !== undefined) count += 1;
  return count;
}

const stacks = inRounds({ few: ["memory", "PostgreSQL"], all: [...kinds.map(({ name }) => name)] });

describe.each(kinds.filter(({ name }) => stacks.includes(name) && !name.includes("archive")))(
  "in $name",
  (kind) => {
    it.each(names)("it goes with the next copy, by %s", async (way) => {
      const { tier, ofAll } = await written(kind);
      const from = new TierSaver(tier, kind.options);
      const place = await placeOf(kind);
      const copy = async () => {
        const to = place.open(place.tiers);
        const report = await ways[way]!(from, to);
        // A stack copies to its hot tier behind the copy.
        if (to instanceof TieredSaver) await to.tier.idle();
        return report;
      };
      expect(await copy()).toMatchObject({ ...nothingElse, erased: [] });
      expect(await valuesIn(place.open(place.tiers))).toBe(6);
      await createJournal(from).erase(thread, all());
      expect(await copy()).toMatchObject({
        ...nothingElse,
        erased: [{ threadId: thread, what: "6 entries of its journal" }],
      });
      const bytes = await place.bytes();
      expect(ofAll.filter((secret) => bytes.includes(Buffer.from(secret)))).toEqual([]);
      const there = createJournal(place.open(place.tiers));
      expect(await there.verify(thread)).toMatchObject({ ok: true, erased: 6 });
      expect(await copy()).toMatchObject({ ...nothingElse, skipped: 1, erased: [] });
    });
  },
);

it.each(names)("what another entry needs stays, by %s", async (way) => {
  const [from, to] = [new TierSaver(new MemoryTier()), new TierSaver(new MemoryTier())];
  const journal = createJournal(from);
  const letter = "and nobody else ".repeat(2000);
  for (const id of ["first", "second"]) await journal.run(config, { id, args: { letter, id } }, () => letter);
  await ways[way]!(from, to);
  const call = (await journal.calls(thread))[0]!.fingerprint;
  await journal.erase(thread, { call });
  expect(await ways[way]!(from, to)).toMatchObject(nothingElse);
  expect(await valuesIn(to)).toBe(2);
  expect(await createJournal(to).verify(thread)).toMatchObject({ ok: true, erased: 2 });
});

it.each(names)("it goes also if nothing is compared, by %s", async (way) => {
  const [{ tier }, to] = [await written(kinds[0]!), new TierSaver(new MemoryTier())];
  const from = new TierSaver(tier);
  await ways[way]!(from, to);
  await createJournal(from).erase(thread, all());
  expect((await ways[way]!(from, to, { verify: false })).erased).toHaveLength(1);
  expect(await createJournal(to).verify(thread)).toMatchObject({ ok: true, erased: 6 });
});

it.each(names)(
  "a copy that ended before the values were gone is made good by the next one, by %s",
  async (way) => {
    const [{ tier }, there] = [await written(kinds[0]!), new FaultyTier(new MemoryTier())];
    const from = new TierSaver(tier);
    const copy = () => ways[way]!(from, new TierSaver(there));
    await copy();
    await createJournal(from).erase(thread, all());
    const heal = there.failWhen(({ method }) => method === "remove");
    await expect(copy()).rejects.toThrow();
    heal();
    expect(await createJournal(new TierSaver(there)).verify(thread)).toMatchObject({ ok: false });
    expect(await copy()).toMatchObject(nothingElse);
    expect(await createJournal(new TierSaver(there)).verify(thread)).toMatchObject({ ok: true, erased: 6 });
  },
);

it.each(names)(
  "a copy that went on by itself keeps it, which is told until it is erased there, by %s",
  async (way) => {
    const [{ tier }, to] = [await written(kinds[0]!), new TierSaver(new MemoryTier())];
    const from = new TierSaver(tier);
    await ways[way]!(from, to);
    const there = createJournal(to);
    await there.run(config, { id: "rent", args: {} }, () => 1);
    await createJournal(from).erase(thread, all());
    const { differences, erased } = await ways[way]!(from, to);
    const what = 'erase them there, too, with journal.erase("ada")';
    expect(differences.map((each) => each.what).join("; ")).toContain(what);
    expect(erased).toEqual([]);
    await there.erase(thread, all());
    const later = await ways[way]!(from, to);
    expect(later.differences.map((each) => each.what).join("; ")).not.toContain(what);
  },
);

it.each(names)("what was erased in the copy alone stays erased, and nothing differs, by %s", async (way) => {
  const [{ tier }, to] = [await written(kinds[0]!), new TierSaver(new MemoryTier())];
  const from = new TierSaver(tier);
  await ways[way]!(from, to);
  await createJournal(to).erase(thread, all());
  expect(await ways[way]!(from, to)).toMatchObject({ ...nothingElse, skipped: 1, erased: [] });
  expect(await valuesIn(to)).toBe(0);
});

describe("a move that deletes its source", () => {
  it.each(["source", "target"] as const)("goes on after an erasure in the %s", async (where) => {
    const [{ tier }, to] = [await written(kinds[0]!), new TierSaver(new MemoryTier())];
    const from = new TierSaver(tier);
    await moveThreads(from, to);
    await createJournal(where === "source" ? from : to).erase(thread, all());
    expect(await moveThreads(from, to, { source: "delete" })).toMatchObject(nothingElse);
    expect(await from.getTuple(config)).toBeUndefined();
    expect(await valuesIn(to)).toBe(0);
    expect(await createJournal(to).verify(thread)).toMatchObject({ ok: true, erased: 6 });
  });

  it("doesn't take another entry for one of which something was erased", async () => {
    const [{ tier }, to] = [await written(kinds[0]!), new TierSaver(new MemoryTier())];
    const from = new TierSaver(tier);
    await moveThreads(from, to);
    const entries = [];
    for await (const { record } of to.tier.list({ threadId: thread, namespace: reservedNamespaces.calls }))
      entries.push({ record, entry: await decodeEntry(to, record) });
    const { record, entry } = entries.find((each) => each.entry.event.type === "claimed")!;
    const other = await encodeEntry(
      to,
      thread,
      { parentId: undefined, ...record },
      { ...entry, author: "eve" },
      { args: "{}" },
    );
    await to.tier.append({
      ...{ threadId: thread, records: [other.record], blobs: other.blobs, heads: [] },
      onConflict: "refuse",
    });
    await createJournal(from).erase(thread, all());
    expect(await moveThreads(from, to, { source: "delete" })).toMatchObject({
      differences: [{ checkpointId: record.checkpointId, what: "its record differs" }],
    });
    expect(await from.getTuple(config)).toBeDefined();
  });
});
