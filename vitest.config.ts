import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Sources are tested directly: this export condition of every package points at its src/. */
const source = "@stratigraph/source";

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
    // Most tests wait for servers: two files at a time also where there are two cores.
    maxWorkers: Math.min(8, Math.max(2, availableParallelism() - 1)),
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    globalSetup: ["test/servers/registry.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
