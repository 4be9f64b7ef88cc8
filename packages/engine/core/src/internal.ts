// For the packages that are released together with this one. Not versioned: anything may change in a patch.
export { retentionNames } from "./maintenance/retentionOptions.ts";
export { keepsItems, type StoreItems } from "./contract/items.ts";
export {
  checkedAddress,
  checkedCount,
  checkedLabels,
  checkSearchOptions,
} from "./items/checkedOperations.ts";
export type { ItemCoder, ItemValue } from "./items/itemCoder.ts";
export { threadNamedBy } from "./contract/threadNamedBy.ts";
export { noteStatusTask } from "./maintenance/noteStatus.ts";
export { outcomeLetters, statusLetters, statusOfLetter } from "./contract/statusLetters.ts";
export {
  dueNodes,
  sentTo,
  statusFrom,
  statusTerms,
  threadStatuses,
  type TaskOutcome,
} from "./contract/threadStatus.ts";
export { dueAt, isDueAt, statesAt, statusAt, taskStates, type TaskStates } from "./operations/taskStates.ts";
export { TierStore } from "./items/tierStore.ts";
export { ttlOf, type ItemTtl } from "./items/ttl.ts";
export { isLogged, keepsWorkspaces } from "./contract/workspaces.ts";
export { endOf, isLost, type LogPlace } from "./contract/logPlace.ts";
export { News, type NewsWire } from "./contract/news.ts";
export { configOf, validId } from "./saver/address.ts";
export { RunsUnderWay } from "./saver/runsUnderWay.ts";
export { answerWithin, endsWithin } from "./contract/answerWithin.ts";
export { eitherSignal, signalWithin } from "./contract/eitherSignal.ts";
export { inParallel } from "./contract/inParallel.ts";
export { CallGate } from "./contract/callGate.ts";
export { Calls, type Traffic } from "./contract/calls.ts";
export { appendTraffic, peekTraffic, readTraffic, writesTraffic } from "./contract/traffic.ts";
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
  kindOf,
  shownName,
  didYouMean,
  pickOptions,
  type OptionAdvice,
  type OptionNames,
} from "./contract/checkOptions.ts";
export { unknownParameter } from "./contract/unknownParameter.ts";
export { onDeletedRuns, runDeleted } from "./operations/deletedRuns.ts";
export {
  importUnderWay,
  isRootedMark,
  isUnderWay,
  markedCopy,
  markOf,
  wholeCopy,
} from "./contract/copyMark.ts";
export { lockFolder, type FolderLock } from "./contract/lockFolder.ts";
export { lookOnly, looksOnly } from "./contract/lookOnly.ts";
export {
  postgresParameters,
  type PostgresPoolSettings,
  postgresPoolNames,
} from "./contract/postgresParameters.ts";
export { livenessOf, thisProcess, type ProcessName } from "./contract/processName.ts";
export { stopwatch, unstarted } from "./contract/stopwatch.ts";
export { CheckpointCoder, type EncodedCheckpoint, type Manifest } from "./encode/checkpointCoder.ts";
export { codecTags, pack, unpack } from "./codec/index.ts";
export { loadZstd } from "./codec/loadZstd.ts";
export type { Zstd } from "./codec/zstd.ts";
export { dryRunReason } from "./operations/deleteThreads.ts";
export {
  archivedElsewhere,
  archivedKey,
  archiveOwner,
  headlessOrEvicted,
  idPlaces,
  isArchivedElsewhere,
  refuseEvicted,
  refusePart,
} from "./operations/archivedElsewhere.ts";
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
export { layersOf, Storages } from "./operations/holding.ts";
export { firstAsked } from "./operations/firstAsked.ts";
export { checkUp, clockFinding, diagnosisOf } from "./operations/checkUp.ts";
export { diagnoseMemory } from "./operations/diagnoseMemory.ts";
export { pingTier, tierHealth } from "./operations/health.ts";
export { ancestorsFrom } from "./operations/ancestors.ts";
export { settledHead } from "./operations/settledHead.ts";
export { timeOfId } from "./contract/timeOfId.ts";
export { headlessError } from "./contract/errors.ts";
export { beginsThread, isHeadless } from "./contract/headRules.ts";
export { wasArchived, withoutBytes } from "./operations/withoutBytes.ts";
export { straysOf } from "./operations/straysOf.ts";
export { dropCopies, dropUnneeded } from "./operations/dropBlobs.ts";
export { dropLeftovers, leftoversIn } from "./operations/leftovers.ts";
export { isDamaged, listEach } from "./operations/listEach.ts";
export { isThreadInfo } from "./operations/listThreads.ts";
export { missingBatches } from "./encode/batchIds.ts";
export { isControlChannel, isLangGraphChannel } from "./langgraph/channelNames.ts";
export { NULL_TASK } from "./langgraph/taskIds.ts";
export type { Batch } from "./maintenance/batch.ts";
export { LockTurns } from "./maintenance/lockTurns.ts";
export { PruneWalk } from "./maintenance/pruneWalk.ts";
export { dropLoose } from "./operations/dropLoose.ts";
export { evictLooseTask } from "./maintenance/evictLoose.ts";
export { deleteIdleTask, type RetentionParts } from "./maintenance/retention.ts";
export { countOf, type ResolvedRetention } from "./maintenance/retentionOptions.ts";
export { Renewal } from "./maintenance/renewal.ts";
export { sleep } from "./maintenance/sleep.ts";
export { stepOf, type MaintenanceTask } from "./maintenance/steps.ts";
export { sweepsTiers } from "./maintenance/sweepsTiers.ts";
export { ThreadWalk } from "./maintenance/threadWalk.ts";
export { saverOptionAdvice, saverOptionNames } from "./saver/options.ts";
export type { Series } from "./encode/valueCoder.ts";
export {
  decodeThreadRecord,
  encodeThreadRecord,
  threadTerms,
  type ThreadRecord,
} from "./operations/threadRecord.ts";
export { childrenOf, outlineOf, type Node, type Nodes, type Outline } from "./operations/threadOutline.ts";
export { promote } from "./operations/promote.ts";
export { pruneThread } from "./operations/prune.ts";
export type { DecodedBody, ManifestEntry, Typed, ValueRef } from "./encode/record.ts";
export { deltaChannelHistory } from "./operations/deltaChannelHistory.ts";
export { AsStored } from "./stateVersions/stateVersions.ts";
export { convertCheckpoint, stateOf } from "./stateVersions/convertCheckpoint.ts";
export { convertWrites } from "./stateVersions/convertWrites.ts";
export { batchesOfChild, pendingBatches } from "./saver/chosenBatches.ts";
export { mergeWrites, writeIndex } from "./encode/pendingWrites.ts";
export type { Consumed } from "./encode/record.ts";
export type { RevivedBatch } from "./encode/writeCoder.ts";
export { rewindMark, rewindTask } from "./operations/rewindMark.ts";
export { subgraphTip, type Tip } from "./operations/subgraphTip.ts";
export { callsElsewhereTerm, matches, metadataTerms, snapshotTerm } from "./encode/metadataTerms.ts";
export type { ReadThrough, ReadThroughStorage } from "./saver/readThrough.ts";
export { runMetadataPrefix } from "./saver/runMetadata.ts";
export { remembering } from "./saver/remembering.ts";
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
  hasKeyCheckPlaces,
  keepsKeyChecks,
  keepsLeases,
  keepsLocks,
  keepsStatus,
  ownersOf,
  readsAncestry,
  replacesBytes,
} from "./contract/tierExtensions.ts";
export type { TaskWrite } from "./encode/pendingWrites.ts";
export type { DecodedWrite } from "./encode/writeCoder.ts";
export { trace, traced } from "./contract/trace.ts";
export { bytesOf, msOf, waitMsOf } from "./contract/units.ts";
export type { AlsoMoved } from "./operations/windBack.ts";
export { messageOf } from "./serde/messageOf.ts";
export { takeOptions, type UrlNames, type UrlWithOptions } from "./contract/urlOptions.ts";
