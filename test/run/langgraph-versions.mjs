import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { bootstrap, fail, pnpmArgs, root, run } from "./bootstrap.mjs";
import { copyRepository } from "./copyRepository.mjs";
import { ensureServers } from "./servers.mjs";
import { countLine, runVitest } from "./vitest.mjs";

// The savers under every line of LangGraph that the packages promise. Each row is a copy of the repository in a temporary
// folder with other versions in its catalog, so that nothing of the repository's own node_modules is found by mistake.
// `node test/run/langgraph-versions.mjs 1.4.12` runs one row; `--prepare 1.4.12 FOLDER` only makes its folder.
const ROWS = [
  { langgraph: "1.4.12", checkpoint: "1.1.5", core: "1.2.13", whole: true },
  { langgraph: "1.4.18", checkpoint: "1.2.2", core: "1.2.18", family: true },
  { langgraph: "1.5.3", checkpoint: "1.2.1", core: "1.3.5" },
  { langgraph: "1.7.3", checkpoint: "1.2.2", core: "1.4.0", whole: true },
];

// In every row: on memory, and what costs little on servers. @stratigraph/testing's own tests say what the official savers of that version
// fail; graphs has statuses and long lines of DeltaChannels, items the cache of nodes. LangGraph's dev server asks for LangGraph 1.4.18, and
// is run with the oldest row's all the same.
const IN_EVERY_ROW = [
  "packages/engine/core/test/graphs.test.ts",
  "packages/engine/core/test/differential.test.ts",
  "packages/engine/core/test/validation.test.ts",
  "packages/engine/core/test/contract/refusals.test.ts",
  "packages/engine/core/test/items",
  "packages/tools/testing/test",
  "packages/tools/cli/test/dev/devServer.test.ts",
  ...["doctorGraph", "inbox", "subagents", "run/answers", "run/run"].map(
    (name) => `packages/tools/cli/test/operations/${name}.test.ts`,
  ),
  "packages/tools/service/test/drain.test.ts",
  "packages/features/branch/test/message.test.ts",
  "packages/features/stratigraph/test/threads.test.ts",
  "packages/features/journal/test/questions.test.ts",
  ...[
    "policy",
    "approvals",
    "equalBranches",
    "models",
    "monthly",
    "notJson",
    "notKept",
    "schemas",
    "wanderings",
    "wiring",
  ].map((name) => `packages/features/journal/test/${name}.test.ts`),
];
// In the oldest row that langchain, the supervisor and the swarm ask for: createAgent, deepagents and their like.
const OF_FAMILY = ["packages/features/journal/test/agents.test.ts", "test/family/family.test.ts"];
// On servers, in the oldest row and the newest.
const ON_SERVERS = [
  ...["graphs", "differential", "validation"].flatMap((name) => [
    `packages/engine/postgres/test/${name}.test.ts`,
    `packages/engine/redis/test/${name}.test.ts`,
  ]),
  "packages/engine/tiered/test/differential.test.ts",
  "packages/engine/tiered/test/stacks/graphs.test.ts",
  "packages/engine/tiered/test/stateVersions.test.ts",
  "packages/features/journal/test/stateGraphs.test.ts",
  "packages/features/journal/test/functional.test.ts",
  "packages/features/journal/test/named.test.ts",
  "packages/features/journal/test/parentCommand.test.ts",
  "packages/features/journal/test/interrupting.test.ts",
];

bootstrap({ quiet: true });
const asked = process.argv.slice(2);
if (asked[0] === "--prepare") {
  const problem = await prepare(
    ROWS.find(({ langgraph }) => langgraph === asked[1]) ?? fail("There is no such row."),
    asked[2],
  );
  if (problem !== undefined) fail(problem);
  process.exit();
}
ensureServers([...IN_EVERY_ROW, ...ON_SERVERS, ...OF_FAMILY]);
// The repository's own version has been through all of `npm test`; asked for by name, it is run here too.
const own = /"@langchain\/langgraph": (\S+)/.exec(
  readFileSync(join(root, "pnpm-workspace.yaml"), "utf8"),
)?.[1];
if (asked.length === 0)
  console.log(`LangGraph ${own}: the repository's own; npm test runs everything with it`);
const rows = ROWS.filter(({ langgraph }) =>
  asked.length === 0 ? langgraph !== own : asked.includes(langgraph),
);
let bad = rows.length === 0 ? 1 : 0;
// The next row is installed while the tests of one run: an installation mostly waits.
let next = rows.length > 0 ? begin(rows[0]) : undefined;
for (const [index, row] of rows.entries()) {
  const prepared = await next;
  next = index + 1 < rows.length ? begin(rows[index + 1]) : undefined;
  const counts = await runRow(row, prepared);
  if (counts.failed > 0 || counts.passed === 0) bad++;
  console.log(`LangGraph ${row.langgraph}: ${countLine(counts)}`);
}
process.exitCode = bad > 0 ? 1 : 0;

/** A row's folder, and what went wrong when it was made, if anything did. */
async function begin(row) {
  const folder = mkdtempSync(join(tmpdir(), `stratigraph-langgraph-${row.langgraph}-`));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return { folder, problem: await prepare(row, folder).catch((error) => String(error)) };
}

async function runRow(row, { folder, problem }) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  if (problem !== undefined) {
    console.error(`LangGraph ${row.langgraph}: ${problem}`);
    counts.failed++;
    return counts;
  }
  const tests = [
    ...IN_EVERY_ROW,
    ...(row.whole === true ? ON_SERVERS : []),
    ...(row.family === true ? OF_FAMILY : []),
  ];
  const options = { cwd: folder, reporter: "dot", timeoutMs: 20 * 60_000 };
  const [found, typed] = await Promise.all([
    runVitest(tests, options),
    row.whole === true ? typesHold(folder) : true,
  ]);
  Object.assign(counts, found);
  if (!typed) counts.failed++;
  rmSync(folder, { recursive: true, force: true });
  return counts;
}

/** Makes a copy of the repository with a row's versions installed; gives what went wrong, or nothing. */
async function prepare(row, folder) {
  copyRepository(folder);
  useVersions(folder, row);
  return (await install(folder)) ?? otherVersions(folder, row);
}

/** Writes a row's versions into the catalog. */
function useVersions(folder, { langgraph, checkpoint, core }) {
  const path = join(folder, "pnpm-workspace.yaml");
  let text = readFileSync(path, "utf8");
  const versions = {
    "@langchain/core": core,
    "@langchain/langgraph": langgraph,
    "@langchain/langgraph-checkpoint": checkpoint,
  };
  for (const [name, version] of Object.entries(versions)) {
    const line = new RegExp(`^  "${name}": .*$`, "m");
    if (!line.test(text)) throw new Error(`The catalog of pnpm-workspace.yaml has no ${name}`);
    text = text.replace(line, `  "${name}": ${version}`);
  }
  // LangGraph asks for a range of the checkpoint package, and there must be one copy of it.
  text += `\noverrides:\n${Object.entries(versions)
    .map(([name, version]) => `  "${name}": ${version}\n`)
    .join("")}`;
  writeFileSync(path, text);
}

/** Gives what went wrong, or nothing. */
async function install(folder) {
  try {
    await promisify(execFile)("npx", pnpmArgs(["install", "--no-frozen-lockfile", "--prefer-offline"]), {
      cwd: folder,
      env: { ...process.env, CI: "true" },
      maxBuffer: 64 << 20,
      shell: process.platform === "win32",
    });
    return undefined;
  } catch ({ stdout, stderr, message }) {
    return `can't be installed:\n${stdout ?? ""}${stderr ?? message}`;
  }
}

/** What the packages, and LangGraph itself, would load; gives what isn't as the row says. */
function otherVersions(folder, { langgraph, checkpoint, core }) {
  const found = (from, name) => {
    const entry = createRequire(from).resolve(name);
    const top = entry.slice(0, entry.lastIndexOf(`node_modules/${name}/`) + `node_modules/${name}/`.length);
    return { path: top, version: JSON.parse(readFileSync(join(top, "package.json"), "utf8")).version };
  };
  const testing = join(realpathSync(folder), "packages/tools/testing/package.json");
  const loaded = found(testing, "@langchain/langgraph");
  const inside = join(loaded.path, "package.json");
  const is = [
    loaded.version,
    found(testing, "@langchain/langgraph-checkpoint").version,
    found(inside, "@langchain/langgraph-checkpoint").version,
    found(testing, "@langchain/core").version,
    found(inside, "@langchain/core").version,
  ];
  const wanted = [langgraph, checkpoint, checkpoint, core, core];
  return is.join() === wanted.join() ? undefined : `installed were ${is.join(", ")}`;
}

async function typesHold(folder) {
  const tsc = ["node_modules/typescript/bin/tsc", "-p", "tsconfig.json", "--noEmit"];
  return (await run(process.execPath, tsc, { cwd: folder, timeoutMs: 10 * 60_000 })) === 0;
}
