import { query } from "../../servers/postgres.ts";
import { alternating, type BuildFigures, figuresOf, type Round } from "../buildFigures.ts";
import { ms, ratio } from "../format.ts";
import type { BuildInput, BuildResult, BuildSaver } from "../jobs/replayBuild.ts";
import { BUILD_LABELS, BUILDS, type Build } from "../libraries.ts";
import { SAVERS } from "../savers.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "builds";
export const order = 15;

/** Rounds of our savers and the floor: single figures are noisy. */
const ROUNDS = 5;

/** The official savers take minutes for a round, so they have fewer, spread over the others. */
const OFFICIAL_ROUNDS: readonly number[] = [0, 4];
const OFFICIAL_ROUNDS_OF_FULL: readonly number[] = [0, 2, 4];

const MEASURES: [label: string, figure: keyof BuildFigures][] = [
  ["put p50", "putP50"],
  ["put p99", "putP99"],
  ["putWrites p50", "putWritesP50"],
  ["putWrites p99", "putWritesP99"],
  ["getTuple p50", "getTupleP50"],
  ["getTuple p99", "getTupleP99"],
  ["whole run, wall", "runWall"],
  ["whole run, CPU", "runCpu"],
  ["… above the floor, wall", "ownWall"],
  ["… above the floor, CPU", "ownCpu"],
  ["getStateHistory, wall", "historyWall"],
  ["… of the slowest round", "historyWorst"],
  ["getStateHistory, CPU", "historyCpu"],
];

/** What every saver takes of a run, as an application of ES modules and one of CommonJS have it. */
export async function run(context: BenchContext): Promise<Table> {
  const savers: BuildSaver[] = ["floor", ...context.savers];
  const rounds: Round[] = [];
  for (let round = 0; round < (context.options.quick ? 1 : ROUNDS); round++)
    rounds.push(await measureRound(context, savers, round));
  const builds = alternating(context.options.build, 0);
  const rows = builds.flatMap((build) => {
    const figures = new Map(savers.map((saver) => [saver, figuresOf(rounds, build, saver)]));
    for (const [saver, measured] of figures)
      for (const [figure, value] of Object.entries(measured ?? {}))
        if (value !== undefined) context.figures.set(`builds.${build}.${saver}.${figure}`, value as number);
    return MEASURES.map(([label, figure]) => [
      `${BUILD_LABELS[build]}: ${label}`,
      ...savers.map((saver) =>
        saver === "floor" && !figure.startsWith("run") ? "" : ms(figures.get(saver)?.[figure]),
      ),
      ratio(figures.get("postgres")?.[figure], figures.get("official-postgres")?.[figure]),
    ]);
  });
  return {
    title: "What a saver takes of a run, LangGraph imported and required",
    columns: [
      "",
      ...savers.map((saver) => (saver === "floor" ? "floor" : SAVERS[saver].label)),
      "our PostgresSaver against the official one",
    ],
    rows,
    notes: notes(context),
  };
}

async function measureRound(
  context: BenchContext,
  savers: readonly BuildSaver[],
  round: number,
): Promise<Round> {
  const { build, full, quick } = context.options;
  const official = full ? OFFICIAL_ROUNDS_OF_FULL : OFFICIAL_ROUNDS;
  const results = new Map<`${Build}.${BuildSaver}`, BuildResult>();
  for (const saver of savers) {
    if (saver.startsWith("official-") && !official.includes(round)) continue;
    for (const each of alternating(build, round)) {
      const input = {
        build: each,
        saver,
        url: context.postgresUrl,
        schema: `builds_${saver.replace("-", "_")}_${each}_${round}`,
        conversationsFile: context.conversations.file,
        conversations: quick ? 5 : 20,
      } satisfies BuildInput;
      const file = new URL("../jobs/replayBuild.ts", import.meta.url);
      // Flushes what the previous run wrote, so that this isn't part of the next measurement.
      await query(context.postgresUrl, "checkpoint");
      results.set(`${each}.${saver}`, await context.inChild<BuildResult>(file, input, "built"));
    }
  }
  return results;
}

function notes({ options: { full, quick, build } }: BenchContext): string[] {
  const official = (full ? OFFICIAL_ROUNDS_OF_FULL : OFFICIAL_ROUNDS).length;
  const of = quick ? "Of one round" : `Medians of ${ROUNDS} rounds; of ${official} for the official savers`;
  const both = alternating(build, 0).length === BUILDS.length;
  return [
    `${of}. ${quick ? 5 : 20} conversations on one thread, durability "sync". ` +
      "Each run has a process of its own, which has replayed the same once before.",
    "The floor is a saver that keeps the last checkpoint by reference: what LangGraph takes itself. " +
      "“Above the floor” is the saver's own share: the median of the rounds' differences.",
    "The packages are the built ones, official and ours: " +
      (both ? "imported as ES modules, and required as CommonJS. " : "loaded as the build says. ") +
      "CPU is that of the client's process.",
    "What was read was compared with what was played, in every run: the same texts, in instances of the application's own classes.",
  ];
}
