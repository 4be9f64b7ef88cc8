export { Cipher, keyIdOf, nameLength, nameOf } from "./cipher.ts";
export { type Codec, codecTags, loadCodec, pack, packNow, unpack, unpackNow } from "./codec.ts";
export { CodecError, type CodecErrorReason } from "./codecError.ts";
export { contentHash, deriveHashKey, IncrementalHash } from "./contentHash.ts";
export { type EncryptionOptions } from "./encryptionOptions.ts";
