import { ms } from "../format.ts";
import type { BuildInput, BuildResult } from "../jobs/replayBuild.ts";
import { median } from "../stats.ts";
import type { BenchContext, Section, Table } from "../types.ts";

export const name = "builds";
export const order = 15;
export const needs: Section["needs"] = ["recording"];

/** Runs of each; machines are noisy. */
const ROUNDS = 7;

type Saver = BuildInput["saver"];
type Build = BuildInput["build"];

/**
 * The same conversations with LangGraph, LangChain and the savers imported, and required.
 */
export async function run(context: BenchContext): Promise<Table> {
  const savers = (["floor", "memory", "postgres"] as const).filter(
    (saver) => saver === "floor" || context.savers.includes(saver),
  );
  const results = new Map<string, BuildResult[]>();
  for (let round = 0; round < (context.options.quick ? 1 : ROUNDS); round++) {
    for (const saver of savers) {
      // Who is first changes from round to round, so that a busy minute is not always the same one's.
      for (const build of round % 2 === 0 ? (["esm", "cjs"] as const) : (["cjs", "esm"] as const)) {
        const result = await context.inChild<BuildResult>(
          new URL("../jobs/replayBuild.ts", import.meta.url),
          {
            build,
            saver,
            url: context.postgresUrl,
            schema: `builds_${saver}_${build}_${round}`,
            conversationsFile: context.conversationsFile ?? "",
            conversations: context.options.quick ? 5 : 20,
          } satisfies BuildInput,
          "built",
        );
        results.set(`${saver} ${build}`, [...(results.get(`${saver} ${build}`) ?? []), result]);
      }
    }
  }
  const each = (saver: Saver, build: Build, pick: "wall" | "cpu"): number[] =>
    (results.get(`${saver} ${build}`) ?? []).map((result) => result.run[pick]);
  const above = (saver: Saver, build: Build): number[] =>
    each(saver, build, "cpu").map((cpu, round) => cpu - (each("floor", build, "cpu")[round] ?? Number.NaN));
  const rows = savers.flatMap((saver) => {
    const row = (label: string, figures: (build: Build) => number[]): string[] => {
      const [esm, cjs] = [figures("esm"), figures("cjs")];
      // Runs of one round are neighbours: the machine was about as busy for both.
      const is = median(cjs.map((figure, round) => figure / (esm[round] ?? Number.NaN)));
      context.figures.set(`builds.${saver}.${label}`, is);
      return [`${LABELS[saver]}: ${label}`, ms(median(esm)), ms(median(cjs)), `${is.toFixed(2)} ×`];
    };
    const whole = [
      row("whole run, wall", (build) => each(saver, build, "wall")),
      row("whole run, CPU", (build) => each(saver, build, "cpu")),
    ];
    return saver === "floor" ? whole : [...whole, row("CPU above the floor", (build) => above(saver, build))];
  });
  return {
    title: "LangGraph and LangChain imported, and required",
    columns: ["", "ESM", "CommonJS", "is"],
    rows,
    notes: [
      `Medians of ${context.options.quick ? 1 : ROUNDS} alternating runs, each in a process of its own that was warmed up; durability "sync".`,
      "The last column is the median of what the rounds gave each.",
      "The floor is a saver that keeps the last checkpoint by reference: what LangGraph takes itself.",
      "Messages came back as instances of the application's classes in every run.",
    ],
  };
}

const LABELS: Readonly<Record<Saver, string>> = {
  floor: "no saver",
  "official-memory": "official MemorySaver",
  "official-postgres": "official PostgresSaver",
  memory: "our MemorySaver",
  postgres: "our PostgresSaver",
};
