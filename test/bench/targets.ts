import { bytes, count, ms, ratio } from "./format.ts";
import type { Table } from "./types.ts";

type Figures = ReadonlyMap<string, number>;

interface Target {
  what: string;
  ours: string;
  /** The figure that ours is compared with, or a number. */
  theirs: string;
  /** Ours may be at most this share of theirs. */
  share: number;
  print: (value: number | undefined) => string;
}

const OFFICIAL = "replay.official-postgres";
const OURS = "replay.postgres";

const TARGETS: Target[] = [
  target("bytes stored, all tables and indexes", "storedTotal", 1 / 20, bytes),
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
  target("put p50", "putP50", 1 / 4, ms),
  target("getTuple p50", "getTupleP50", 1 / 8, ms),
  target("getStateHistory", "historyWall", 1 / 25, ms),
  {
    // 609 more states of 437 kB would be far more than this.
    what: "growth of memory from listing the newest quarter to listing all, against 2 MB",
    ours: `${OURS}.liveGrowth`,
    theirs: "2000000",
    share: 1,
    print: bytes,
  },
  {
    what: "whole run, wall, against the official MemorySaver",
    ours: `${OURS}.runWall`,
    theirs: "replay.official-memory.runWall",
    share: 1,
    print: ms,
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
    what: "serde alone: dumps",
    ours: "serde.ours.dumps",
    theirs: "serde.official.dumps",
    share: 1 / 2,
    print: ms,
  },
  {
    what: "serde alone: loads",
    ours: "serde.ours.loads",
    theirs: "serde.official.loads",
    share: 1 / 8,
    print: ms,
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
];

/** What was promised against what was measured; figures that this run has not measured say so. */
export function targets(figures: Figures): Table {
  const rows = TARGETS.map(({ what, ours, theirs, share, print }) => {
    const mine = figures.get(ours);
    const other = /^\d+$/.test(theirs) ? Number(theirs) : figures.get(theirs);
    const known = mine !== undefined && other !== undefined;
    return [
      what,
      other === undefined ? "not run" : print(other),
      share >= 1 ? `${share} ×` : `1/${Math.round(1 / share)}`,
      mine === undefined ? "not run" : print(mine),
      ratio(mine, other),
      known ? (mine <= other * share ? "reached" : "NOT reached") : "–",
    ];
  });
  return {
    title: "Targets",
    columns: ["", "compared with", "ours at most", "ours", "is", ""],
    rows,
    notes: ["Compared with the official PostgresSaver of the same run where the row names nothing else."],
  };
}

function target(what: string, figure: string, share: number, print: Target["print"]): Target {
  return { what, ours: `${OURS}.${figure}`, theirs: `${OFFICIAL}.${figure}`, share, print };
}
