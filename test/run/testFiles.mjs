import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolders } from "./packageFolders.mjs";

// Which files are tests, and what each of them imports from other files of tests. Node's own modules only: vitest's configuration
// imports this.

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every test file, as a path from the repository's top folder. */
export function testFiles() {
  const packages = [...packageFolders.values()].map((folder) => `${folder}/test`);
  return ["test", ...packages].flatMap((folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true })
          .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
          .filter((name) => name.endsWith(".test.ts") && !name.includes("/node_modules/"))
      : [],
  );
}

/**
 * What a file of tests imports, and what that imports in turn: paths of files, and names of packages. Imports of types alone don't
 * count. It doesn't follow imports into the packages' sources.
 */
export function reachedBy(file, reached = new Set()) {
  for (const specifier of importsOf(file)) {
    const name = specifier.startsWith(".") ? join(file, "..", specifier).replaceAll("\\", "/") : specifier;
    if (reached.has(name)) continue;
    reached.add(name);
    if (name !== specifier && !name.includes("/src/")) reachedBy(name, reached);
  }
  return reached;
}

const known = new Map();

function importsOf(file) {
  const path = join(root, file);
  if (!known.has(file))
    known.set(file, /\.m?ts$/.test(file) && existsSync(path) ? importsIn(readFileSync(path, "utf8")) : []);
  return known.get(file);
}

/** The specifiers of all imports that are there when the program runs, in TypeScript as oxfmt writes it. */
export function importsIn(text) {
  const found = text.matchAll(
    /^(?:import|export)\s(?!type\b)[^;"']*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm,
  );
  return [...found].map(([, from, alone, later]) => from ?? alone ?? later);
}

/** Files that need no server and take a second of CPU or more, and so are left to `npm test`: graphs on every durability, random histories and damage, values of 8 MB. */
const LONG = [
  "packages/engine/core/test/codec/wasmZstd.test.ts",
  "packages/engine/core/test/contract/memorySweep.test.ts",
  "packages/engine/core/test/contract/saverCapture.test.ts",
  "packages/engine/core/test/graphs.test.ts",
  "packages/engine/core/test/history/damage.test.ts",
  "packages/engine/core/test/history/memory.test.ts",
  "packages/engine/core/test/serde/fuzz.test.ts",
  "packages/engine/core/test/serde/hostile.test.ts",
  "packages/features/journal/test/trail/fuzz.test.ts",
  "packages/features/migrate/test/wrongCalls.test.ts",
  "packages/tools/cli/test/operations/blame.test.ts",
  "packages/tools/cli/test/operations/oneOfMany.test.ts",
  "packages/engine/postgres/test/newDatabase.test.ts",
  "packages/engine/postgres/test/text.test.ts",
  "packages/engine/s3/test/folderSaver.test.ts",
  "packages/engine/s3/test/pages.test.ts",
  "packages/engine/s3/test/setBack.test.ts",
  "packages/features/stratigraph/test/settings.test.ts",
  "packages/engine/tiered/test/parts.test.ts",
  "packages/engine/tiered/test/stacks/setBack.test.ts",
  "packages/engine/tiered/test/trusted.test.ts",
  "test/pairs/packs.test.ts",
  "test/pairs/pairs.test.ts",
  "test/pairs/stacks.test.ts",
  "test/pairs/trusted.test.ts",
  "test/simulation/repair.test.ts",
  "test/simulation/stacks.test.ts",
];

/**
 * Whether a test file needs no server, no process and no browser, and not long: nothing that it imports starts one. Servers, children and browsers
 * are all processes, which node:child_process starts.
 */
export function isQuick(file) {
  return !LONG.includes(file) && !reachedBy(file).has("node:child_process");
}

/** Whether a test file does more in a soak, itself or by the suites that it runs. */
export function isSoaked(file) {
  const has = (path) =>
    existsSync(join(root, path)) && /\bsoak:|\bsparser\b/.test(readFileSync(join(root, path), "utf8"));
  return (
    has(file) ||
    [...reachedBy(file)].some((path) => path !== "test/rounds.ts" && path.includes("test/") && has(path))
  );
}

/** One of so many shares of all test files, which a text chooses: others for each commit. */
export function shareOf(shares, text) {
  const number = (file) => createHash("sha256").update(`${text} ${file}`).digest().readUInt32BE(0);
  return testFiles().filter((file) => number(file) % shares === 0);
}

/**
 * Files that few rounds leave out, as long as they aren't asked for by name: what takes long and breaks rarely, and tests of others' savers or
 * of the tests' own servers. `.ci/run` runs a third of them. None is the only one to see a mutant (list.test.ts).
 */
export const LEFT_OUT = [
  "packages/features/branch/test/large.test.ts",
  "packages/features/branch/test/stacks.test.ts",
  "packages/tools/cli/test/terminal/examples.test.ts",
  "packages/tools/cli/test/dev/dev.test.ts",
  "packages/engine/core/test/codec/crossNode.test.ts",
  "packages/engine/core/test/codec/wasmZstd.test.ts",
  "packages/tools/cli/test/inspector/browser/access.test.ts",
  "packages/tools/cli/test/inspector/browser/hostile.test.ts",
  "packages/tools/cli/test/inspector/browser/state.test.ts",
  "packages/tools/cli/test/inspector/browser/verify.test.ts",
  "packages/tools/cli/test/inspector/browser/whatIf.test.ts",
  "packages/features/journal/test/kills/killsOnPglite.test.ts",
  "packages/features/journal/test/kills/killsOnPostgres.test.ts",
  "packages/features/journal/test/kills/killsOnStack.test.ts",
  "packages/features/journal/test/races/processes.test.ts",
  "packages/features/migrate/test/recorded.test.ts",
  "packages/tools/cli/test/operations/doctor.test.ts",
  "packages/tools/cli/test/operations/readOnServers.test.ts",
  "packages/tools/cli/test/operations/verify/beside.test.ts",
  "packages/tools/cli/test/operations/verify/damage.test.ts",
  "packages/tools/cli/test/operations/verify/stack.test.ts",
  "packages/engine/postgres/test/differential.test.ts",
  "packages/engine/postgres/test/group/likeMemory.test.ts",
  "packages/engine/postgres/test/group/processes.test.ts",
  "packages/engine/postgres/test/history/history.test.ts",
  "packages/engine/postgres/test/history/large.test.ts",
  "packages/engine/postgres/test/history/versions.test.ts",
  "packages/engine/postgres/test/limits.test.ts",
  "packages/engine/postgres/test/newDatabase.test.ts",
  "packages/engine/postgres/test/shards/contract.test.ts",
  "packages/engine/redis/test/graphs.test.ts",
  "packages/engine/redis/test/ioredis5.test.ts",
  "packages/engine/redis/test/operations.test.ts",
  "packages/engine/redis/test/silentWire.test.ts",
  "packages/engine/s3/test/s3Saver.test.ts",
  "packages/engine/s3/test/silentWire.test.ts",
  "packages/features/stratigraph/test/documents.test.ts",
  "packages/tools/service/test/telemetry/monitoring.test.ts",
  "packages/tools/service/test/telemetry/monitoringLive.test.ts",
  "packages/tools/testing/test/differential.test.ts",
  "packages/tools/testing/test/graphs.test.ts",
  "packages/tools/testing/test/graphsOnPostgres.test.ts",
  "packages/tools/testing/test/official.test.ts",
  "packages/engine/tiered/test/bursts.test.ts",
  "packages/engine/tiered/test/graphs.test.ts",
  "packages/engine/tiered/test/service.test.ts",
  "packages/engine/tiered/test/stacks/archiveFaults.test.ts",
  "packages/engine/tiered/test/stacks/archiveLarge.test.ts",
  "packages/engine/tiered/test/stacks/archivedGraphs.test.ts",
  "packages/engine/tiered/test/stacks/archiverKilled.test.ts",
  "packages/engine/tiered/test/stacks/differential.test.ts",
  "packages/engine/tiered/test/stacks/faults.test.ts",
  "packages/engine/tiered/test/stacks/kill.test.ts",
  "packages/engine/tiered/test/stacks/race.test.ts",
  "packages/engine/tiered/test/stacks/setBackServers.test.ts",
  "packages/engine/tiered/test/stacks/soak.test.ts",
  "test/family/family.test.ts",
  "test/production/memory.test.ts",
  "test/production/production.test.ts",
  "test/servers/postgres.test.ts",
  "test/servers/redis.test.ts",
  "test/servers/s3.test.ts",
  "test/upgrade/upgrade.test.ts",
];
