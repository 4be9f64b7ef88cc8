import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tools } from "./tools.ts";

/** A revision of the protocol, by its date. */
export type Revision = "2026-07-28" | "2025-11-25";

/** Extensions that we don't offer. The suite runs their scenarios, and doesn't score them. */
const notOffered = /^tasks-/;

/**
 * Runs what a revision requires of a server. What is expected to fail is in baseline.NAME.REVISION.yml, if there is such a file: an entry
 * that passes fails the run.
 * @returns what passed @throws Error with the suite's summary, where something else failed
 */
export async function runSuite(tools: Tools, name: string, url: string, revision: Revision): Promise<string> {
  const baseline = join(import.meta.dirname, `baseline.${name}.${revision}.yml`);
  const excused = existsSync(baseline) ? scenariosIn(readFileSync(baseline, "utf8")) : new Set<string>();
  const results = join(tools.home, `${name}-${revision}`);
  const { ok, stdout, stderr } = await tools.run("conformance/dist/index.js", [
    ...["server", "--url", url, "--requirements", revision, "--output-dir", results],
    ...(excused.size > 0 ? ["--expected-failures", baseline] : []),
  ]);
  const summary = stdout.slice(stdout.indexOf("=== SUMMARY ==="));
  const found = (pattern: RegExp): string[] =>
    [...summary.matchAll(pattern)].map(([, scenario]) => scenario!);
  const ran = found(/^[✓✗] (\S+): \d+ passed/gm).filter((scenario) => !notOffered.test(scenario));
  const failing = new Set(found(/^✗ (\S+): \d+ passed/gm));
  const scored = required(tools, revision);
  // The suite's exit code is about what it scores. What came after the revision is expected to hold all the same.
  const wrong = {
    failed: ran.filter((scenario) => failing.has(scenario) && !excused.has(scenario)),
    stale: ran.filter((scenario) => excused.has(scenario) && !failing.has(scenario) && !scored.has(scenario)),
    missing: [...scored].filter((scenario) => !ran.includes(scenario)),
  };
  if (!ok || Object.values(wrong).some((scenarios) => scenarios.length > 0))
    throw new Error(
      [JSON.stringify(wrong), ...failedChecks(results, wrong.failed), summary, stderr].join("\n"),
    );
  const passed = ran.filter((scenario) => !excused.has(scenario));
  const checks = found(/^[✓✗] (?!tasks-)\S+: (\d+) passed/gm).reduce((sum, count) => sum + Number(count), 0);
  const rest = excused.size === 0 ? "nothing is excused" : `${excused.size} are excused in its list`;
  return `${passed.length} scenarios pass, ${rest}; ${checks} checks pass`;
}

/** The scenarios for servers that a revision requires, by the suite's own list. */
function required({ folder }: Tools, revision: Revision): Set<string> {
  const text = readFileSync(join(folder, `conformance/requirements/${revision}.yaml`), "utf8");
  const [, list] = /^server:\n((?: +- \S+\n)+)/m.exec(text) ?? [];
  if (list === undefined) throw new Error(`The suite lists nothing for servers of ${revision}.`);
  return scenariosIn(list);
}

/** The scenarios of a list in YAML, whose entries may name a check after a colon. */
function scenariosIn(text: string): Set<string> {
  return new Set([...text.matchAll(/^ +- ([^\s:]+)/gm)].map(([, scenario]) => scenario!));
}

/** What the suite wrote about the checks of scenarios that failed. */
function failedChecks(results: string, scenarios: readonly string[]): string[] {
  return scenarios.flatMap((scenario) => {
    const folder = readdirSync(results).find((name) => name.startsWith(`server-${scenario}-2`));
    if (folder === undefined) return [`${scenario} failed`];
    const checks = JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8")) as Check[];
    return checks
      .filter(({ status }) => status === "FAILURE" || status === "WARNING")
      .map(
        ({ id, errorMessage, details }) => `${scenario}:${id}: ${errorMessage} ${JSON.stringify(details)}`,
      );
  });
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
  readonly details?: unknown;
}
