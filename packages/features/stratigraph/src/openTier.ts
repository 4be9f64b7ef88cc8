import { MemoryTier, type Tier, MemorySaver, type SaverOptions, type TierSaver } from "@stratigraph/core";
import { pglite, postgres, PostgresSaver } from "@stratigraph/postgres";
import { redis, RedisSaver } from "@stratigraph/redis";
import { folder, S3Saver, FolderSaver } from "@stratigraph/s3";
import { boundedMemory } from "@stratigraph/tiered";
import type { TierSource } from "./config.ts";
import { fileUrl, memoryUrl, pgliteUrl, postgresUrl, schemeOf } from "./urls.ts";

/** What a tier is used for. In memory, a hot tier is bounded and evicts; a tier that owns threads isn't bounded. */
export type Role = "hot" | "warm" | "cold" | "replica";

/** After how long copies in a hot Redis expire if its URL names no ttl. By default Redis evicts nothing, and would fill up. */
const hotTtl = "1d";

/** Opens the tier that a URL names; returns a tier unchanged. @throws InvalidOptionError */
export function openTier(field: string, source: TierSource, role: Role): Tier {
  if (typeof source !== "string") return source;
  switch (schemeOf(field, source)) {
    case "memory": {
      const limits = memoryUrl(field, source, role === "hot");
      return role === "hot" ? boundedMemory(limits) : new MemoryTier();
    }
    case "pglite":
      return pglite(pgliteUrl(field, source));
    case "postgresql": {
      const { server, options } = postgresUrl(field, source);
      return postgres({ url: server, ...options });
    }
    case "redis":
      return redis({ url: source, ...(role === "hot" && !hasTtl(source) ? { ttl: hotTtl } : {}) });
    case "s3":
      return S3Saver.fromUrl(source).tier;
    case "file":
      return folder(fileUrl(field, source));
  }
}

function hasTtl(url: string): boolean {
  return URL.canParse(url) && new URL(url).searchParams.has("ttl");
}

/** A saver over the one storage that a URL names, not set up yet. @throws InvalidOptionError */
export function openUrl(field: string, url: string, options: SaverOptions = {}): TierSaver {
  switch (schemeOf(field, url)) {
    case "memory":
      memoryUrl(field, url, false);
      return new MemorySaver(options);
    case "pglite": {
      const { path, ...inUrl } = pgliteUrl(field, url);
      return PostgresSaver.embedded(path, { ...inUrl, ...options });
    }
    case "postgresql": {
      const { server, options: inUrl } = postgresUrl(field, url);
      return PostgresSaver.fromConnString(server, { ...inUrl, ...options });
    }
    case "redis":
      return new RedisSaver({ url, ...options });
    case "s3":
      return S3Saver.fromUrl(url, options);
    case "file":
      return new FolderSaver(fileUrl(field, url), options);
  }
}
