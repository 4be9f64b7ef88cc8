import type { Packages } from "./child.ts";
import type { Conversations } from "./conversations.ts";
import type { Build } from "./libraries.ts";
import type { ProfileOf } from "./profile.ts";

/** One printed table; every row has as many cells as there are columns. */
export interface Table {
  title: string;
  columns: string[];
  rows: string[][];
  /** Sentences printed below the table. */
  notes: string[];
}

/** Command line of `pnpm bench`. */
export interface BenchOptions {
  /** 5 conversations and small states: a smoke test, whose figures mean nothing. */
  quick: boolean;
  /** Also what takes minutes: the official PostgresSaver on all 60 conversations. */
  full: boolean;
  /** Generated conversations, also where the recorded ones are there. */
  generated: boolean;
  /** Write docs/benchmarks.md. */
  write: boolean;
  /** Sections to run, by file name; all where empty. */
  only: string[];
  /** Savers to measure, by id; all where empty. */
  saver: string[];
  /** Builds to measure where a section compares them; both where empty. */
  build: Build[];
  /** Instead of the sections: what savers spend their time on. */
  profile: ProfileOf | undefined;
}

/** What a section gets. */
export interface BenchContext {
  options: BenchOptions;
  /** Connection string of a PostgreSQL server with fsync on, used by nothing else. */
  postgresUrl: string;
  /** Savers that can be measured in this checkout, in the order of the columns. */
  savers: SaverId[];
  conversations: Conversations;
  /** Figures that the table of targets reads, by names such as `replay.postgres.putP50`. */
  figures: Map<string, number>;
  /** Reports what went wrong; the bench goes on with the rest and ends with a non-zero exit code. */
  failed(what: string, error: unknown): void;
  /** Runs the function `job` exported by `file` in a fresh Node process and returns what it returns. */
  inChild<Result>(file: URL, input: unknown, packages?: Packages): Promise<Result>;
}

/** One file of test/bench/sections exports these two. */
export interface Section {
  name: string;
  run(context: BenchContext): Promise<Table | Table[]>;
  /** Sections run in ascending order; 100 where not given. */
  order?: number;
  /** It measures our PostgresSaver, and is skipped where that isn't measured. False where not given. */
  needsPostgresSaver?: boolean;
}

export type SaverId = "official-memory" | "official-postgres" | "memory" | "postgres";
