import { loadavg } from "node:os";
import { startPostgres, query, type PostgresServer } from "../../servers/postgres.ts";
import { bytes, ms, ratio } from "../format.ts";
import type { FillInput, FillResult } from "../jobs/fillThreads.ts";
import type { MeasureInput, MeasureResult } from "../jobs/measureThreads.ts";
import type { ScanResult } from "../jobs/scanListings.ts";
import type { Place } from "../savers.ts";
import type { TierPlace } from "./openPlace.ts";
import type { BenchContext, Table } from "../types.ts";

const CHECKPOINTS = 50;
const SCHEMA = "stratigraph";
const SHARDS = 4;

/** How much is filled and measured. */
interface Extent {
  /** In the database that is compared with the full one, and in the full one. */
  few: number;
  many: number;
  visits: number;
  rounds: number;
}

/** A database, as it was after filling. */
interface Filled extends TierPlace {
  threads: number;
  fill: FillResult;
  vacuum: number;
  sizes: Sizes;
}

interface Sizes {
  rows: Record<string, number>;
  tables: number;
  indexes: number;
}

/** One PostgreSQL with a million checkpoints against one with next to none. */
export async function manyThreads(context: BenchContext): Promise<Table[]> {
  const extent = context.options.quick
    ? { few: 60, many: 400, visits: 20, rounds: 3 }
    : { few: 500, many: 20_000, visits: 400, rounds: 40 };
  const server = await startPostgres({ fsync: true, version: 15 });
  try {
    const few = await filled(context, server, "few", extent.few);
    const many = await filled(context, server, "many", extent.many);
    const small = await measure(context, [few, many], extent);
    const scans = await context.inChild<ScanResult>(job("scanListings"), {
      url: many.url,
      schema: SCHEMA,
    } satisfies Place);
    const revacuum = [await vacuumed(few), await vacuumed(many)];
    await withBuffers(server, "2GB", [few, many]);
    const large = await measure(context, [few, many], extent);
    const spread = await overShards(context, server, extent.few);
    const sharded = await measure(context, [few, spread], extent);
    for (const [figure, call] of [
      ["put", "put"],
      ["getTuple", "getTuple, first of a thread"],
    ] as const)
      for (const [n, which] of ["few", "many"].entries())
        context.figures.set(`million.${figure}.${which}`, large.calls[call]![n]!.p50);
    return [stored(few, many, revacuum), calls(small, large, extent), scanned(scans, many), shards(sharded)];
  } finally {
    await server.stop();
  }
}

function job(name: string): URL {
  return new URL(`../jobs/${name}.ts`, import.meta.url);
}

async function filled(
  context: BenchContext,
  server: PostgresServer,
  name: string,
  threads: number,
): Promise<Filled> {
  const place = { url: await database(server, name), schema: SCHEMA };
  const fill = await fillWith(context, place, threads);
  const vacuum = await vacuumed(place);
  await query(server.url, "checkpoint");
  return { ...place, threads, fill, vacuum, sizes: await sizesOf(place) };
}

/** The same threads over four databases of the same server. */
async function overShards(
  context: BenchContext,
  server: PostgresServer,
  threads: number,
): Promise<TierPlace & Pick<Filled, "threads">> {
  const shards: string[] = [];
  for (let n = 0; n < SHARDS; n += 1) shards.push(await database(server, `shard_${n}`));
  const place = { url: shards[0]!, shards, schema: SCHEMA };
  await fillWith(context, place, threads);
  for (const url of shards) await vacuumed({ url });
  await query(server.url, "checkpoint");
  return { ...place, threads };
}

/** Creates a database. Its URL. */
async function database(server: PostgresServer, name: string): Promise<string> {
  await query(server.url, `create database ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

async function fillWith(context: BenchContext, place: TierPlace, threads: number): Promise<FillResult> {
  return await context.inChild<FillResult>(job("fillThreads"), {
    ...place,
    conversationsFile: context.conversations.file,
    threads,
    checkpoints: CHECKPOINTS,
  } satisfies FillInput);
}

/** Vacuums and analyses a database. Milliseconds. */
async function vacuumed({ url }: Pick<Place, "url">): Promise<number> {
  const start = performance.now();
  await query(url, "vacuum (analyze)");
  return performance.now() - start;
}

async function sizesOf({ url, schema }: Place): Promise<Sizes> {
  const rows: Record<string, number> = {};
  for (const table of ["threads", "heads", "checkpoints", "blobs", "writes"]) {
    const [row] = await query(url, `select count(*) as n from ${schema}.${table}`);
    rows[table] = Number(row!["n"]);
  }
  const [sizes] = await query(
    url,
    `select sum(pg_table_size(c.oid)) as tables, sum(pg_indexes_size(c.oid)) as indexes
       from pg_class c where c.relkind = 'r' and c.relnamespace = $1::regnamespace`,
    [schema],
  );
  return { rows, tables: Number(sizes!["tables"]), indexes: Number(sizes!["indexes"]) };
}

/** Restarts the server with other buffers, and reads everything into them. */
async function withBuffers(
  server: PostgresServer,
  size: string,
  filledOnes: readonly Filled[],
): Promise<void> {
  await query(server.url, `alter system set shared_buffers = '${size}'`);
  await server.restart();
  for (const { url, schema } of filledOnes) {
    await query(url, "create extension if not exists pg_prewarm");
    await query(
      url,
      "select pg_prewarm(oid) from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'i')",
      [schema],
    );
  }
}

async function measure(
  context: BenchContext,
  places: readonly (TierPlace & { threads: number })[],
  { visits, rounds }: Extent,
): Promise<MeasureResult> {
  return await context.inChild<MeasureResult>(job("measureThreads"), {
    places: places.map(({ url, schema, threads, shards }) => ({
      url,
      schema,
      threads,
      ...(shards === undefined ? {} : { shards }),
    })),
    visits,
    rounds,
  } satisfies MeasureInput);
}

function stored(few: Filled, many: Filled, revacuum: readonly number[]): Table {
  const row = ({ threads, fill, vacuum, sizes }: Filled, n: number): string[] => {
    const total = sizes.tables + sizes.indexes;
    return [
      `${threads} threads`,
      String(sizes.rows["checkpoints"]),
      String(sizes.rows["blobs"]),
      String(sizes.rows["writes"]),
      bytes(sizes.tables),
      bytes(sizes.indexes),
      bytes(total / sizes.rows["checkpoints"]!),
      ms(fill.ms),
      ms(vacuum),
      ms(revacuum[n]),
    ];
  };
  return {
    title: "Many threads in one PostgreSQL: what is stored",
    columns: [
      "",
      "checkpoints",
      "values (blobs)",
      "pending writes",
      "tables",
      "indexes",
      "per checkpoint",
      "filled in",
      "VACUUM ANALYZE after that",
      "and after the calls below",
    ],
    rows: [row(few, 0), row(many, 1)],
    notes: [
      "Filled through the tier's append, as by a saver, from recorded runs of a compiled graph: 8 different threads of 50 checkpoints, " +
        "each replayed on every eighth thread, turn by turn in random order, so that the rows of a thread lie apart. 3 pools, groups of " +
        "up to 64 appends, synchronous_commit off while filling.",
      `PostgreSQL 15 with its defaults, fsync on. The machine is shared with other work: load average ${loadavg()[0]!.toFixed(1)} at the end.`,
    ],
  };
}

function calls(small: MeasureResult, large: MeasureResult, { visits, rounds }: Extent): Table {
  const cells = (result: MeasureResult, call: string): string[] => {
    const [few, many] = result.calls[call]!;
    return [
      `${ms(few!.p50)} / ${ms(few!.p99)}`,
      `${ms(many!.p50)} / ${ms(many!.p99)}`,
      ratio(many!.p50, few!.p50),
    ];
  };
  const single = (of: (result: MeasureResult) => readonly number[]): string[] =>
    [small, large].flatMap((result) => {
      const [few, many] = of(result);
      return [ms(few), ms(many), ratio(many, few)];
    });
  return {
    title: "Many threads in one PostgreSQL: calls, p50 / p99, few threads against many",
    columns: ["", "few", "many", "many is", "few, 2 GB", "many, 2 GB", "many is"],
    rows: [
      ...Object.keys(small.calls).map((call) => [call, ...cells(small, call), ...cells(large, call)]),
      ["verify, per thread of 50 checkpoints", ...single(({ verifyPerThread }) => verifyPerThread)],
      ["maintenance: pruning a thread", ...single(({ prunePerThread }) => prunePerThread)],
      ["maintenance with nothing to do", ...single(({ idleMaintenance }) => idleMaintenance)],
    ],
    notes: [
      `${visits} threads visited in each database, ${rounds} pages of each listing, in turns in one process. A first getTuple finds ` +
        "nothing of the thread in the process.",
      "The first three columns: shared_buffers at its default of 128 MB, so that most of the large database is outside. The others: 2 GB, " +
        "filled by pg_prewarm. Target for put and getTuple: at most 1.3 ×.",
    ],
  };
}

function scanned(scans: ScanResult, many: Filled): Table {
  return {
    title: `What a page of each listing looks at, of ${many.sizes.rows["checkpoints"]} checkpoints`,
    columns: ["", "rows, all statements", "rows, the largest statement", "through"],
    rows: Object.entries(scans).map(([name, { rows, most, through }]) => [
      name,
      String(rows),
      String(most),
      through.join(", "),
    ]),
    notes: [
      "Counted from the plans that auto_explain logs with actual rows, of every statement inside the functions too: rows that scans " +
        "returned or filtered out.",
    ],
  };
}

function shards(result: MeasureResult): Table {
  return {
    title: `The same threads in ${SHARDS} databases of one server: what spreading them costs`,
    columns: ["", "one database", `${SHARDS} databases`, "is"],
    rows: [
      ...Object.entries(result.calls).map(([call, [single, many]]) => [
        call,
        `${ms(single!.p50)} / ${ms(single!.p99)}`,
        `${ms(many!.p50)} / ${ms(many!.p99)}`,
        ratio(many!.p50, single!.p50),
      ]),
    ],
    notes: [
      "p50 / p99. All databases share a server, a disk and two cores: this shows the price of routing and merging, not what more " +
        "machines would bring.",
    ],
  };
}
