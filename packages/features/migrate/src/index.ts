export { importThreads } from "./copy/importThreads.ts";
export { exportThreads } from "./copy/exportThreads.ts";
export type { CopyOptions, CopyProgress, CopyReport, Difference } from "./copy/report.ts";
export type {
  MixedUp,
  OutlineEntry,
  Plan,
  SourceCheckpoint,
  SourceThread,
  SourceWrite,
  SourceSelection,
  ThreadSource,
} from "./contract/source.ts";
export type { ThreadTarget, WriteOptions, WrittenThread } from "./contract/target.ts";
export { postgresSource } from "./sources/postgresSource.ts";
export type { PostgresSourceOptions } from "./sources/postgresSource.ts";
export type { SourceClient, SourcePool } from "./sources/postgresTables.ts";
export { saverSource } from "./sources/saverSource.ts";
export { saverTarget, type SaverTargetOptions } from "./targets/saverTarget.ts";
export type { FileSourceOptions } from "./sources/fileSource.ts";
export type { FileTargetOptions } from "./targets/fileTarget.ts";
export { openSource, type OpenOptions } from "./openSource.ts";
export { openTarget } from "./openTarget.ts";
export type { SqliteDatabase, SqliteSourceOptions } from "./sources/sqliteSource.ts";
export { moveThreads, type MoveOptions } from "./copy/moveThreads.ts";
export { readThrough, type ReadThroughOptions } from "./readThrough.ts";
export type {
  MongoCollection,
  MongoCursor,
  MongoDatabase,
  MongoSourceOptions,
} from "./sources/mongoSource.ts";
export type { RedisCommand, RedisSourceOptions } from "./sources/redisSource.ts";
