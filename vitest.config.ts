import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { askedRounds } from "./test/run/rounds.mjs";
import { SlowFirst } from "./test/slowFirst.ts";

/** Sources are tested directly: this export condition of every package points at its src/. */
const source = "@stratigraph/source";

/** Most of the tests' code runs a few times; with Node 20's own budget (67,584) a seventh of all CPU optimizes it. Newer ones wait by themselves. */
const optimizeLater = process.versions.node.startsWith("20.") ? ["--interrupt-budget=1000000"] : [];

export default defineConfig({
  // "module" must not reach what Node itself loads (externalConditions): pg breaks under it.
  ssr: {
    resolve: {
      conditions: [source, "module", "node", "development|production"],
      externalConditions: [source, "node"],
    },
  },
  test: {
    globals: true,
    environment: "node",
    pool: "forks",
    // A young generation of 64 MB: a tenth less time than with Node's own 16 MB, which is collected all the time.
    // WASM is compiled for speed later than by default: an embedded database, which many tests open for a moment, takes a fifth less CPU.
    execArgv: ["--max-semi-space-size=64", "--wasm-tiering-budget=100000000", ...optimizeLater],
    // Files of one process share what they import: a file restores what it changes of the process.
    isolate: false,
    // One more than there are cores: many tests wait, for servers, timeouts and processes that they kill.
    maxWorkers: Math.min(8, availableParallelism() + 1),
    sequence: { sequencer: SlowFirst },
    // Says what is wrong with a value that it doesn't know before any test file does.
    env: { STRATIGRAPH_TEST_ROUNDS: askedRounds() },
    include: ["packages/*/*/test/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    setupFiles: ["test/codecSettled.ts"],
    globalSetup: ["test/servers/registry.ts", "test/servers/childBundles.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
