export { Cipher, keyIdOf, nameLength, nameOf } from "./cipher.ts";
export { type Codec, loadCodec, pack, type PackOptions, runningCodec, unpack } from "./codec.ts";
export { CodecError, type CodecErrorReason } from "./codecError.ts";
export { contentHash, deriveHashKey, IncrementalHash } from "./contentHash.ts";
export { type EncryptionOptions, type KeySource } from "./encryptionOptions.ts";
export { type DecompressOptions, type Zstd } from "./zstd.ts";
