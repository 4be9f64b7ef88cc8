import { StratigraphError } from "@stratigraph/core";
import { PackTier } from "../../src/index.ts";
import { storeAt, type StorePlace } from "./place.ts";
import { put } from "./puts.ts";

// Eight writers, each a tier of its own, race on the head of every thread they are told.
const [place, name] = process.argv.slice(2) as [string, string];
const tiers = Array.from({ length: 8 }, () => new PackTier(storeAt(JSON.parse(place) as StorePlace)));

process.on("message", async (threadId: string | null) => {
  if (threadId === null) {
    process.disconnect();
    return;
  }
  const won = await Promise.all(
    tiers.map(async (tier, n) => {
      const id = `${name}${n}`;
      try {
        await tier.append(put(threadId, id, "root", 2000));
        return [id];
      } catch (error) {
        if (StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return [];
        return [`${id}: ${String(error)}`];
      }
    }),
  );
  process.send?.({ threadId, won: won.flat() });
});
process.send?.({ threadId: "up", won: [] });
