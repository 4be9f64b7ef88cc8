export { configOf, validId } from "./saver/address.ts";
export { answerWithin } from "./contract/answerWithin.ts";
export { conflictOf, goesOn, neededBlobs } from "./contract/appendRules.ts";
export { blobClosure, missingBlob, namedBlobs } from "./contract/blobClosure.ts";
export { CallGate } from "./contract/callGate.ts";
export { Calls, type Traffic } from "./contract/calls.ts";
export { appendTraffic, peekTraffic, readTraffic, storedSize, writesTraffic } from "./contract/traffic.ts";
export {
  currentTracer,
  Observation,
  setTracer,
  type Begun,
  type CallObservation,
  type Ended,
  type Span,
  type Tracer,
} from "./contract/observation.ts";
export {
  checkOptions,
  shownName,
  didYouMean,
  pickOptions,
  type OptionAdvice,
  type OptionNames,
} from "./contract/checkOptions.ts";
export { unknownParameter } from "./contract/unknownParameter.ts";
export { decideMoves, lostToOf, refuseLateWriter, refuseLostParents } from "./contract/headRules.ts";
export { isListed } from "./contract/isListed.ts";
export { addressKey, checkpointKey } from "./contract/keys.ts";
export { checkTier } from "./contract/checkTier.ts";
export { lookOnly, looksOnly } from "./contract/lookOnly.ts";
export { livenessOf, thisProcess, type ProcessName } from "./contract/processName.ts";
export { CheckpointCoder } from "./encode/checkpointCoder.ts";
export type { EncodedCheckpoint, Manifest } from "./encode/checkpointCoder.ts";
export { pack, unpack, type EncryptionOptions } from "./codec/index.ts";
export { loadZstd } from "./codec/loadZstd.ts";
export type { Zstd } from "./codec/zstd.ts";
export type { Conflict } from "./operations/conflicts.ts";
export { decodeCursor, encodeCursor } from "./operations/cursor.ts";
export { batchDigest, currentWrites } from "./operations/currentWrites.ts";
export {
  comesInParts,
  copyByReading,
  inheritTags,
  PartMaker,
  readThread,
  type PartContents,
  type ThreadContents,
} from "./operations/copyThread.ts";
export { batchKey, CopiedThread, type BlobCheck } from "./operations/copiedThread.ts";
export { blobsOf, readInParts, type ThreadPart, type ThreadReading } from "./operations/threadReading.ts";
export type {
  DeletedThread,
  DeleteThreadsOptions,
  DeletionReport,
  ThreadSelection,
  TierRemainder,
} from "./operations/deleteThreads.ts";
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
} from "./contract/errors.ts";
export type { ErrorCode } from "./contract/errors.ts";
export { layersOf, Storages } from "./operations/holding.ts";
export type { Holding } from "./operations/holding.ts";
export { firstAsked } from "./operations/firstAsked.ts";
export {
  checkUp,
  clockFinding,
  diagnosisOf,
  type Check,
  type CheckUp,
  type Finding,
} from "./operations/checkUp.ts";
export { diagnoseMemory } from "./operations/diagnoseMemory.ts";
export { pingTier, tierHealth } from "./operations/health.ts";
export type { CopyHealth, Health, HealthOptions, HealthReporter, TierHealth } from "./operations/health.ts";
export type { KeysInUse, KeysInUseOptions, KeyUse } from "./operations/keysInUse.ts";
export { ancestorsFrom } from "./operations/ancestors.ts";
export { settledHead } from "./operations/settledHead.ts";
export { straysOf } from "./operations/straysOf.ts";
export { isThreadInfo } from "./operations/listThreads.ts";
export type { ThreadListOptions, ThreadPage } from "./operations/listThreads.ts";
export { missingBatches } from "./encode/batchTags.ts";
export { isControlChannel, isLangGraphChannel } from "./langgraph/channelNames.ts";
export { NULL_TASK } from "./langgraph/taskIds.ts";
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
export { MemorySaver } from "./memory/memorySaver.ts";
export { MemoryTier } from "./memory/memoryTier.ts";
export { saverOptionAdvice, saverOptionNames } from "./saver/options.ts";
export type { ConflictPolicy, LostRace, SaverOptions } from "./saver/options.ts";
export { childrenOf, outlineOf, type Node, type Nodes, type Outline } from "./operations/threadOutline.ts";
export { promote, type PromoteOptions } from "./operations/promote.ts";
export type { KeepRule } from "./operations/keptCheckpoints.ts";
export { pruneThread, type Pruned, type PruneThreadOptions } from "./operations/prune.ts";
export type { PruneOptions } from "./operations/pruneOptions.ts";
export type { DecodedBody, ManifestEntry, Typed, ValueRef } from "./encode/record.ts";
export { isKeptWhole, isReserved, reservedNamespaces } from "./contract/reservedNamespaces.ts";
export type { ReencryptOptions, ReencryptReport } from "./operations/reencrypt.ts";
export { rewindMark, rewindTask } from "./operations/rewindMark.ts";
export type { Ancestor } from "./saver/lineage.ts";
export { TierSaver } from "./saver/tierSaver.ts";
export { SerializationError, StratigraphSerializer } from "./serde/index.ts";
export type { RegisteredType, StratigraphSerializerOptions } from "./serde/index.ts";
export { checkStoredSize } from "./contract/storedSize.ts";
export { subgraphTip, type Tip } from "./operations/subgraphTip.ts";
export { matches, metadataTags, snapshotTag } from "./encode/metadataTags.ts";
export { tagKey } from "./contract/tagKey.ts";
export type { StoredOptions } from "./saver/storedWaits.ts";
export type { Tags } from "./saver/threadTags.ts";
export type { ReadThrough, ReadThroughStorage } from "./saver/readThrough.ts";
export { remembering } from "./saver/remembering.ts";
export { threadExists } from "./contract/threadExists.ts";
export { maxTagBytes, tombstoneMs } from "./contract/tier.ts";
export {
  archivesThreads,
  copiesThreads,
  deletesUnchanged,
  diagnoses,
  expiresThreads,
  findsLeftovers,
  forksThreads,
  inspectsThreads,
  mendsThreads,
  isArchiveSource,
  isReplicated,
  isSetUpByScript,
  isStacked,
  sweeps,
  tagsThreads,
  keepsCopies,
  keepsKeyChecks,
  keepsLeases,
  keepsLocks,
  lockRememberedMs,
  ownersOf,
  readsAncestry,
  replacesBytes,
} from "./contract/tierExtensions.ts";
export type {
  Address,
  Appended,
  AppendRequest,
  AppendWritesRequest,
  Blob,
  BlobHash,
  BlobInfo,
  CheckpointRecord,
  HeadMove,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  Namespace,
  Peek,
  Reading,
  Remainder,
  RemoveRequest,
  StoredCheckpoint,
  StoredWriteBatch,
  ThreadInfo,
  ThreadQuery,
  ThreadState,
  ThreadTag,
  Tier,
  WriteBatch,
} from "./contract/tier.ts";
export type {
  AncestryReader,
  ArchiveSource,
  Sweeper,
  BytesReplacer,
  CopyKeeper,
  Diagnoser,
  DiagnoseRequest,
  Diagnosis,
  ForkRequest,
  ForkTip,
  LayeredTier,
  KeyCheckKeeper,
  KeyCheckPlaces,
  LeaseKeeper,
  LockKeeper,
  LockState,
  Leftover,
  LeftoverFinder,
  MovedThread,
  NamespaceCopy,
  OwningTier,
  ReplaceBytesRequest,
  Replicated,
  ScriptedSetup,
  Stacked,
  StackLayer,
  ThreadArchiver,
  ThreadCopier,
  ThreadExpirer,
  ThreadForker,
  ThreadInspection,
  ThreadInspector,
  ThreadMender,
  ThreadOutline,
  ThreadTagger,
  TierRole,
  Tombstone,
  TombstoneQuery,
  UnchangedDeleter,
} from "./contract/tierExtensions.ts";
export type { TaskWrite } from "./encode/pendingWrites.ts";
export type { DecodedWrite } from "./encode/writeCoder.ts";
export { trace, traced, type TraceEvent } from "./contract/trace.ts";
export { bytesOf, msOf, waitMsOf, type Duration, type Size } from "./contract/units.ts";
export type { AlsoMoved } from "./operations/windBack.ts";
