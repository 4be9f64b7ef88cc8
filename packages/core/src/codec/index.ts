export { Cipher, keyIdOf, nameLength, nameOf } from "./Cipher.ts";
export { type Codec, loadCodec, pack, type PackOptions, runningCodec, unpack } from "./codec.ts";
export { CodecError, type CodecErrorReason } from "./codecError.ts";
export { contentHash, deriveHashKey, SimilarHash } from "./contentHash.ts";
export { type EncryptionOptions, type KeySource } from "./EncryptionOptions.ts";
export { type DecompressOptions, type Zstd } from "./zstd.ts";
