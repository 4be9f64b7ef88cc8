import { defineConfig } from "tsdown";
import { base } from "../../tsdown.base.ts";
import { embeddedZstdCodec, zstdCodecApart } from "./zstdCodec.build.ts";

export default defineConfig([
  { ...base, plugins: [base.plugins, zstdCodecApart()] },
  {
    ...base,
    entry: { zstdCodec: "src/codec/zstdCodec.ts" },
    format: "cjs",
    dts: false,
    // 0.7 MB of WASM as text, which nobody steps through.
    sourcemap: false,
    clean: false,
    deps: { alwaysBundle: ["zstd-codec"], onlyBundle: ["zstd-codec"] },
    plugins: [embeddedZstdCodec()],
  },
]);
