import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { tool } from "@langchain/core/tools";
import { MemoryTier, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { copyByReading } from "@stratigraph/core/internal";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import { z } from "zod";
import { createJournal } from "../../src/index.ts";
import { journalNamespace } from "../../src/log/records.ts";
import { fastFolder } from "../../../../../test/servers/fastFolder.ts";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { agentOf, asks, says } from "./effects.ts";

export const thread = "ada";
const config = { configurable: { thread_id: thread } };
const day = 86_400_000;

/** A thread whose journal has secrets, and how these are stored. */
export interface Written {
  readonly tier: Tier;
  /** Fingerprint of a call that another one repeats. */
  readonly call: string;
  /** The stored bytes that have a secret in them: bodies of records, and values. Of that call, and of all. */
  readonly ofCall: readonly Uint8Array[];
  readonly ofAll: readonly Uint8Array[];
  /** Fingerprint of a call of which nothing stands outside of its record. */
  readonly smallCall: string;
  readonly ofSmallCall: readonly Uint8Array[];
}

/**
 * A thread of an agent that pays with small arguments, which stand in the record itself, and a large result, which is a value of its own. The
 * line is cut once, so that it pays again: a repetition. Another call has large arguments, and one that fails has nothing but small ones.
 */
export async function written({ options = {}, valueBytes = 300 }: Kind): Promise<Written> {
  const saver = new TierSaver(new MemoryTier(), options);
  const journal = createJournal(saver);
  const [small, large] = [randomBytes(16).toString("hex"), randomBytes(valueBytes).toString("base64")];
  let paid = 0;
  const pay = tool(
    () => {
      paid += 1;
      if (paid === 1) throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
      return large;
    },
    { name: "pay", description: "pays", schema: z.object({ iban: z.string() }) },
  );
  const script = (turn: number) => (turn < 2 ? asks({ name: "pay", args: { iban: small } }) : says("done"));
  const { graph } = agentOf(journal, journal.tools([pay], { pay: "idempotent" }), script, saver);
  await graph.invoke({ messages: [{ role: "user", content: "pay" }] }, config);
  await journal.run(config, { id: "send", args: { letter: large } }, () => large.toLowerCase());
  const fails = (): never => {
    throw new Error("nobody is there");
  };
  await journal.run(config, { id: "greet", args: { name: small } }, fails).catch(() => undefined);
  const [first, second, , third] = (await journal.calls(thread)).map(({ fingerprint, repeats }) => ({
    fingerprint,
    repeats,
  }));
  if (first?.repeats !== second!.fingerprint) throw new Error("nothing was repeated");
  await journal.end();
  const secrets = await secretsOf(saver);
  const ofCalls = (...calls: readonly (string | undefined)[]): Uint8Array[] =>
    secrets.flatMap(({ bytes, call }) => (calls.includes(call) ? [bytes] : []));
  const found = {
    tier: saver.tier,
    call: first!.fingerprint,
    // Two claims with small arguments, and one result.
    ofCall: ofCalls(first!.fingerprint, second!.fingerprint),
    smallCall: third!.fingerprint,
    ofSmallCall: ofCalls(third!.fingerprint),
    ofAll: secrets.map(({ bytes }) => bytes),
  };
  const counts = [found.ofCall, found.ofSmallCall, found.ofAll].map(({ length }) => length);
  if (counts.join() !== "3,1,6") throw new Error(`${counts.join()} secrets`);
  return found;
}

/** How what stands beside the entries of a journal is stored: in the entry's record, or as a value of its own. */
async function secretsOf({ tier, coder }: TierSaver): Promise<{ bytes: Uint8Array; call: string }[]> {
  const found: { bytes: Uint8Array; call: string }[] = [];
  for await (const { record, blobs } of tier.list({ threadId: thread, namespace: journalNamespace })) {
    const body = await coder.decodeBody(record);
    const { event } = (await coder.metadata(record, body)) as unknown as { event: { call: string } };
    for (const { value } of body.manifest.values())
      if (value !== undefined)
        found.push({ bytes: "hash" in value ? blobs.get(value.hash)!.bytes : record.body, call: event.call });
  }
  return found;
}

/** A storage. */
export interface Place {
  /** What processes share: the storages themselves. */
  readonly tiers: readonly Tier[];
  /** A saver of a process, over the storages as that process has them. */
  open(tiers: readonly Tier[]): TierSaver;
  /** Brings a thread to where it is erased from. */
  fill(written: Written): Promise<void>;
  /** All bytes that the storages have. */
  bytes(): Promise<Buffer>;
  close(): Promise<void>;
}

const encryption = { keys: { k: randomBytes(32) }, activeKey: "k", hashKey: randomBytes(32) };

/** All bytes of a thread that a tier in memory has. */
async function inMemory(tier: Tier): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const seen = new Set<string>();
  for await (const { record, writes, blobs } of tier.list({ threadId: thread })) {
    parts.push(record.body, ...writes.map(({ body }) => body));
    // All that the thread has, whichever record it is listed with.
    for (const { hash, bytes } of blobs.values()) if (seen.size < seen.add(hash).size) parts.push(bytes);
  }
  for (const { hash } of await tier.blobs(thread))
    if (!seen.has(hash)) throw new Error(`the blob ${hash} is alone in its thread`);
  return Buffer.concat(parts);
}

/** A storage of several tiers in memory. @param ready is done once the thread is there */
function stackInMemory(
  open: (tiers: readonly Tier[]) => TieredSaver,
  ready: (saver: TieredSaver) => Promise<unknown>,
): Promise<Place> {
  const tiers = [new MemoryTier(), new MemoryTier()];
  return Promise.resolve({
    tiers,
    open,
    fill: async (from) => {
      const saver = open(tiers);
      await copyByReading(from.tier, thread, thread, saver.tier);
      await ready(saver);
    },
    bytes: async () => Buffer.concat(await Promise.all(tiers.map(inMemory))),
    close: async () => undefined,
  });
}

/** A storage of one tier. */
function alone(tier: Tier, rest: Pick<Place, "bytes" | "close">, options: SaverOptions = {}): Place {
  return {
    tiers: [tier],
    open: ([own]) => new TierSaver(own!, options),
    fill: async (from) => void (await copyByReading(from.tier, thread, thread, tier)),
    ...rest,
  };
}

const hotAndWarm = ([warm, hot]: readonly Tier[]): TieredSaver => new TieredSaver({ hot: hot!, warm: warm! });
/** By whose clock a thread is idle for a month. */
const warmAndCold = ([warm, cold]: readonly Tier[]): TieredSaver =>
  new TieredSaver(
    { warm: warm!, cold: cold!, archiveAfter: "7d", pause: "0ms" },
    () => Date.now() + 30 * day,
  );

async function archive(saver: TieredSaver): Promise<void> {
  const { steps } = await saver.maintain();
  if (!steps.some(({ what, done }) => what === "archive" && done)) throw new Error("it wasn't archived");
}

async function inFolder(): Promise<Place> {
  const path = mkdtempSync(join(fastFolder(), "stratigraph-erased-"));
  const bytes = async (): Promise<Buffer> => {
    const found = readdirSync(path, { recursive: true, withFileTypes: true });
    const files = found.filter((file) => file.isFile());
    return Buffer.concat(files.map(({ parentPath, name }) => unpacked(readFileSync(join(parentPath, name)))));
  };
  const close = async (): Promise<void> => rmSync(path, { recursive: true });
  return alone(folder({ path }), { bytes, close }, { encryption });
}

/** What an object of a folder or a bucket holds (docs/format.md), also one that no thread names any more. */
function unpacked(bytes: Buffer): Buffer {
  const kind = bytes.toString("latin1", 0, 8);
  if (kind === "SGHEAD1\n") return brotliDecompressSync(bytes.subarray(48));
  if (kind !== "SGPACK1\n") return bytes;
  const catalogAt = Number(bytes.readBigUInt64LE(bytes.length - 16));
  const catalog = brotliDecompressSync(bytes.subarray(catalogAt, -16));
  const { sections } = JSON.parse(catalog.toString()) as { sections: [from: number, to: number][] };
  return Buffer.concat(sections.map(([from, to]) => brotliDecompressSync(bytes.subarray(from, to))));
}

async function inPostgres(): Promise<Place> {
  const { url, drop } = await freshDatabase();
  const tier = postgres({ url });
  await tier.setup();
  const bytes = async (): Promise<Buffer> => {
    const tables = await query(
      url,
      "select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables",
    );
    const all = tables.map(({ name }) => `select x::text as row from ${String(name)} x`).join(" union all ");
    const texts = (await query(url, all)).flatMap(({ row }) => String(row).match(/\\x[0-9a-f]*/g) ?? []);
    return Buffer.concat(texts.map((hex) => Buffer.from(hex.slice(2), "hex")));
  };
  return alone(tier, { bytes, close: async () => void (await tier.end(), await drop()) });
}

async function inRedis(): Promise<Place> {
  const { url, prefix } = await sharedRedis();
  const client = new Redis(url);
  const bytes = async (): Promise<Buffer> => {
    const parts: Buffer[] = [];
    for (const key of await client.keys(`${prefix}*`)) {
      const type = await client.type(key);
      if (type === "hash") parts.push(...(await client.hvalsBuffer(key)));
      else if (type === "zset") parts.push(...(await client.zrangeBuffer(key, "0", "-1")));
      else if (type === "set") parts.push(...(await client.smembersBuffer(key)));
      else if (type === "string") parts.push((await client.getBuffer(key))!);
      else throw new Error(`${key} is a ${type}`);
    }
    return Buffer.concat(parts);
  };
  return alone(redis({ client, prefix }), { bytes, close: async () => void client.disconnect() });
}

/** What is erased. */
export type Erasing = "all" | "a call with its repetition" | "a call with nothing but small values";

/** A kind of storage. */
export interface Kind {
  readonly name: string;
  readonly open: () => Promise<Place>;
  /** What is erased from it with few rounds. */
  readonly few: readonly Erasing[];
  readonly options?: SaverOptions;
  /** How large a large value is. */
  readonly valueBytes?: number;
}

export const kinds: readonly Kind[] = [
  {
    name: "memory",
    open: async () => {
      const tier = new MemoryTier();
      return alone(tier, { bytes: () => inMemory(tier), close: async () => undefined });
    },
    few: ["all", "a call with its repetition"],
  },
  {
    name: "a hot copy and its owner",
    open: () => stackInMemory(hotAndWarm, ({ tier }) => tier.idle()),
    few: ["all", "a call with nothing but small values"],
  },
  {
    name: "an archive, where the thread is",
    open: () => stackInMemory(warmAndCold, archive),
    few: ["a call with its repetition"],
  },
  {
    name: "an archive, whose thread went on",
    open: () =>
      stackInMemory(warmAndCold, async (saver) => {
        await archive(saver);
        await saver.tier.restoreThread!(thread);
      }),
    few: ["a call with its repetition"],
  },
  {
    name: "a folder, encrypted",
    open: inFolder,
    few: ["a call with nothing but small values"],
    options: { encryption },
    // More than stands in a thread's head.
    valueBytes: 20_000,
  },
  { name: "PostgreSQL", open: inPostgres, few: ["all"] },
  { name: "Redis", open: inRedis, few: ["all"] },
];
