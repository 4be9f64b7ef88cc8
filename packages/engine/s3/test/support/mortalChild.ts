import { PackTier } from "../../src/index.ts";
import type { ObjectStore } from "../../src/objectStore.ts";
import { storeAt, type StorePlace } from "./place.ts";
import { put } from "./puts.ts";

// Appends to a thread or deletes it, and is killed around one of its requests.
const [place, work, step] = process.argv.slice(2) as [string, "append" | "delete", string];
const store = storeAt(JSON.parse(place) as StorePlace);
let changes = 0;

/** Kills the process when so many points were passed: before and after every request that changes something. */
function pass(): void {
  if (changes === Number(step)) process.kill(process.pid, "SIGKILL");
  changes += 1;
}

const mortal: ObjectStore = {
  name: store.name,
  get: (...args) => store.get(...args),
  list: (prefix) => store.list(prefix),
  put: async (...args) => {
    pass();
    const etag = await store.put(...args);
    pass();
    return etag;
  },
  delete: async (keys) => {
    for (const key of keys) {
      pass();
      await store.delete([key]);
      pass();
    }
  },
};

const tier = new PackTier(mortal);
if (work === "append") await tier.append(put("thread", "c", "b", 90_000));
else await tier.deleteThread("thread");
process.send?.("done");
process.disconnect();
