import { MemorySaver, type SaverOptions, type TierSaver } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { FolderSaver, S3Saver } from "@stratigraph/s3";
import { fileUrl, memoryUrl, pgliteUrl, postgresUrl, schemeOf } from "./urls.ts";

/** A saver over the one storage that a URL names, not set up yet. @throws InvalidOptionError */
export function openUrl(field: string, url: string, options: SaverOptions = {}): TierSaver {
  switch (schemeOf(field, url)) {
    case "memory":
      memoryUrl(field, url, false);
      return new MemorySaver(options);
    case "pglite": {
      const { folder, ...inUrl } = pgliteUrl(field, url);
      return PostgresSaver.embedded(folder, { ...inUrl, ...options });
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
