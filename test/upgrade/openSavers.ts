import { PostgresSaver, postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, boundedMemory } from "@stratigraph/tiered";

/** Servers, and what on them is ours. */
export interface Place {
  readonly url: string;
  readonly redis: string;
  readonly prefix: string;
}

/** The savers whose threads outlive an upgrade of LangGraph. */
export async function openSavers(place: Place) {
  const alone = PostgresSaver.fromConnString(place.url, { schema: "alone" });
  const stack = new TieredSaver({
    hot: [boundedMemory(), redis({ url: place.redis, prefix: place.prefix, ttl: "30m" })],
    warm: postgres({ url: place.url, schema: "stack" }),
  });
  const savers = { PostgresSaver: alone, "memory>redis>postgres": stack };
  for (const saver of Object.values(savers)) await saver.setup();
  return {
    savers,
    close: async () => {
      for (const saver of Object.values(savers)) await saver.end();
    },
  };
}
