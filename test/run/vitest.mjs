import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { root, run } from "./bootstrap.mjs";

/**
 * Runs vitest and counts from its JSON report. A test file that could not be loaded counts as one failure, and so
 * does an error outside every test. `silent` names files of which no test ran, `files` says how long each took. `node`: another Node binary; `reporter`: what is
 * shown meanwhile; `cwd`: another copy of the repository.
 */
export async function runVitest(
  args,
  { node = process.execPath, reporter = "default", stdio, timeoutMs, env, cwd } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-vitest-"));
  const report = join(folder, "report.json");
  const program = ["node_modules/vitest/vitest.mjs", "run", ...args];
  const reporters = [`--reporter=${reporter}`, "--reporter=json", `--outputFile.json=${report}`];
  const code = await run(node, [...program, ...reporters], { stdio, timeoutMs, env, cwd });
  const counts = { passed: 0, failed: 0, skipped: 0, silent: [], files: [] };
  if (existsSync(report)) count(JSON.parse(readFileSync(report, "utf8")), counts);
  rmSync(folder, { recursive: true });
  if (code !== 0 && counts.failed === 0) {
    console.error(`vitest ended with ${code} though no test failed: see above.`);
    counts.failed = 1;
  }
  return counts;
}

function count(report, counts) {
  for (const file of report.testResults) {
    if (file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"))
      counts.failed++;
    counts.files.push({ name: relative(root, file.name), seconds: (file.endTime - file.startTime) / 1000 });
    for (const { status } of file.assertionResults) counts[KIND[status] ?? "skipped"]++;
    if (file.assertionResults.every(({ status }) => KIND[status] === undefined))
      counts.silent.push(file.name);
  }
}

const KIND = { passed: "passed", failed: "failed" };

/** `N passed, N failed, N skipped` */
export function countLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
