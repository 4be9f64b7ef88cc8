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
  const expected = existsSync(baseline) ? ["--expected-failures", baseline] : [];
  const results = join(tools.home, `${name}-${revision}`);
  const { ok, stdout, stderr } = await tools.run("conformance/dist/index.js", [
    ...["server", "--url", url, "--requirements", revision, "--output-dir", results],
    ...expected,
  ]);
  const summary = stdout.slice(stdout.indexOf("=== SUMMARY ==="));
  const found = (pattern: RegExp): string[] =>
    [...summary.matchAll(pattern)].map(([, scenario]) => scenario!);
  const excused = new Set(found(/^ +~ ([^:\s]+)/gm));
  const ran = new Set(found(/^[✓✗] (\S+): \d+ passed/gm));
  const missing = required(tools, revision).filter((scenario) => !ran.has(scenario));
  // What came after the revision isn't scored either, and is expected to hold all the same.
  const failed = found(/^✗ (\S+): \d+ passed/gm).filter(
    (scenario) => !excused.has(scenario) && !notOffered.test(scenario),
  );
  if (!ok || missing.length > 0 || failed.length > 0)
    throw new Error(
      [`not run: ${missing.join(", ")}`, ...failedChecks(results, failed), summary, stderr].join("\n"),
    );
  const passed = [...ran].filter((scenario) => !excused.has(scenario) && !notOffered.test(scenario));
  return `${passed.length} scenarios pass${excused.size === 0 ? "" : `, ${excused.size} are excused in its list`}`;
}

/** The scenarios for servers that a revision requires, by the suite's own list. */
function required({ folder }: Tools, revision: Revision): string[] {
  const text = readFileSync(join(folder, `conformance/requirements/${revision}.yaml`), "utf8");
  const [, list] = /^server:\n((?: +- \S+\n)+)/m.exec(text) ?? [];
  if (list === undefined) throw new Error(`The suite lists nothing for servers of ${revision}.`);
  return [...list.matchAll(/- (\S+)/g)].map(([, scenario]) => scenario!);
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
