import type * as postgresPackage from "@stratigraph/postgres";
import type * as redisPackage from "@stratigraph/redis";
import type * as tieredPackage from "@stratigraph/tiered";
import { type Build, load } from "./libraries.ts";
import type { OpenSaver, Place } from "./savers.ts";

/** Opens our saver over Redis and PostgreSQL, of one build. */
export async function openStack(
  { url, schema, redisUrl }: Place & { redisUrl: string },
  build: Build = "esm",
): Promise<OpenSaver> {
  const { TieredSaver } = await load<typeof tieredPackage>(build, "@stratigraph/tiered");
  const { redis } = await load<typeof redisPackage>(build, "@stratigraph/redis");
  const { postgres } = await load<typeof postgresPackage>(build, "@stratigraph/postgres");
  const saver = new TieredSaver({
    hot: redis({ url: redisUrl, ttl: "15m" }),
    warm: postgres({ url, schema }),
  });
  await saver.setup();
  return { saver, close: () => saver.end() };
}
