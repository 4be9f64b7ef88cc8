export type { EncryptionOptions } from "./codec/index.ts";
export type { Conflict } from "./operations/conflicts.ts";
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
  type ErrorCode,
} from "./contract/errors.ts";
export type { Holding } from "./operations/holding.ts";
export type { CopyHealth, Health, HealthOptions, TierHealth } from "./operations/health.ts";
export type { KeysInUse, KeysInUseOptions, KeyUse } from "./operations/keysInUse.ts";
export type { ThreadStatus } from "./contract/threadStatus.ts";
export type { ThreadListOptions, ThreadPage } from "./operations/listThreads.ts";
export type { MaintainOptions, StartMaintenanceOptions } from "./maintenance/maintainOptions.ts";
export type { RetentionOptions } from "./maintenance/retentionOptions.ts";
export type { MaintenanceReport, MaintenanceStep, StepOutcome } from "./maintenance/steps.ts";
export { MemorySaver } from "./memory/memorySaver.ts";
export { MemoryTier } from "./memory/memoryTier.ts";
export type { ConflictPolicy, LostRace, SaverOptions } from "./saver/options.ts";
export type { PromoteOptions } from "./operations/promote.ts";
export type { KeepRule } from "./operations/keptCheckpoints.ts";
export type { Pruned, PruneThreadOptions } from "./operations/prune.ts";
export type { PruneOptions } from "./operations/pruneOptions.ts";
export type { ReencryptOptions, ReencryptReport } from "./operations/reencrypt.ts";
export type { Ancestor } from "./saver/lineage.ts";
export { TierSaver } from "./saver/tierSaver.ts";
export {
  SerializationError,
  StratigraphSerializer,
  type RegisteredType,
  type StratigraphSerializerOptions,
} from "./serde/index.ts";
export type { StateStep, StateValue, StateVersionsOptions } from "./stateVersions/options.ts";
export type { StoredOptions } from "./saver/storedWaits.ts";
export type { Tags } from "./saver/threadTags.ts";
export type { ThreadInfo, Tier } from "./contract/tier.ts";
export type { CacheOptions } from "./cache/cacheOptions.ts";
export type { TierCache } from "./cache/tierCache.ts";
export type { StoreOptions, TierStore } from "./items/tierStore.ts";
export type { ItemTtlOption } from "./items/ttl.ts";
export type { TraceEvent } from "./contract/trace.ts";
export type { Duration, Size } from "./contract/units.ts";
