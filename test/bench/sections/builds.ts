import { ms } from "../format.ts";
import type { BuildInput, BuildResult } from "../jobs/replayBuild.ts";
import { median } from "../stats.ts";
import type { BenchContext, Section, Table } from "../types.ts";

export const name = "builds";
export const order = 15;
export const needs: Section["needs"] = ["recording"];

/** Runs of each; machines are noisy. */
const ROUNDS = 5;

type Saver = BuildInput["saver"];
type Build = BuildInput["build"];

/**
 * The same conversations with LangGraph and LangChain imported and required. The application's message classes are then others
 * than those of our packages, which are ESM either way.
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
        );
        if (!result.ownClass) throw new Error(`${saver}, ${build}: a message came back as another class`);
        results.set(`${saver} ${build}`, [...(results.get(`${saver} ${build}`) ?? []), result]);
      }
    }
  }
  const of = (saver: Saver, build: Build, pick: "wall" | "cpu"): number =>
    median((results.get(`${saver} ${build}`) ?? []).map((result) => result[pick]));
  const own = (saver: Saver, build: Build): number => of(saver, build, "cpu") - of("floor", build, "cpu");
  const rows = savers.flatMap((saver) => {
    const row = (label: string, figure: (build: Build) => number): string[] => {
      const [esm, cjs] = [figure("esm"), figure("cjs")];
      context.figures.set(`builds.${saver}.${label.replaceAll(/\W+/g, "")}`, cjs / esm);
      return [`${LABELS[saver]}: ${label}`, ms(esm), ms(cjs), `${(cjs / esm).toFixed(2)} ×`];
    };
    const whole = [
      row("whole run, wall", (build) => of(saver, build, "wall")),
      row("whole run, CPU", (build) => of(saver, build, "cpu")),
    ];
    return saver === "floor" ? whole : [...whole, row("CPU above the floor", (build) => own(saver, build))];
  });
  return {
    title: "LangGraph and LangChain imported, and required",
    columns: ["", "ESM", "CommonJS", "is"],
    rows,
    notes: [
      `Medians of ${context.options.quick ? 1 : ROUNDS} alternating runs, each in a process of its own that was warmed up; durability "sync".`,
      "The floor is a saver that keeps the last checkpoint by reference: what LangGraph takes itself.",
      "Messages came back as instances of the application's classes in every run.",
    ],
  };
}

const LABELS: Readonly<Record<Saver, string>> = {
  floor: "no saver",
  memory: "our MemorySaver",
  postgres: "our PostgresSaver",
};
