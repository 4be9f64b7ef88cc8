/** The build makes a file of its own of this one, with zstd-codec in it (tsdown.config.ts): both builds load it. */
export { ZstdCodec } from "zstd-codec";
