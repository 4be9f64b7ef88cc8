import type { TierSaver } from "@stratigraph/core";
import type { HeadMove } from "@stratigraph/core/tier";
import type { Entry, Payload } from "../../src/log/entry.ts";
import { encodeEntry } from "../../src/log/records.ts";

/** Writes an entry into the thread "t" as somebody does who may write to the storage. */
export async function putEntry(
  saver: TierSaver,
  names: Parameters<typeof encodeEntry>[2],
  entry: Entry,
  payload: Payload,
  heads: readonly HeadMove[] = [],
): Promise<void> {
  const { record, blobs, relies } = await encodeEntry(saver, "t", names, entry, payload);
  await saver.tier.append({ threadId: "t", records: [record], blobs, relies, heads, onConflict: "refuse" });
}
