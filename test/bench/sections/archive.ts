import { startRedis } from "../../servers/redis.ts";
import { startS3 } from "../../servers/s3.ts";
import { s3Request } from "../../servers/s3Request.ts";
import { bytes, count, ms, ratio } from "../format.ts";
import type { ArchiveInput, ArchiveResult, ThreadFigures } from "../jobs/archiveThreads.ts";
import type { ForegroundInput, ForegroundResult } from "../jobs/foregroundPuts.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "archive";
export const order = 50;
export const needsPostgresSaver = true;

/** Threads moved from PostgreSQL to S3: their size there, the work of moving them, and how much it slows down other threads' puts. */
export async function run(context: BenchContext): Promise<Table> {
  const [server, redis] = await Promise.all([startS3(), startRedis()]);
  try {
    await s3Request(server, "PUT", "/archive");
    const { quick } = context.options;
    const place = {
      url: context.postgresUrl,
      s3: { ...server, bucket: "archive" },
      conversationsFile: context.conversations.file,
    };
    const archive = await context.inChild<ArchiveResult>(
      new URL("../jobs/archiveThreads.ts", import.meta.url),
      {
        ...place,
        schema: "archive",
        redisUrl: redis.url,
        conversations: quick ? 3 : 20,
        threads: quick ? 3 : 60,
      } satisfies ArchiveInput,
    );
    const foreground = await context.inChild<ForegroundResult>(
      new URL("../jobs/foregroundPuts.ts", import.meta.url),
      {
        ...place,
        schema: "foreground",
        backlog: quick ? 60 : 400,
        threads: 8,
        everyMs: 100,
        windowMs: quick ? 500 : 3000,
        windows: quick ? 1 : 3,
      } satisfies ForegroundInput,
    );
    setFigures(context, archive, foreground);
    return table(archive, foreground);
  } finally {
    await Promise.all([server.stop(), redis.stop()]);
  }
}

function setFigures(
  { figures }: BenchContext,
  { long, many, ...r }: ArchiveResult,
  f: ForegroundResult,
): void {
  for (const [kind, of] of Object.entries({ long, many })) {
    for (const [figure, value] of Object.entries(of))
      figures.set(`archive.${kind}.${figure}`, value as number);
  }
  figures.set("archive.floor", r.floor);
  figures.set("archive.resume.requests", r.resume.requests);
  figures.set("archive.redisBytes", r.redisBytes);
  figures.set("archive.foreground.without", f.without.p99);
  figures.set("archive.foreground.during", f.during.p99);
}

function table(
  { long, many, resume, floor, distinct, redisBytes }: ArchiveResult,
  f: ForegroundResult,
): Table {
  const row = (what: string, of: (figures: ThreadFigures) => string): string[] => [what, of(long), of(many)];
  const perSecond = (amount: number, { ms: took }: ThreadFigures): number => amount / (took / 1000);
  return {
    title: "Archive: PostgreSQL to S3",
    columns: ["", "one long thread", `${many.threads} threads of a conversation each`],
    rows: [
      row("checkpoints", (t) => count(t.checkpoints)),
      row("in PostgreSQL, tables and indexes", (t) => bytes(t.warmBytes)),
      row("… contents of bytea columns", (t) => bytes(t.warmPayload)),
      row("in S3", (t) => bytes(t.coldBytes)),
      row("… against PostgreSQL", (t) => ratio(t.coldBytes, t.warmBytes)),
      ["… against zstd -19 --long of all distinct bytes", ratio(long.coldBytes, floor), ""],
      row("objects", (t) => count(t.coldObjects)),
      row("archived per second: threads", (t) => count(perSecond(t.threads, t))),
      row("… checkpoints", (t) => count(perSecond(t.checkpoints, t))),
      row("… bytes, as they are in PostgreSQL", (t) => bytes(perSecond(t.warmPayload, t))),
      row("CPU per thread", (t) => ms(t.cpuMs / t.threads)),
      row("requests per thread: GET", (t) => count(t.gets / t.threads)),
      row("… PUT", (t) => count(t.puts / t.threads)),
      ["resuming it, until its first node runs", ms(resume.ms), ""],
      ["… in PostgreSQL already", ms(resume.warmMs), ""],
      ["… requests to S3", count(resume.requests), ""],
      ["in Redis, while in use", "", bytes(redisBytes)],
    ],
    notes: [
      `The floor is ${bytes(floor)}: zstd -19 --long=27 of ${bytes(distinct)}, all values, records, pending writes and ids of the long thread, each once, uncompressed.`,
      "Ceph RGW on the same machine is the S3; archived one thread after another without pauses.",
      `Puts of ${f.without.puts} and ${f.during.puts} checkpoints at a steady rate of 80 per second: p50 ${ms(f.without.p50)}, p99 ${ms(f.without.p99)}; ` +
        `with maintenance in the same process (defaults: one thread at a time, pauses), ${count(f.archivedPerSecond)} threads archived per second: ` +
        `p50 ${ms(f.during.p50)}, p99 ${ms(f.during.p99)} (${ratio(f.during.p99, f.without.p99)}).`,
    ],
  };
}
