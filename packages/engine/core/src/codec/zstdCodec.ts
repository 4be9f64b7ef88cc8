/** The build bundles this file with zstd-codec (tsdown.config.ts); the ESM and the CommonJS build both load that bundle. */
export { run } from "zstd-codec/lib/module.js";
