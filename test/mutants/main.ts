import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pnpmArgs } from "../run/bootstrap.mjs";
import { copyRepository } from "../run/copyRepository.mjs";
import { allMutants, mutated, staleness } from "./allMutants.ts";
import type { Mutant } from "./mutant.ts";

// `pnpm mutants`: applies deliberate faults, one at a time, in a copy of the repository, and runs the tests that ought to see each.
// `pnpm mutants redis ti01` takes those of a list, or single ones; `--sample 5 --seed abc` some of them.

/** What a share has to reach, in percent. */
const targets = { guard: 95, fault: 98 } as const;
/** A mutant may have a test wait for something that never comes. Milliseconds. */
const longestMs = 300_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: "string" }, seed: { type: "string", default: "1" } },
});

const lists = await allMutants();
const asked = [...lists].flatMap(([list, mutants]) =>
  mutants.filter(
    ({ id }) => positionals.length === 0 || positionals.some((name) => name === list || name === id),
  ),
);
const chosen = values.sample === undefined ? asked : sampled(asked, Number(values.sample), values.seed);
const stale = chosen.flatMap((mutant) => {
  const why = staleness(mutant);
  return why === undefined ? [] : [`${mutant.id}: ${why}`];
});
if (stale.length > 0 || chosen.length === 0) {
  console.error(chosen.length === 0 ? "No mutant has such a name." : `Stale:\n${stale.join("\n")}`);
  process.exit(1);
}

const copy = mkdtempSync(join(tmpdir(), "stratigraph-mutants-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
copyRepository(copy);
inCopy("npx", pnpmArgs(["install", "--frozen-lockfile", "--prefer-offline"]));

// A test that fails anyway kills nothing.
const broken = new Map<string, string>();
for (const run of new Set(chosen.map(testsOf))) {
  const [tests, name] = JSON.parse(run) as [string[], string | null];
  const failing = seenBy(tests, name ?? undefined);
  if (failing !== undefined) broken.set(run, failing);
}

const survivors: Mutant[] = [];
for (const mutant of chosen) {
  const failing = broken.get(testsOf(mutant));
  if (failing !== undefined) {
    survivors.push(mutant);
    console.log(`broken    ${mutant.id}  without it, too: ${failing} (${mutant.tests.join(", ")})`);
    continue;
  }
  const path = join(copy, mutant.file);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, mutated(mutant, text));
  embed(mutant);
  const killer = seenBy(mutant.tests, mutant.name);
  writeFileSync(path, text);
  embed(mutant);
  if (killer === undefined) survivors.push(mutant);
  console.log(
    killer === undefined ? `survived  ${mutant.id}  ${mutant.what}` : `killed    ${mutant.id}  by ${killer}`,
  );
}

console.log();
let missed = false;
for (const kind of ["guard", "fault"] as const) {
  const all = chosen.filter((mutant) => mutant.kind === kind);
  const killed = all.filter((mutant) => !survivors.includes(mutant));
  if (all.length === 0) continue;
  const share = (100 * killed.length) / all.length;
  missed ||= share < targets[kind];
  console.log(
    `${kind}s: ${killed.length} of ${all.length} die, ${share.toFixed(0)} % (${targets[kind]} % asked for)`,
  );
}
process.exitCode = missed ? 1 : 0;

/** Which tests a mutant has, as one text. */
function testsOf({ tests, name }: Mutant): string {
  return JSON.stringify([tests, name]);
}

/** The test that fails, or what happened in place of it; undefined where all pass. */
function seenBy(tests: readonly string[], name: string | undefined): string | undefined {
  const report = join(copy, "mutants-report.json");
  rmSync(report, { force: true });
  const args = ["vitest", "run", ...tests, "--bail=1", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = inCopy("npx", name === undefined ? args : [...args, "-t", name], false);
  try {
    const { testResults, numPassedTests } = JSON.parse(readFileSync(report, "utf8")) as {
      testResults: { assertionResults: { status: string; fullName: string }[] }[];
      numPassedTests: number;
    };
    const failed = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .find((result) => result.status === "failed");
    if (status === 0) return numPassedTests > 0 ? undefined : "no test ran";
    return failed?.fullName ?? "an error outside every test";
  } catch {
    return status === null ? "the time limit" : "a run that told nothing";
  }
}

/** SQL and Lua are read from files that are made of them. */
function embed({ file }: Mutant): void {
  if (file.endsWith(".sql") || file.endsWith(".lua")) inCopy(process.execPath, ["test/run/embed.mjs"]);
}

function inCopy(command: string, args: readonly string[], mustEnd = true): { status: number | null } {
  const { status, stderr } = spawnSync(command, args, {
    cwd: copy,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
    timeout: longestMs,
  });
  if (mustEnd && status !== 0)
    throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stderr}`);
  return { status };
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
