import { spawn } from "node:child_process";
import * as langchain from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import { postgres } from "@stratigraph/postgres";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import type { Tier } from "@stratigraph/core";
import { readThread, unpack } from "@stratigraph/core/internal";
import { countedS3, requestsOf, since, type S3Counts, type S3Place } from "../countedS3.ts";
import { redis } from "@stratigraph/redis";
import { Redis } from "ioredis";
import { readConversation, readRecording } from "../recording.ts";
import { replay } from "../replay.ts";
import type { Place } from "../savers.ts";
import { s3Request } from "../../servers/s3Request.ts";
import { storedBytes } from "../storedBytes.ts";

/** Input of the job. */
export interface ArchiveInput extends Place {
  s3: S3Place;
  redisUrl: string;
  conversationsFile: string;
  /** Conversations of the long thread, and threads of one conversation each. */
  conversations: number;
  threads: number;
}

/** Times in milliseconds, sizes in bytes. */
export interface ArchiveResult {
  long: ThreadFigures;
  many: ThreadFigures;
  /** What Redis takes for the many threads while they are in use. */
  redisBytes: number;
  /** From resuming the archived long thread until its first node runs, and the same for a thread in the warm tier. */
  resume: { requests: number; ms: number; warmMs: number };
  /** `zstd -19 --long` of all distinct bytes of the long thread. */
  floor: number;
  /** Those bytes. */
  distinct: number;
}

/** What was archived, and the time, CPU and requests that this took. */
export interface ThreadFigures {
  threads: number;
  checkpoints: number;
  /** All tables and indexes, after VACUUM; and contents of their bytea columns. */
  warmBytes: number;
  warmPayload: number;
  coldBytes: number;
  coldObjects: number;
  ms: number;
  cpuMs: number;
  gets: number;
  puts: number;
  lists: number;
}

/** Archives one long thread, then many short ones, and resumes the long one. */
export async function job(input: ArchiveInput): Promise<ArchiveResult> {
  const cold = countedS3(input.s3);
  const open = (options: Partial<TieredSaverOptions> = {}): TieredSaver =>
    new TieredSaver(
      {
        warm: postgres({ url: input.url, schema: input.schema }),
        cold: cold.tier,
        archiveAfter: "0s",
        pause: "0ms",
        ...options,
      },
      () => Date.now() + 120_000,
    );
  const saver = open();
  await saver.setup();

  const recording = readRecording(input.conversationsFile, input.conversations, langchain);
  const thread = replay(recording, saver, langgraph);
  while (await thread.turn()) continue;
  const warm = postgres({ url: input.url, schema: input.schema });
  const distinct = await distinctBytes(warm, saver, "recorded");
  const long = await archived(input, saver, cold.counts, thread.checkpoints());
  const floor = await zstdSize(distinct);
  const resume = await resumed(input, open);

  await saver.deleteThread("recorded");
  const redisBytes = await talk(input, open);
  let checkpoints = 0;
  for await (const _ of warm.list({ recordsOnly: true })) checkpoints += 1;
  const many = await archived(input, saver, cold.counts, checkpoints);
  await warm.end();
  await saver.end();
  cold.close();
  return { long, many, resume, floor, redisBytes, distinct: distinct.length };
}

/** Plays many threads of one conversation each. Returns the bytes of Redis' memory that they then take. */
async function talk(
  { conversationsFile, conversations, threads, redisUrl, s3 }: ArchiveInput,
  open: (options: Partial<TieredSaverOptions>) => TieredSaver,
): Promise<number> {
  const client = new Redis(redisUrl);
  const used = async (): Promise<number> =>
    Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
  const before = await used();
  // Ending a saver ends its tiers: this one has an archive of its own.
  const cold = countedS3(s3);
  const saver = open({ hot: redis({ client, ttl: "1h" }), cold: cold.tier });
  for (let n = 0; n < threads; n += 1) {
    const one = replay(readConversation(conversationsFile, n % conversations, langchain), saver, langgraph);
    one.config.configurable.thread_id = `conversation ${n}`;
    while (await one.turn()) continue;
  }
  await saver.tier.idle();
  const after = await used();
  await saver.end();
  cold.close();
  client.disconnect();
  return after - before;
}

/** Archives every thread. */
async function archived(
  { url, schema, s3 }: ArchiveInput,
  saver: TieredSaver,
  counts: S3Counts,
  checkpoints: number,
): Promise<ThreadFigures> {
  const stored = await storedBytes(url, schema);
  const before = { ...counts };
  const objectsBefore = await objectsIn(s3);
  const cpu = process.cpuUsage();
  const start = performance.now();
  let done = 0;
  for (;;) {
    const { steps } = await saver.maintain();
    const archives = steps.filter(({ what }) => what === "archive");
    for (const step of archives) if (!step.done) throw step.error ?? new Error("not archived");
    done += archives.length;
    if (steps.length === 0) break;
  }
  const ms = performance.now() - start;
  const used = process.cpuUsage(cpu);
  const asked = since(before, counts);
  const objects = await objectsIn(s3);
  return {
    threads: done,
    checkpoints,
    warmBytes: stored.total,
    warmPayload: stored.payload,
    coldBytes: objects.bytes - objectsBefore.bytes,
    coldObjects: objects.count - objectsBefore.count,
    ms,
    cpuMs: (used.user + used.system) / 1000,
    gets: asked.get,
    puts: asked.put,
    lists: asked.list,
  };
}

async function objectsIn(place: S3Place): Promise<{ bytes: number; count: number }> {
  let bytes = 0;
  let count = 0;
  for (let after = ""; ;) {
    const query = `list-type=2&start-after=${encodeURIComponent(after)}`;
    const page = await (await s3Request(place, "GET", `/${place.bucket}?${query}`)).text();
    const keys = [...page.matchAll(/<Key>(.*?)<\/Key>/gs)].map(([, key]) => key ?? "");
    for (const [, size] of page.matchAll(/<Size>(\d+)<\/Size>/g)) bytes += Number(size);
    count += keys.length;
    if (keys.length === 0 || !page.includes("<IsTruncated>true")) return { bytes, count };
    after = keys.at(-1)!;
  }
}

/** Time and requests until the first node of a new turn runs, in a saver that has just been opened. */
async function resumed(
  input: ArchiveInput,
  open: (options: Partial<TieredSaverOptions>) => TieredSaver,
): Promise<ArchiveResult["resume"]> {
  const recording = readRecording(input.conversationsFile, 1, langchain);
  const answered = recording.slice(recording.findIndex((_, n) => recording[n + 1]?.getType() === "ai"));
  const times: number[] = [];
  let requests = 0;
  for (const isArchived of [true, false]) {
    const cold = countedS3(input.s3);
    const saver = open({ cold: cold.tier });
    // A process that serves has its connections and codecs already.
    await saver.getTuple({ configurable: { thread_id: "another" } });
    let first = Number.NaN;
    const one = replay(answered, saver, langgraph, () => {
      first = Number.isNaN(first) ? performance.now() : first;
    });
    const start = performance.now();
    await one.turn();
    times.push(first - start);
    if (isArchived) requests = requestsOf(cold.counts);
    await saver.end();
    cold.close();
  }
  return { requests, ms: times[0]!, warmMs: times[1]! };
}

/** Every distinct byte string of a thread, uncompressed: records, pending writes, ids and values. */
async function distinctBytes(warm: Tier, saver: TieredSaver, threadId: string): Promise<Buffer> {
  const { records, blobs, writes } = await readThread(warm, threadId);
  const found = new Map(blobs.map((blob) => [blob.hash, blob]));
  const parts: Uint8Array[] = [];
  for (const { body } of [...records, ...writes]) parts.push(await unpack(body, 1 << 30));
  for (const { checkpointId } of records) parts.push(Buffer.from(checkpointId));
  for (const { taskId } of writes) parts.push(Buffer.from(taskId));
  for (const { hash } of blobs) parts.push((await saver.coder.blobs.payload(hash, found)) as Uint8Array);
  return Buffer.concat(parts);
}

/** Bytes that `zstd -19 --long=27` makes of a text. */
async function zstdSize(text: Buffer): Promise<number> {
  const child = spawn("zstd", ["-19", "--long=27", "-T0", "-c"], { stdio: ["pipe", "pipe", "inherit"] });
  let size = 0;
  child.stdout.on("data", (chunk: Buffer) => (size += chunk.length));
  child.stdin.end(text);
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`zstd ended with ${code}`))));
  });
  return size;
}
