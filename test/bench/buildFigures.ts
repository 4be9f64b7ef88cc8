import type { BuildResult, BuildSaver } from "./jobs/replayBuild.ts";
import { BUILDS, type Build } from "./libraries.ts";
import { median } from "./stats.ts";

/** What was measured shortly after each other, so that the machine was about as busy for all. */
export type Round = ReadonlyMap<`${Build}.${BuildSaver}`, BuildResult>;

/** Figures of one saver under one build, in milliseconds: medians of the rounds. */
export interface BuildFigures extends Omit<BuildResult, "run" | "history"> {
  runWall: number;
  runCpu: number;
  /** The saver's own share of a run: what it takes above the floor of the same round. Undefined for the floor. */
  ownWall: number | undefined;
  ownCpu: number | undefined;
  historyWall: number;
  historyCpu: number;
  /** Of the slowest round. */
  historyWorst: number;
}

/** The figures of a saver under a build; undefined where no round has them. */
export function figuresOf(
  rounds: readonly Round[],
  build: Build,
  saver: BuildSaver,
): BuildFigures | undefined {
  const measured = rounds.flatMap((round) => {
    const result = round.get(`${build}.${saver}`);
    return result === undefined ? [] : [{ result, floor: round.get(`${build}.floor`) }];
  });
  if (measured.length === 0) return undefined;
  const of = (pick: (result: BuildResult) => number): number =>
    median(measured.map(({ result }) => pick(result)));
  const above = (pick: (result: BuildResult) => number): number | undefined => {
    const shares = measured.flatMap(({ result, floor }) =>
      floor === undefined ? [] : [pick(result) - pick(floor)],
    );
    return saver === "floor" || shares.length === 0 ? undefined : median(shares);
  };
  return {
    putP50: of((result) => result.putP50),
    putP99: of((result) => result.putP99),
    putWritesP50: of((result) => result.putWritesP50),
    putWritesP99: of((result) => result.putWritesP99),
    getTupleP50: of((result) => result.getTupleP50),
    getTupleP99: of((result) => result.getTupleP99),
    runWall: of((result) => result.run.wall),
    runCpu: of((result) => result.run.cpu),
    ownWall: above((result) => result.run.wall),
    ownCpu: above((result) => result.run.cpu),
    historyWall: of((result) => result.history.wall),
    historyCpu: of((result) => result.history.cpu),
    historyWorst: Math.max(...measured.map(({ result }) => result.history.wall)),
  };
}

/** Builds in another order in every other round: none is always the one that comes first. */
export function alternating(builds: readonly Build[], round: number): readonly Build[] {
  const wanted = BUILDS.filter((build) => builds.length === 0 || builds.includes(build));
  return round % 2 === 0 ? wanted : wanted.toReversed();
}
