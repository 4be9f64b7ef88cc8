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
  fixedExtension: false,
  // .sql and .lua files live in files of their own and are inlined when built.
  loader: { ".sql": "text", ".lua": "text" },
};
