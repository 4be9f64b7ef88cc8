export { addressOf, checkpointIdOf, configOf, namespaceOf, validId } from "./address.ts";
export { conflictOf, goesOn } from "./appendRules.ts";
export {
  checkOptions,
  didYouMean,
  pickOptions,
  type OptionAdvice,
  type OptionNames,
} from "./checkOptions.ts";
export { checkTier } from "./checkTier.ts";
export { CheckpointCoder } from "./checkpointCoder.ts";
export type { EncodedCheckpoint, Manifest } from "./checkpointCoder.ts";
export { pack, unpack, type EncryptionOptions } from "./codec/index.ts";
export type { Conflict } from "./conflicts.ts";
export { batchDigest, currentWrites } from "./currentWrites.ts";
export { inheritTags, readThread, type ThreadContents } from "./copyThread.ts";
export type {
  DeletedThread,
  DeleteThreadsOptions,
  DeletionReport,
  ThreadSelection,
  TierRemainder,
} from "./deleteThreads.ts";
export {
  CheckpointConflictError,
  CorruptionError,
  EvictedError,
  InvalidAddressError,
  InvalidOptionError,
  NotFoundError,
  StaleReadError,
  StratigraphError,
  ThreadDeletedError,
} from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type { Holding } from "./holding.ts";
export { firstAsked } from "./firstAsked.ts";
export { line } from "./line.ts";
export type { ThreadListOptions, ThreadPage } from "./listThreads.ts";
export { MemorySaver, memory } from "./memorySaver.ts";
export { MemoryTier } from "./memoryTier.ts";
export { saverOptionAdvice, saverOptionNames } from "./options.ts";
export type { ConflictPolicy, SaverOptions } from "./options.ts";
export { childrenOf, outlineOf, type Node, type Nodes, type Outline } from "./outline.ts";
export { promote, type PromoteOptions } from "./promote.ts";
export type { PruneOptions } from "./prune.ts";
export type { DecodedBody, ManifestEntry, ValueRef } from "./record.ts";
export { isReserved } from "./isReserved.ts";
export { rewindTask } from "./rewindMark.ts";
export { TierSaver } from "./saver.ts";
export { SerializationError, StratigraphSerializer } from "./serde/index.ts";
export type { RegisteredType, StratigraphSerializerOptions } from "./serde/index.ts";
export { checkStoredSize } from "./storedSize.ts";
export { subgraphTip, type Tip } from "./subgraphTip.ts";
export { matches, metadataTags, snapshotTag } from "./tags.ts";
export { tagKey } from "./tagKey.ts";
export type { Tags } from "./threadTags.ts";
export { threadExists } from "./threadExists.ts";
export {
  copiesThreads,
  forksThreads,
  isArchiveSource,
  isStacked,
  maxTagBytes,
  sweeps,
  tagsThreads,
  tombstoneMs,
  keepsCopies,
  keepsLeases,
  readsAncestry,
} from "./tier.ts";
export type {
  Address,
  AncestryReader,
  Appended,
  AppendRequest,
  AppendWritesRequest,
  ArchiveSource,
  Sweeper,
  Blob,
  BlobHash,
  BlobInfo,
  CheckpointRecord,
  CopyKeeper,
  ForkRequest,
  ForkTip,
  HeadMove,
  LeaseKeeper,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  Namespace,
  NamespaceCopy,
  Peek,
  Reading,
  Remainder,
  RemoveRequest,
  Stacked,
  StackLayer,
  StoredCheckpoint,
  StoredWriteBatch,
  ThreadCopier,
  ThreadForker,
  ThreadInfo,
  ThreadOutline,
  ThreadQuery,
  ThreadState,
  ThreadTag,
  ThreadTagger,
  Tier,
  Tombstone,
  TombstoneQuery,
  WriteBatch,
} from "./tier.ts";
export type { DecodedWrite } from "./writeCoder.ts";
export { trace, traced, type TraceEvent } from "./trace.ts";
export { bytesOf, msOf, type Duration, type Size } from "./units.ts";
export type { AlsoMoved } from "./windBack.ts";
