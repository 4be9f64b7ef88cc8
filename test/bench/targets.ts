import type { BuildFigures } from "./buildFigures.ts";
import { bytes, count, ms, perSecond, ratio, times } from "./format.ts";
import { BUILD_LABELS, BUILDS } from "./libraries.ts";
import type { SaverId, Table } from "./types.ts";

type Figures = ReadonlyMap<string, number>;

interface Target {
  what: string;
  ours: string;
  /** The figure that ours is compared with, or a number. */
  theirs: string;
  /** What ours may be of theirs: at most where less is better, at least of a rate. Not promised where it isn't there. */
  wanted?: { atMost: number } | { atLeast: number };
  print: (value: number | undefined) => string;
}

const OURS = "replay.postgres";

const TARGETS: Target[] = [
  {
    what: "bytes stored, all tables and indexes",
    ours: `${OURS}.storedTotal`,
    theirs: "replay.official-postgres.storedTotal",
    wanted: { atMost: 1 / 20 },
    print: bytes,
  },
  {
    what: "the same for all 60 conversations",
    ours: "growth.postgres.storedTotal",
    theirs: "growth.official-postgres.storedTotal",
    wanted: { atMost: 1 / 60 },
    print: bytes,
  },
  {
    what: "60 conversations: bytes per checkpoint, the last 200 against the first 200",
    ours: "growth.postgres.bytesPerLast",
    theirs: "growth.postgres.bytesPerFirst",
    wanted: { atMost: 1.5 },
    print: bytes,
  },
  ...forEachBuild("share of the run above the floor, wall", "ownWall", { atMost: 1 / 8 }),
  ...forEachBuild("share of the run above the floor, CPU", "ownCpu"),
  ...forEachBuild("put p50", "putP50", { atMost: 1 / 4 }),
  ...forEachBuild("getTuple p50", "getTupleP50", { atMost: 1 / 8 }),
  ...forEachBuild("getStateHistory, our slowest round", "historyWorst", { atMost: 1 / 25 }, "historyWall"),
  ...forEachBuild(
    "whole run, wall, against the official MemorySaver",
    "runWall",
    { atMost: 1 },
    "runWall",
    "official-memory",
  ),
  ...throughputTargets(),
  {
    // 609 more states of 437 kB would be far more than this.
    what: "growth of memory from listing the newest quarter to listing all, against 2 MB",
    ours: `${OURS}.liveGrowth`,
    theirs: "2000000",
    wanted: { atMost: 1 },
    print: bytes,
  },
  {
    what: "statements of a 3-node run, against 10",
    ours: `${OURS}.statements`,
    theirs: "10",
    wanted: { atMost: 1 },
    print: count,
  },
  {
    what: "pool checkouts of a 3-node run, against 10",
    ours: `${OURS}.checkouts`,
    theirs: "10",
    wanted: { atMost: 1 },
    print: count,
  },
  {
    what: "serde alone: dumps",
    ours: "serde.ours.dumps",
    theirs: "serde.official.dumps",
    wanted: { atMost: 1 / 2 },
    print: ms,
  },
  {
    what: "serde alone: loads",
    ours: "serde.ours.loads",
    theirs: "serde.official.loads",
    wanted: { atMost: 1 / 8 },
    print: ms,
  },
  {
    what: "growing state: blob bytes per turn, against zstd -19 of the append stream",
    ours: "scale.growing.bytesPerTurn",
    theirs: "scale.growing.floor",
    wanted: { atMost: 2.5 },
    print: bytes,
  },
  {
    what: "fork of 1,000 checkpoints and 1 MB, p50, against 20 ms",
    ours: "branch.forkP50",
    theirs: "20",
    wanted: { atMost: 1 },
    print: ms,
  },
  {
    what: "the same: new bytes in all tables and indexes, against its state stored whole",
    ours: "branch.forkStored",
    theirs: "branch.packed",
    wanted: { atMost: 1.5 },
    print: bytes,
  },
  {
    what: "merge of two branches of 50 messages, p50, against 50 ms",
    ours: "branch.mergeP50",
    theirs: "50",
    wanted: { atMost: 1 },
    print: ms,
  },
  {
    what: "archived thread of 812 checkpoints, against zstd -19 --long of its distinct bytes",
    ours: "archive.long.coldBytes",
    theirs: "archive.floor",
    wanted: { atMost: 2 },
    print: bytes,
  },
  {
    what: "resuming an archived thread: requests to S3, against 3",
    ours: "archive.resume.requests",
    theirs: "3",
    wanted: { atMost: 1 },
    print: count,
  },
  {
    what: "put p99 with maintenance running, against without",
    ours: "archive.foreground.during",
    theirs: "archive.foreground.without",
    wanted: { atMost: 1.2 },
    print: ms,
  },
];

/** What was promised against what was measured; figures that this run has not measured say so. */
export function targets(figures: Figures): Table {
  const rows = TARGETS.map(({ what, ours, theirs, wanted, print }) => {
    const mine = figures.get(ours);
    const other = /^\d+$/.test(theirs) ? Number(theirs) : figures.get(theirs);
    return [
      what,
      other === undefined ? "not run" : print(other),
      limit(wanted),
      mine === undefined ? "not run" : print(mine),
      wanted !== undefined && "atLeast" in wanted ? times(mine, other) : ratio(mine, other),
      mine === undefined || other === undefined ? "–" : verdict(mine, other, wanted),
    ];
  });
  return {
    title: "Targets",
    columns: ["", "compared with", "wanted", "ours", "is", ""],
    rows,
    notes: [
      "Compared with the official PostgresSaver of the same run where the row names nothing else.",
      "Rows where nothing is wanted are for information.",
    ],
  };
}

function limit(wanted: Target["wanted"]): string {
  if (wanted === undefined) return "";
  if ("atLeast" in wanted) return `at least ${wanted.atLeast} ×`;
  const { atMost } = wanted;
  return `at most ${atMost >= 1 ? `${atMost} ×` : `1/${Math.round(1 / atMost)}`}`;
}

function verdict(ours: number, theirs: number, wanted: Target["wanted"]): string {
  if (wanted === undefined) return "";
  const reached = "atMost" in wanted ? ours <= theirs * wanted.atMost : ours >= theirs * wanted.atLeast;
  return reached ? "reached" : "NOT reached";
}

/** A row for ES modules and one for CommonJS: our PostgresSaver's figure against an official saver's. */
function forEachBuild(
  what: string,
  figure: keyof BuildFigures,
  wanted?: Target["wanted"],
  theirFigure = figure,
  theirs: SaverId = "official-postgres",
): Target[] {
  return BUILDS.map((build) => ({
    what: `${what}, ${BUILD_LABELS[build]}`,
    ours: `builds.${build}.postgres.${figure}`,
    theirs: `builds.${build}.${theirs}.${theirFigure}`,
    ...(wanted && { wanted }),
    print: ms,
  }));
}

/** Puts per second of cold processes, against the official MemorySaver, which stores nothing. */
function throughputTargets(): Target[] {
  return BUILDS.flatMap((build) => {
    const row = (what: string, saver: string, wanted?: Target["wanted"]): Target => ({
      what: `${what} of 8 cold processes, against the official MemorySaver, ${BUILD_LABELS[build]}`,
      ours: `throughput.${build}.${saver}.putsPerSecond`,
      theirs: `throughput.${build}.official-memory.putsPerSecond`,
      ...(wanted && { wanted }),
      print: perSecond,
    });
    return [
      row("puts per second", "postgres", { atLeast: 0.9 }),
      row("the official PostgresSaver's puts per second", "official-postgres"),
    ];
  });
}
