export type {
  FoundObject,
  GetOptions,
  ListedObject,
  ObjectStore,
  PutCondition,
  StorePlace,
} from "./objectStore.ts";
export { PackTier, type PackTierOptions } from "./packTier.ts";
export type { S3ClientLike, S3Options, ServerSideEncryption } from "./s3Options.ts";
export { folder, FolderSaver, s3, S3Saver, type FolderOptions, type S3SaverOptions } from "./s3Saver.ts";
