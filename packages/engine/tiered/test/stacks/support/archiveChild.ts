import { postgres } from "@stratigraph/postgres";
import { PackTier } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { storeAt, type StorePlace } from "../../../../s3/test/support/place.ts";

// Deletes a thread, or maintains in the background until SIGTERM. Tells what it did.
const [work, url, place] = process.argv.slice(2) as ["delete" | "maintain", string, string];

/** What it tells. */
export type ArchiveMessage = "deleted from the warm tier" | "archived" | "stopped";
const tell = (message: ArchiveMessage) => void process.send?.(message);

const warm = postgres({ url });
const deleteThread = warm.deleteThread.bind(warm);
warm.deleteThread = async (threadId) => {
  await deleteThread(threadId);
  tell("deleted from the warm tier");
};
const evict = warm.evict.bind(warm);
warm.evict = async (...args) => {
  const done = await evict(...args);
  tell("archived");
  return done;
};
const saver = new TieredSaver(
  { warm, cold: new PackTier(storeAt(JSON.parse(place) as StorePlace)), archiveAfter: "0s", pause: "0ms" },
  () => Date.now() + 120_000,
);
if (work === "delete") await saver.deleteThread("gone");
else {
  const maintenance = saver.startMaintenance({ every: "1ms" });
  // A server that serves: something keeps the process alive.
  const serving = setInterval(() => undefined, 1000);
  process.once("SIGTERM", async () => {
    await maintenance.stop();
    tell("stopped");
    await saver.end();
    clearInterval(serving);
    process.disconnect();
  });
}
