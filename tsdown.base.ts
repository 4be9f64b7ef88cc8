import type { UserConfig } from "tsdown";

/** Build shared by every package: ESM and declarations, Node 20.19. */
export const base: UserConfig = {
  entry: ["src/index.ts"],
  format: "esm",
  platform: "node",
  target: "node20.19",
  dts: true,
  sourcemap: true,
  clean: true,
  // dist/index.js, not .mjs: the packages say "type": "module".
  fixedExtension: false,
  // A library that package.json does not declare fails the build; it would be copied into dist, classes and all.
  deps: { onlyBundle: [] },
  logLevel: "warn",
};
