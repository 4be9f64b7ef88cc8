import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isQuick } from "../run/testFiles.mjs";
import { allMutants, mutated, staleness } from "./allMutants.ts";
import { makeCopy } from "./copy.ts";
import type { Mutant } from "./mutant.ts";
import { Session, type Outcome } from "./session.ts";
import { isEnough, neverAlone, packageOf, table, type Verdict } from "./table.ts";

// `pnpm mutants`: applies deliberate faults, one at a time, in a copy of the repository, and runs the tests that ought to see each.
// `pnpm mutants redis ti01` takes those of a list or package, or single ones. CONTRIBUTING.md says what the options do.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    quick: { type: "boolean", default: false },
    seconds: { type: "string", default: "Infinity" },
    alone: { type: "boolean", default: false },
  },
});

const lists = await allMutants();
const asked = [...lists]
  .flatMap(([list, mutants]) =>
    mutants.filter(
      (mutant) =>
        positionals.length === 0 ||
        positionals.some((name) => [list, mutant.id, packageOf(mutant)].includes(name)),
    ),
  )
  .filter(({ tests }) => !values.quick || tests.every(isQuick));
const chosen = values.sample === undefined ? asked : sampled(asked, Number(values.sample), values.seed);
const stale = chosen.flatMap((mutant) => {
  const why = staleness(mutant);
  return why === undefined ? [] : [`${mutant.id}: ${why}`];
});
if (stale.length > 0 || chosen.length === 0) {
  console.error(chosen.length === 0 ? "No mutant has such a name." : `Stale:\n${stale.join("\n")}`);
  process.exit(1);
}

const begun = performance.now();
const copy = makeCopy();
const session = new Session(copy);
process.on("exit", () => {
  session.kill();
  rmSync(copy, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

const verdicts: Verdict[] = [];
/** Files that were written since the last run of tests. */
let changed: string[] = [];
/** By the tests of a mutant: what fails without it, too. */
const unmutated = new Map<string, string | undefined>();
for (const mutant of chosen) {
  if (performance.now() - begun > Number(values.seconds) * 1000) break;
  // A test that fails anyway kills nothing.
  const tests = JSON.stringify([mutant.tests, mutant.name]);
  if (!unmutated.has(tests)) {
    const outcome = await run(mutant);
    unmutated.set(tests, "passed" in outcome && outcome.passed === 0 ? "no test ran" : seenBy(outcome));
  }
  const broken = unmutated.get(tests);
  if (broken !== undefined) {
    verdicts.push({ mutant, killed: false, killers: [] });
    console.log(`broken    ${mutant.id.padEnd(6)} without it, too: ${broken}`);
    continue;
  }
  const text = readFileSync(join(copy, mutant.file), "utf8");
  await write(mutant, mutated(mutant, text));
  const outcome = await run(mutant);
  await write(mutant, text);
  const killer = seenBy(outcome);
  const killers = "failed" in outcome ? [...new Set(outcome.failed.map(({ file }) => file))] : [];
  verdicts.push({ mutant, killed: killer !== undefined, killers });
  const told = killer === undefined ? `survived  ${mutant.id}` : `killed    ${mutant.id}`;
  const cpu = `${outcome.cpuSeconds.toFixed(1)} s`.padStart(7);
  console.log(`${told.padEnd(16)} ${cpu}  ${killer === undefined ? mutant.what : `by ${killer}`}`);
}
await session.end();

if (values.alone) console.log(`\nNever the only killer:\n${neverAlone(verdicts).join("\n") || "none"}`);
if (verdicts.length < chosen.length)
  console.log(`\n${chosen.length - verdicts.length} weren't tried within ${values.seconds} s.`);
console.log(`\n${table(verdicts)}`);
// A share of few says nothing, so that of a sample each has to be killed.
const isGood = values.sample === undefined ? isEnough(verdicts) : verdicts.every(({ killed }) => killed);
process.exitCode = isGood ? 0 : 1;

async function run({ tests, name }: Mutant): Promise<Outcome> {
  const outcome = await session.run({ files: tests, name, all: values.alone, changed });
  changed = [];
  return outcome;
}

/** The test that fails, or what happened in place of it; undefined where all pass. */
function seenBy(outcome: Outcome): string | undefined {
  if ("died" in outcome) return outcome.died;
  const [first] = outcome.failed;
  return first === undefined ? undefined : `${first.test} (${first.file})`;
}

/** Writes a mutant's file, and what is made of it. */
async function write({ file }: Mutant, text: string): Promise<void> {
  writeFileSync(join(copy, file), text);
  changed.push(file);
  if (file.endsWith(".sql") || file.endsWith(".lua")) {
    spawnSync(process.execPath, ["test/run/embed.mjs"], { cwd: copy });
    changed.push(join(file, "../../src/embedded.ts"));
  }
  // The page is built once per runner.
  if (file.startsWith("packages/tools/cli/page/")) await session.end();
}

/** Some of them, others for each seed. */
function sampled(mutants: readonly Mutant[], count: number, seed: string): readonly Mutant[] {
  let state = 2166136261;
  for (const char of seed) state = Math.imul(state ^ char.charCodeAt(0), 16777619) >>> 0;
  const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
  const weighed = mutants.map((mutant) => ({ mutant, weight: random() }));
  return weighed
    .toSorted((a, b) => a.weight - b.weight)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}
