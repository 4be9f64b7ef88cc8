export { addressOf, checkpointIdOf, configOf, namespaceOf, validId } from "./address.ts";
export { answerWithin } from "./answerWithin.ts";
export { conflictOf, goesOn } from "./appendRules.ts";
export { CallGate } from "./callGate.ts";
export { Calls } from "./calls.ts";
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
  closedError,
} from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type { Holding } from "./holding.ts";
export { firstAsked } from "./firstAsked.ts";
export { pingTier, tierHealth } from "./health.ts";
export type { Health, HealthOptions, HealthReporter, TierHealth, TierRole } from "./health.ts";
export type { KeysInUse, KeysInUseOptions, KeyUse } from "./keysInUse.ts";
export { line } from "./line.ts";
export type { ThreadListOptions, ThreadPage } from "./listThreads.ts";
export type { Batch } from "./maintenance/batch.ts";
export type { MaintainOptions, StartMaintenanceOptions } from "./maintenance/maintainOptions.ts";
export { PruneWalk } from "./maintenance/pruneWalk.ts";
export { deletesIdle, type RetentionParts } from "./maintenance/retention.ts";
export { countOf, type ResolvedRetention, type RetentionOptions } from "./maintenance/retentionOptions.ts";
export {
  stepOf,
  type MaintenanceReport,
  type MaintenanceStep,
  type MaintenanceTask,
  type StepOutcome,
} from "./maintenance/steps.ts";
export { sweepsTiers } from "./maintenance/sweepsTiers.ts";
export { ThreadWalk } from "./maintenance/threadWalk.ts";
export { MemorySaver, memory } from "./memorySaver.ts";
export { MemoryTier } from "./memoryTier.ts";
export { saverOptionAdvice, saverOptionNames } from "./options.ts";
export type { ConflictPolicy, LostRace, SaverOptions } from "./options.ts";
export { childrenOf, outlineOf, type Node, type Nodes, type Outline } from "./outline.ts";
export { promote, type PromoteOptions } from "./promote.ts";
export { pruneThread, type KeepRule, type Pruned, type PruneThreadOptions } from "./prune.ts";
export type { PruneOptions } from "./pruneOptions.ts";
export type { DecodedBody, ManifestEntry, ValueRef } from "./record.ts";
export { isReserved } from "./isReserved.ts";
export type { ReencryptOptions, ReencryptReport } from "./reencrypt.ts";
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
  deletesUnchanged,
  forksThreads,
  isArchiveSource,
  isStacked,
  maxTagBytes,
  sweeps,
  tagsThreads,
  tombstoneMs,
  keepsCopies,
  keepsLeases,
  ownersOf,
  readsAncestry,
  replacesBytes,
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
  BytesReplacer,
  CheckpointRecord,
  CopyKeeper,
  ForkRequest,
  ForkTip,
  HeadMove,
  LayeredTier,
  LeaseKeeper,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  Namespace,
  NamespaceCopy,
  OwningTier,
  Peek,
  Reading,
  Remainder,
  RemoveRequest,
  ReplaceBytesRequest,
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
  UnchangedDeleter,
  WriteBatch,
} from "./tier.ts";
export type { DecodedWrite } from "./writeCoder.ts";
export { trace, traced, type TraceEvent } from "./trace.ts";
export { bytesOf, msOf, waitMsOf, type Duration, type Size } from "./units.ts";
export type { AlsoMoved } from "./windBack.ts";
