export {
  CheckpointConflictError,
  CorruptionError,
  EvictedError,
  InvalidAddressError,
  InvalidOptionError,
  MemorySaver,
  MemoryTier,
  NotFoundError,
  SerializationError,
  StratigraphError,
  StratigraphSerializer,
  ThreadDeletedError,
  TierSaver,
} from "@stratigraph/core";
export type {
  Conflict,
  ConflictPolicy,
  Duration,
  EncryptionOptions,
  ErrorCode,
  Health,
  HealthOptions,
  KeysInUse,
  KeysInUseOptions,
  KeyUse,
  LostRace,
  MaintainOptions,
  MaintenanceReport,
  MaintenanceStep,
  PruneOptions,
  ReencryptOptions,
  ReencryptReport,
  RegisteredType,
  RetentionOptions,
  SaverOptions,
  Size,
  StartMaintenanceOptions,
  StratigraphSerializerOptions,
  ThreadInfo,
  ThreadListOptions,
  ThreadPage,
  Tier,
  TierHealth,
  TraceEvent,
} from "@stratigraph/core";
export { PostgresSaver, PostgresTier, pglite, postgres } from "@stratigraph/postgres";
export type { PgPool, PostgresOptions, PostgresSaverOptions, SetupOptions } from "@stratigraph/postgres";
export { RedisSaver, RedisTier, redis } from "@stratigraph/redis";
export type { RedisClient, RedisOptions, RedisSaverOptions } from "@stratigraph/redis";
export { PackTier, S3Saver, folder, s3 } from "@stratigraph/s3";
export type { FolderOptions, S3Options, S3SaverOptions } from "@stratigraph/s3";
export { BoundedMemoryTier, TierStack, TieredSaver, memory } from "@stratigraph/tiered";
export type {
  ArchivingOptions,
  BoundedMemoryOptions,
  BreakerOptions,
  Consistency,
  QueueOptions,
  RestoreOn,
  TierStackOptions,
  TieredSaverOptions,
} from "@stratigraph/tiered";
export type {
  CheckpointerConfig,
  CommonConfig,
  FolderConfig,
  MemoryConfig,
  PostgresConfig,
  RedisConfig,
  StackConfig,
  TierSource,
} from "./config.ts";
export { createCheckpointer } from "./createCheckpointer.ts";
