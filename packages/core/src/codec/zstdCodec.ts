/** The build makes a file of its own of this one, with zstd-codec in it (tsdown.config.ts): both builds load it. */
export { run } from "zstd-codec/lib/module.js";
