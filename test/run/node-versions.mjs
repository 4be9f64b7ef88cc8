import { bootstrap, fail } from "./bootstrap.mjs";
import { nodeBinary, NEWER_NODES } from "./nodeBinary.mjs";
import { testFiles } from "./testFiles.mjs";
import { countLine, runVitest } from "./vitest.mjs";

// The unit and contract tests on newer Nodes: real binaries from npm. What needs a server is left out.

// Parts of paths, as vitest takes them. A part that matches no test file is an error.
const SERVERLESS = [
  "packages/engine/core/test",
  "packages/tools/testing/test",
  "packages/engine/postgres/test/lockFolder",
];
// crossNode starts every Node itself, whichever runs it.
const WITHOUT = ["--exclude=**/*OnPostgres*", "--exclude=**/crossNode*", "--exclude=**/node_modules/**"];
// Of these files the tests on PGlite, selected by name; the others need PostgreSQL. history.test.ts isn't listed: it
// checks at its end that all of its tests together did everything.
const ON_PGLITE = [
  "packages/engine/postgres/test/contract.test.ts",
  "packages/engine/postgres/test/graphs.test.ts",
  "packages/engine/postgres/test/group/group.test.ts",
  "packages/features/stratigraph/test/createCheckpointer.test.ts",
];
const PGLITE_NAMES = "PGlite|embedded|a folder";

bootstrap();
const files = testFiles();
const missing = [...SERVERLESS, ...ON_PGLITE].filter((part) => !files.some((name) => name.includes(part)));
if (missing.length > 0)
  fail(`test/run/node-versions.mjs names tests that don't exist: ${missing.join(", ")}`);

let bad = 0;
for (const version of NEWER_NODES) {
  const node = nodeBinary(version);
  if (node === undefined) {
    const reason =
      process.platform === "linux" && process.arch === "x64" ? "npm could not install it" : "linux-x64 only";
    console.log(`Node ${version}: not run (${reason})`);
    if (process.env.CI === "true") bad++;
    continue;
  }
  const options = { node, reporter: "dot", timeoutMs: 10 * 60_000 };
  const serverless = await runVitest([...SERVERLESS, ...WITHOUT], options);
  const onPgLite = await runVitest([...ON_PGLITE, "-t", PGLITE_NAMES], options);
  const counts = {
    passed: serverless.passed + onPgLite.passed,
    failed: serverless.failed + onPgLite.failed,
    skipped: serverless.skipped,
  };
  // A file without a test of such a name would be skipped silently.
  if (onPgLite.silent.length > 0) console.log(`no test on PGlite in ${onPgLite.silent.join(", ")}`);
  if (counts.failed > 0 || serverless.passed === 0 || onPgLite.passed === 0 || onPgLite.silent.length > 0)
    bad++;
  console.log(`Node ${version}: ${countLine(counts)}, ${onPgLite.passed} of them on PGlite`);
}
process.exitCode = bad > 0 ? 1 : 0;
