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
  /** Ours may be at most this share of theirs; at least, where more is better. Without it nothing is promised. */
  share?: number;
  /** Where it isn't there, less is better. */
  moreIsBetter?: true;
  print: (value: number | undefined) => string;
}

const OURS = "replay.postgres";

const TARGETS: Target[] = [
  {
    what: "bytes stored, all tables and indexes",
    ours: `${OURS}.storedTotal`,
    theirs: "replay.official-postgres.storedTotal",
    share: 1 / 20,
    print: bytes,
  },
  {
    what: "the same for all 60 conversations",
    ours: "growth.postgres.storedTotal",
    theirs: "growth.official-postgres.storedTotal",
    share: 1 / 60,
    print: bytes,
  },
  {
    what: "60 conversations: bytes per checkpoint, the last 200 against the first 200",
    ours: "growth.postgres.bytesPerLast",
    theirs: "growth.postgres.bytesPerFirst",
    share: 1.5,
    print: bytes,
  },
  ...forEachBuild("share of the run above the floor, wall", "ownWall", 1 / 8),
  ...forEachBuild("share of the run above the floor, CPU", "ownCpu"),
  ...forEachBuild("put p50", "putP50", 1 / 4),
  ...forEachBuild("getTuple p50", "getTupleP50", 1 / 8),
  ...forEachBuild("getStateHistory, our slowest round", "historyWorst", 1 / 25, "historyWall"),
  ...forEachBuild(
    "whole run, wall, against the official MemorySaver",
    "runWall",
    1,
    "runWall",
    "official-memory",
  ),
  ...throughputTargets(),
  ...coldTargets(),
  {
    // If the savers kept the 609 states before the newest quarter, growth would be far larger than this.
    what: "growth of memory from listing the newest quarter to listing all, against 2 MB",
    ours: `${OURS}.liveGrowth`,
    theirs: "2000000",
    share: 1,
    print: bytes,
  },
  {
    what: "statements of a 3-node run, against 10",
    ours: `${OURS}.statements`,
    theirs: "10",
    share: 1,
    print: count,
  },
  {
    what: "pool checkouts of a 3-node run, against 10",
    ours: `${OURS}.checkouts`,
    theirs: "10",
    share: 1,
    print: count,
  },
  {
    what: "growing state: blob bytes per turn, against zstd -19 of the append stream",
    ours: "scale.growing.bytesPerTurn",
    theirs: "scale.growing.floor",
    share: 2.5,
    print: bytes,
  },
  {
    what: "fork of 1,000 checkpoints and 1 MB, p50, against 20 ms",
    ours: "branch.forkP50",
    theirs: "20",
    share: 1,
    print: ms,
  },
  {
    what: "the same: new bytes in all tables and indexes, against its state stored whole",
    ours: "branch.forkStored",
    theirs: "branch.packed",
    share: 1.5,
    print: bytes,
  },
  {
    what: "merge of two branches of 50 messages, p50, against 50 ms",
    ours: "branch.mergeP50",
    theirs: "50",
    share: 1,
    print: ms,
  },
  {
    what: "archived thread of 812 checkpoints, against zstd -19 --long of its distinct bytes",
    ours: "archive.long.coldBytes",
    theirs: "archive.floor",
    share: 2,
    print: bytes,
  },
  {
    what: "resuming an archived thread: requests to S3, against 3",
    ours: "archive.resume.requests",
    theirs: "3",
    share: 1,
    print: count,
  },
  {
    what: "put p99 with maintenance running, against without",
    ours: "archive.foreground.during",
    theirs: "archive.foreground.without",
    share: 1.2,
    print: ms,
  },
  ...(["put", "getTuple"] as const).map((call): Target => ({
    what: `${call} p50 with 1,000,000 checkpoints, buffers for all of them, against 25,000`,
    ours: `million.${call}.many`,
    theirs: `million.${call}.few`,
    share: 1.3,
    print: ms,
  })),
];

/** What was promised against what was measured; figures that this run has not measured say so. */
export function targets(figures: Figures): Table {
  const rows = TARGETS.map((target) => {
    const { what, ours, theirs, print, moreIsBetter } = target;
    const mine = figures.get(ours);
    const other = /^\d+$/.test(theirs) ? Number(theirs) : figures.get(theirs);
    return [
      what,
      other === undefined ? "not run" : print(other),
      limit(target),
      mine === undefined ? "not run" : print(mine),
      moreIsBetter ? times(mine, other) : ratio(mine, other),
      mine === undefined || other === undefined ? "–" : verdict(mine, other, target),
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

function limit({ share, moreIsBetter }: Target): string {
  if (share === undefined) return "";
  const limit = share >= 1 || moreIsBetter ? `${share} ×` : `1/${Math.round(1 / share)}`;
  return `${moreIsBetter ? "at least" : "at most"} ${limit}`;
}

function verdict(ours: number, theirs: number, { share, moreIsBetter }: Target): string {
  if (share === undefined) return "";
  const reached = moreIsBetter ? ours >= theirs * share : ours <= theirs * share;
  return reached ? "reached" : "NOT reached";
}

/** A row for ES modules and one for CommonJS: our PostgresSaver's figure against an official saver's. */
function forEachBuild(
  what: string,
  figure: keyof BuildFigures,
  share?: number,
  theirFigure = figure,
  theirs: SaverId = "official-postgres",
): Target[] {
  return BUILDS.map((build) => ({
    what: `${what}, ${BUILD_LABELS[build]}`,
    ours: `builds.${build}.postgres.${figure}`,
    theirs: `builds.${build}.${theirs}.${theirFigure}`,
    ...(share !== undefined && { share }),
    print: ms,
  }));
}

/** Puts per second of cold processes, against the official MemorySaver, which stores nothing. */
function throughputTargets(): Target[] {
  return BUILDS.flatMap((build) => {
    const row = (what: string, saver: SaverId, share?: number): Target => ({
      what: `${what}, 8 cold processes, against the official MemorySaver, ${BUILD_LABELS[build]}`,
      ours: `throughput.${build}.${saver}.putsPerSecond`,
      theirs: `throughput.${build}.official-memory.putsPerSecond`,
      ...(share !== undefined && { share }),
      moreIsBetter: true,
      print: perSecond,
    });
    return [
      row("puts per second", "postgres", 0.9),
      row("the same of the official PostgresSaver", "official-postgres"),
    ];
  });
}

/** What a new process takes until its first run is done: our PostgresSaver against the official one. */
function coldTargets(): Target[] {
  return BUILDS.flatMap((build) =>
    (["import", "first invoke"] as const).map((step) => ({
      what: `new process: ${step}, ${BUILD_LABELS[build]}`,
      ours: `cold.${build}.postgres.${step}.wall`,
      theirs: `cold.${build}.official-postgres.${step}.wall`,
      share: 1,
      print: ms,
    })),
  );
}
