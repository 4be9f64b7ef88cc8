// For those who write a tier: the contract, and the rules that every tier keeps.
export { conflictOf, goesOn, neededBlobs } from "./contract/appendRules.ts";
export { blobClosure, missingBlob, namedBlobs } from "./contract/blobClosure.ts";
export { storedSize } from "./contract/traffic.ts";
export { decideMoves, lostToOf, refuseLateWriter, refuseLostParents } from "./contract/headRules.ts";
export { isListed } from "./contract/isListed.ts";
export { addressKey, checkpointKey } from "./contract/keys.ts";
export { checkTier } from "./contract/checkTier.ts";
export { closedError, threadExists } from "./contract/errors.ts";
export type { Check, CheckUp, CheckResult } from "./operations/checkUp.ts";
export type { HealthReporter } from "./operations/health.ts";
export { isKeptWhole, isReserved, reservedNamespaces } from "./contract/reservedNamespaces.ts";
export { checkStoredSize } from "./contract/storedSize.ts";
export {
  namespaceOfPath,
  namespacePath,
  type FieldTest,
  type ItemAddress,
  type ItemBytes,
  type ItemChange,
  type ItemField,
  type ItemKeeper,
  type Items,
  type ItemNamespacesQuery,
  type ItemPage,
  type ItemRead,
  type ItemSearch,
  type NearestItemsQuery,
  type NearItem,
  type StoredItem,
} from "./contract/items.ts";
export {
  type CacheAddress,
  type CacheKeeper,
  type CacheLimits,
  type CacheRead,
  type CacheStorage,
  type CacheWrite,
} from "./contract/caches.ts";
export {
  type Commit,
  type CommitResult,
  type EntryBytes,
  type ItemsAtQuery,
  type LoggedChange,
  type LogPage,
  type LogQuery,
  type VersionCheck,
  type WorkspaceChange,
  type WorkspaceKeeper,
  type WorkspaceNews,
  type WorkspaceStorage,
  type WorkspaceState,
} from "./contract/workspaces.ts";
export type { WritesOutcome } from "./contract/threadStatus.ts";
export { tagKey } from "./contract/tagKey.ts";
export {
  maxTagBytes,
  tombstoneMs,
  type Address,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type Blob,
  type BlobHash,
  type BlobInfo,
  type CheckpointRecord,
  type HeadMove,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Namespace,
  type Peek,
  type Reading,
  type Remainder,
  type RemoveRequest,
  type StoredCheckpoint,
  type StoredWriteBatch,
  type ThreadQuery,
  type ThreadState,
  type ThreadTag,
  type WriteBatch,
} from "./contract/tier.ts";
export {
  lockRememberedMs,
  type AncestryReader,
  type ArchiveSource,
  type Sweeper,
  type BytesReplacer,
  type CopyKeeper,
  type Diagnoser,
  type DiagnoseRequest,
  type Diagnosis,
  type ForkRequest,
  type ForkTip,
  type LayeredTier,
  type KeyCheckKeeper,
  type KeyCheckPlaces,
  type LeaseKeeper,
  type StatusKeeper,
  type LockKeeper,
  type LockState,
  type Leftover,
  type LeftoverFinder,
  type MovedThread,
  type NamespaceCopy,
  type OwningTier,
  type ReplaceBytesRequest,
  type Replicated,
  type ScriptedSetup,
  type Stacked,
  type StackLayer,
  type ThreadArchiver,
  type ThreadCopier,
  type ThreadExpirer,
  type ThreadForker,
  type ThreadInspection,
  type ThreadInspector,
  type ThreadMender,
  type ThreadOutline,
  type ThreadTagger,
  type TierRole,
  type Tombstone,
  type TombstoneQuery,
  type UnchangedDeleter,
} from "./contract/tierExtensions.ts";
