import type { SaverOptions, Tier } from "@stratigraph/core";
import type { PgPool, PostgresOptions } from "@stratigraph/postgres";
import type { RedisClient, RedisOptions } from "@stratigraph/redis";
import type { TierStackOptions } from "@stratigraph/tiered";

/** What every config takes beside the place where checkpoints are kept. */
export interface CommonConfig extends SaverOptions {
  /** Makes the storage ready (tables, functions). Default true; false where a deployment step does it. */
  readonly setup?: boolean | undefined;
}

/** In this process's memory. State is lost when the process ends. */
export interface MemoryConfig extends CommonConfig {
  readonly memory: true;
}

/** In an embedded database in a folder. One process per folder. Needs the package @electric-sql/pglite. */
export interface FolderConfig extends CommonConfig {
  readonly folder: string;
  readonly schema?: string | undefined;
}

/** In PostgreSQL: a connection string, or a pool that the caller opened and closes. */
export interface PostgresConfig extends CommonConfig, PostgresOptions {
  readonly postgres: string | PgPool;
}

/** In a durable Redis: a URL, or a client that the caller opened and closes. A URL needs the package ioredis. */
export interface RedisConfig extends CommonConfig, RedisOptions {
  readonly redis: string | RedisClient;
}

/**
 * Where a tier is: a tier that was made elsewhere, or a URL.
 * `memory:` · `pglite:<folder>` · `postgresql://…` · `redis://…` or `rediss://…` · `s3://bucket/prefix?region=…` · `file:<folder>`
 * (the same packs as in S3)
 */
export type TierSource = string | Tier;

/** In several tiers: hot ones to read from, the warm one that owns, a cold one for what is idle. */
export interface StackConfig
  extends CommonConfig, Omit<TierStackOptions, "hot" | "warm" | "cold" | "replicas" | "clock"> {
  readonly warm: TierSource;
  readonly hot?: TierSource | readonly TierSource[] | undefined;
  readonly cold?: TierSource | undefined;
  readonly replicas?: readonly TierSource[] | undefined;
}

/** Where checkpoints are kept: exactly one of `memory`, `folder`, `postgres`, `redis` and `warm`, and its options. */
export type CheckpointerConfig = MemoryConfig | FolderConfig | PostgresConfig | RedisConfig | StackConfig;
