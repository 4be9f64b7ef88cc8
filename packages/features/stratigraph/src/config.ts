import type { SaverOptions, Tier } from "@stratigraph/core";
import type { ThreadSource } from "@stratigraph/migrate";
import type { DatabaseOptions, PgPool, PostgresOptions } from "@stratigraph/postgres";
import type { RedisClient, RedisOptions } from "@stratigraph/redis";
import type { ArchivingOptions, TierStackOptions } from "@stratigraph/tiered";

/** The options that every config has, besides the place where checkpoints are kept. */
export interface CommonConfig extends SaverOptions {
  /** Whether to create tables and functions in the storage. Default true; pass false if a deployment step does it. */
  readonly setup?: boolean | undefined;
  /**
   * The source of threads that aren't here yet, such as `official+postgresql://…`. Each is imported when it is first read, while processes
   * that use the old saver drain. URLs as for `openSource` of `@stratigraph/migrate`; a source that is passed in stays open.
   */
  readonly readThrough?: string | ThreadSource | undefined;
}

/** In this process's memory. State is lost when the process ends. */
export interface MemoryConfig extends CommonConfig {
  readonly memory: true;
}

/** In an embedded database in a folder. One process per folder. Needs the package @electric-sql/pglite. */
export interface PgliteConfig extends CommonConfig, DatabaseOptions {
  readonly pglite: string;
}

/**
 * In PostgreSQL: a connection string, or a pool that the caller opened and closes. A list of them: threads are spread over these
 * databases, whose number and order must stay as they were when they were set up.
 */
export interface PostgresConfig extends CommonConfig, PostgresOptions {
  readonly postgres: string | PgPool | readonly (string | PgPool)[];
}

/** In a durable Redis: a URL, or a client that the caller opened and closes. A URL needs the package ioredis. */
export interface RedisConfig extends CommonConfig, RedisOptions {
  readonly redis: string | RedisClient;
}

/**
 * Where a tier is: a tier that was made elsewhere, or a URL.
 * `memory:` · `pglite:<folder>` · `postgresql://…` · `redis://…?ttl=15m` or `rediss://…` · `s3://bucket/prefix?region=…` ·
 * `file:<folder>` (the same packs as in S3)
 */
export type TierSource = string | Tier;

/** In several tiers: hot ones to read from, the warm one that owns the threads, and a cold one for idle threads. */
export interface StackConfig
  extends CommonConfig, Omit<TierStackOptions, "hot" | "warm" | "cold" | "replicas">, ArchivingOptions {
  /** A list: URLs of PostgreSQL databases over which threads are spread. */
  readonly warm: TierSource | readonly string[];
  /**
   * One tier or several, nearest first. Copies in a Redis that is named by a URL expire after a day without use, unless the URL
   * says otherwise: `?ttl=15m`, `?ttl=never`. A tier that is passed in has its own options.
   */
  readonly hot?: TierSource | readonly TierSource[] | undefined;
  /**
   * The tier that maintenance moves idle threads to, as `archiveAfter`, `keepLast` or `trimAfter` say; without any of them it
   * moves nothing.
   */
  readonly cold?: TierSource | undefined;
  readonly replicas?: readonly TierSource[] | undefined;
}

/** The configs by kind. A kind is named after the option that only it has. */
export interface ConfigsByKind {
  readonly memory: MemoryConfig;
  readonly pglite: PgliteConfig;
  readonly postgres: PostgresConfig;
  readonly redis: RedisConfig;
  readonly warm: StackConfig;
}

type Names<Config> = Config extends unknown ? keyof Config : never;

/** A config without the options of the other kinds, so that `{ memory, postgres }` and `{ postgres, ttl }` don't compile. */
export type Only<Config> = Config & {
  readonly [Name in Exclude<Names<ConfigsByKind[keyof ConfigsByKind]>, keyof Config>]?: undefined;
};

/** Where checkpoints are kept: exactly one of `memory`, `pglite`, `postgres`, `redis` and `warm`, with its options. */
export type CheckpointerConfig = {
  [Kind in keyof ConfigsByKind]: Only<ConfigsByKind[Kind]>;
}[keyof ConfigsByKind];
