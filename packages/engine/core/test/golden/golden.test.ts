import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { readThread, type ThreadContents } from "@stratigraph/core/internal";
import { describe, expect, test } from "vitest";
import { difference } from "../serde/difference.ts";
import * as fixture1 from "./fixture1.ts";
import { readBlob, readRecord, readWrites, type StoredThread } from "./reader.mjs";

// What was stored once must be read for ever. Every v*.json was written by the code of its time and is never changed;
// `UPDATE=1 npx vitest run packages/engine/core/test/golden` writes the next one.

interface GoldenFile {
  /** Version of the stored format, as docs/format.md counts. */
  readonly format: number;
  /** What is in it. */
  readonly fixture: number;
  readonly threads: Record<"plain" | "encrypted", StoredThread>;
  /** Type and bytes by the serializer. */
  readonly values: Record<string, readonly [type: string, hex: string]>;
}

const format = 1;
const newest = 1;
const fixtures = new Map([[newest, fixture1]]);
const folder = import.meta.dirname;
const versionOf = (file: string): number => Number(/^v(\d+)\.json$/.exec(file)?.[1]);
const files = readdirSync(folder)
  .filter((file) => versionOf(file) > 0)
  .sort((a, b) => versionOf(a) - versionOf(b));

if (process.env["UPDATE"] === "1") {
  const next = `v${Math.max(0, ...files.map(versionOf)) + 1}.json`;
  writeFileSync(join(folder, next), await written(), { flag: "wx" });
  files.push(next);
}

test("there is a golden file of this format, with every kind of blob", () => {
  const current = files.map(open).filter((file) => file.format === format);
  expect(current.length).toBeGreaterThan(0);
  const { plain } = current.at(-1)!.threads;
  const kinds = new Set(plain.blobs.map(({ hash }) => readBlob(plain, hash).kind));
  expect([...kinds].sort()).toEqual([1, 2, 3]);
});

describe.each(files)("%s", (file) => {
  const { fixture, threads, values } = open(file);
  const { expectedThread, parts, serializer, values: expectedValues } = fixtures.get(fixture)!;

  test.each(["plain", "encrypted"] as const)("the %s thread reads as what was put", async (part) => {
    const tier = new MemoryTier();
    await tier.append(importOf(threads[part]));
    const saver = new TierSaver(tier, parts[part]);
    const found: unknown[] = [];
    for await (const tuple of saver.list({ configurable: { thread_id: "golden" } })) found.push(tuple);
    const expected = expectedThread();
    expect(found.length).toBe(expected.length);
    // Objects compare by key, in any order: which channel comes first is no promise.
    for (const [n, tuple] of found.entries())
      expect(difference(sorted(tuple), sorted(expected[n]))).toBeUndefined();
    const latest = await saver.getTuple({ configurable: { thread_id: "golden" } });
    expect(latest?.config.configurable?.["checkpoint_id"]).toBe(
      threads[part].heads.find(({ namespace }) => namespace === "")?.to,
    );
  });

  test("every value of the serializer", async () => {
    const serde = serializer();
    const expected = expectedValues();
    expect(Object.keys(values)).toEqual(Object.keys(expected));
    for (const [name, [type, hex]] of Object.entries(values)) {
      const found = await serde.loadsTyped(type, Buffer.from(hex, "hex"));
      expect(difference(found, expected[name]), name).toBeUndefined();
    }
  });
});

describe("a reader written from docs/format.md alone", () => {
  const { threads } = open(files[0]!);
  const thread = threads.plain;

  test("finds every value of every checkpoint, down chains of patches", () => {
    const expected = fixture1.expectedThread() as {
      config: { configurable: { checkpoint_id: string } };
      checkpoint: Record<string, unknown>;
    }[];
    let patched = 0;
    for (const record of thread.records) {
      const { checkpoint, metadata, values } = readRecord(thread, record);
      const { checkpoint: wanted } = expected.find(
        ({ config }) => config.configurable.checkpoint_id === record.checkpointId,
      )!;
      const { channel_values: wantedValues, ...header } = wanted as {
        channel_values: Record<string, unknown>;
      };
      expect(checkpoint).toEqual(header);
      expect(metadata).toMatchObject({ source: expect.any(String) as string });
      expect(Object.keys(values).sort()).toEqual(Object.keys(wantedValues).sort());
      const { doc, fixed, count } = values as Record<string, [string, Uint8Array] | undefined>;
      if (doc !== undefined) {
        expect(JSON.parse(Buffer.from(doc[1]).toString())).toBe(wantedValues["doc"]);
        expect(fixed).toEqual(["bytes", wantedValues["fixed"]]);
        expect(JSON.parse(Buffer.from(count![1]).toString())).toBe(wantedValues["count"]);
        patched += 1;
      }
    }
    expect(patched).toBe(7);
  });

  test("finds pending writes", () => {
    const found = thread.writes.flatMap((batch) => readWrites(thread, batch));
    expect(found.map(({ index, channel }) => [index, channel])).toEqual([
      [0, "count"],
      [1, "doc"],
      [2, "long"],
      [-3, "__interrupt__"],
      [-3, "__interrupt__"],
    ]);
    expect(
      found.map(({ value: [type, bytes] }) => [type, JSON.parse(Buffer.from(bytes).toString())])[2],
    ).toEqual(["json", "w".repeat(3000)]);
  });

  test("opens sealed bytes", () => {
    const sealed = {
      ...threads.encrypted,
      keys: { "schlüssel 2": new Uint8Array(32).fill(7) },
      hashKey: new Uint8Array(32).fill(9),
    };
    const values = sealed.records.map((record) => readRecord(sealed, record).values["doc"]?.[0]);
    expect(values.filter((type) => type === "json")).toHaveLength(7);
  });

  test("sees damage", () => {
    const [first] = thread.blobs;
    const damaged = { ...thread, blobs: [{ ...first!, bytes: `${first!.bytes.slice(0, -2)}00` }] };
    expect(() => readBlob(damaged, first!.hash)).toThrow();
    const record = thread.records.at(-1)!;
    expect(() => readRecord(thread, { ...record, checkpointId: "another" })).toThrow("checksum");
  });
});

function open(file: string): GoldenFile {
  return JSON.parse(readFileSync(join(folder, file), "utf8")) as GoldenFile;
}

/** A golden file by today's code. */
async function written(): Promise<string> {
  const { parts, putThread, serializer, values } = fixtures.get(newest)!;
  const threads: Record<string, StoredThread> = {};
  for (const [part, options] of Object.entries(parts)) {
    const tier = new MemoryTier();
    await putThread(new TierSaver(tier, options));
    threads[part] = storedForm(await readThread(tier, "golden"));
  }
  const serde = serializer();
  const dumped = Object.entries(values()).map(([name, value]) => {
    const [type, bytes] = serde.dumps(value);
    return [name, [type, hexOf(bytes)]];
  });
  const file = { format, fixture: newest, threads, values: Object.fromEntries(dumped) as unknown };
  return `${JSON.stringify(file, null, 1)}\n`;
}

function storedForm({ records, blobs, writes, heads }: ThreadContents): StoredThread {
  return {
    records: records.map(({ threadId: _threadId, terms: tags, body, ...record }) => {
      return { ...record, tags, body: hexOf(body) };
    }),
    blobs: blobs.map(({ bytes, ...blob }) => ({ ...blob, bytes: hexOf(bytes) })),
    writes: writes.map(({ threadId: _threadId, body, ...batch }) => ({ ...batch, body: hexOf(body) })),
    heads: heads.map(({ namespace, to }) => ({ namespace, to })),
  } as StoredThread;
}

function importOf(stored: StoredThread) {
  const threadId = "golden";
  return {
    threadId,
    records: stored.records.map(({ tags: terms, body, ...record }) => {
      return { ...record, threadId, terms, body: Buffer.from(body, "hex") };
    }),
    blobs: stored.blobs.map((blob) => ({ ...blob, bytes: Buffer.from(blob.bytes, "hex") })),
    writes: stored.writes.map((batch) => ({ ...batch, threadId, body: Buffer.from(batch.body, "hex") })),
    heads: stored.heads.map((head) => ({ ...head, expected: "any" as const })),
    onConflict: "refuse" as const,
  };
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Plain objects with their keys in order; everything else as it is. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

test.runIf(process.env["UPDATE"] !== "1")("golden files aren't written by the way", () => {
  expect(existsSync(join(folder, `v${files.length + 1}.json`))).toBe(false);
});
