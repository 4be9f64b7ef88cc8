import { InvalidOptionError, MemoryTier, type Tier } from "@stratigraph/core";
import { pglite, postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder, S3Saver } from "@stratigraph/s3";
import { memory } from "@stratigraph/tiered";
import type { TierSource } from "./config.ts";

/** What a tier is used for. In memory, a hot tier is bounded and evicts; one that owns threads isn't. */
export type Role = "hot" | "warm" | "cold" | "replica";

const examples =
  "memory:, pglite:./folder, postgresql://host/database, redis://host:6379, s3://bucket/prefix, file:./folder";

/** When copies in a hot Redis expire if its URL doesn't say: by default Redis evicts nothing, and would fill up. */
const hotTtl = "1d";

/** The tier that a URL names; a tier is returned as it is. @throws InvalidOptionError */
export function openTier(field: string, source: TierSource, role: Role): Tier {
  if (typeof source !== "string") return source;
  const scheme = /^([a-z0-9+]+):/i.exec(source)?.[1]?.toLowerCase();
  switch (scheme) {
    case "memory":
      if (!/^memory:(\/\/)?$/i.test(source)) {
        throw new InvalidOptionError(
          field,
          "memory: with more behind it",
          'Write "memory:" alone; one with options is memory({ maxSize: "256mb" }).',
        );
      }
      return role === "hot" ? memory() : new MemoryTier();
    case "pglite":
      return pglite({ folder: pathIn(field, source, "pglite:./.stratigraph") });
    case "postgres":
    case "postgresql":
      return postgres({ url: source });
    case "redis":
    case "rediss":
      return redis({ url: source, ...(role === "hot" && !hasTtl(source) ? { ttl: hotTtl } : {}) });
    case "s3":
      return S3Saver.fromUrl(source).tier;
    case "file":
      return folder({ path: pathIn(field, source, "file:./archive") });
    default:
      // Show only the scheme: the URL may hold a password.
      throw new InvalidOptionError(
        field,
        scheme === undefined ? "text without a scheme" : `${scheme}:…`,
        `Pass a tier, or a URL such as ${examples}.`,
      );
  }
}

function hasTtl(url: string): boolean {
  return URL.canParse(url) && new URL(url).searchParams.has("ttl");
}

function pathIn(field: string, url: string, example: string): string {
  const path = url.slice(url.indexOf(":") + 1).replace(/^\/\/(?=\/)/, "");
  if (path === "")
    throw new InvalidOptionError(field, url, `Name the folder, for example ${JSON.stringify(example)}.`);
  if (path.includes("?")) {
    throw new InvalidOptionError(
      field,
      "a folder's URL with a question mark",
      "It has no parameters: pass a tier, made with pglite({ folder, schema }) or folder({ path }).",
    );
  }
  return path;
}
