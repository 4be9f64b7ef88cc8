import { defineConfig } from "vitest/config";

/** Sources are tested directly: the "@stratigraph/source" export condition points at src/. */
const conditions = ["@stratigraph/source", "module", "node", "import", "default"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    globals: true,
    environment: "node",
    pool: "forks",
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    globalSetup: [],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
