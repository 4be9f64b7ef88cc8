import type { Mutant } from "./mutant.ts";

/** What came of a mutant. */
export interface Verdict {
  readonly mutant: Mutant;
  readonly killed: boolean;
  /** The files whose tests failed. */
  readonly killers: readonly string[];
}

/** What a share has to reach, in percent. */
const TARGETS = { guard: 95, fault: 98 } as const;
const KINDS = ["guard", "fault"] as const;

export function packageOf({ file }: Mutant): string {
  return file.split("/")[2]!;
}

/** How many of each package and kind are killed, and of all. */
export function table(verdicts: readonly Verdict[]): string {
  const packages = [...new Set(verdicts.map(({ mutant }) => packageOf(mutant)))].toSorted();
  const rows = packages.map((name) => {
    const own = verdicts.filter(({ mutant }) => packageOf(mutant) === name);
    return row(
      name,
      KINDS.map((kind) => count(own, kind)),
    );
  });
  const totals = KINDS.map((kind) => {
    const of = share(verdicts, kind);
    return `${count(verdicts, kind)}${of === undefined ? "" : ` = ${of.toFixed(1)} % (${TARGETS[kind]} %)`}`;
  });
  return [row("", ["guards", "faults"]), ...rows, row("all", totals)].join("\n");
}

/** Whether each kind reaches what is asked for. */
export function isEnough(verdicts: readonly Verdict[]): boolean {
  return KINDS.every((kind) => (share(verdicts, kind) ?? 100) >= TARGETS[kind]);
}

/** The files that are named by mutants, and killed none of them alone. */
export function neverAlone(verdicts: readonly Verdict[]): readonly string[] {
  const alone = new Set(verdicts.flatMap(({ killers }) => (killers.length === 1 ? killers : [])));
  const named = new Set(verdicts.flatMap(({ mutant }) => mutant.tests));
  return [...named].filter((file) => !alone.has(file)).toSorted();
}

function row(name: string, cells: readonly string[]): string {
  return [name.padEnd(12), ...cells.map((cell) => cell.padEnd(24))].join(" ").trimEnd();
}

function count(verdicts: readonly Verdict[], kind: Mutant["kind"]): string {
  const all = verdicts.filter(({ mutant }) => mutant.kind === kind);
  return all.length === 0 ? "-" : `${all.filter(({ killed }) => killed).length}/${all.length}`;
}

/** Percent; undefined where there are none. */
function share(verdicts: readonly Verdict[], kind: Mutant["kind"]): number | undefined {
  const all = verdicts.filter(({ mutant }) => mutant.kind === kind);
  return all.length === 0 ? undefined : (100 * all.filter(({ killed }) => killed).length) / all.length;
}
