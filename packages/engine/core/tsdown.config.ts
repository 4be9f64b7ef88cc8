import { defineConfig } from "tsdown";
import { base } from "../../../tsdown.base.ts";
import { embeddedZstdCodec, zstdCodecApart } from "./zstdCodec.build.ts";

export default defineConfig([
  {
    ...base,
    entry: ["src/index.ts", "src/tier.ts", "src/internal.ts"],
    plugins: [base.plugins, zstdCodecApart()],
    // One file behind the doors: each file more costs a process that imports it.
    outputOptions: {
      ...base.outputOptions,
      codeSplitting: { groups: [{ name: "core", test: /packages\/engine\/core\/src\/.*(?<!\.d)\.ts$/ }] },
    },
  },
  {
    ...base,
    entry: { zstdCodec: "src/codec/zstdCodec.ts" },
    dts: false,
    // Mostly WASM as text: nobody steps through it.
    minify: true,
    sourcemap: false,
    clean: false,
    deps: { alwaysBundle: ["zstd-codec"], onlyBundle: ["zstd-codec"] },
    plugins: [embeddedZstdCodec()],
  },
]);
