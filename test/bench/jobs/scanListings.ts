import { postgres, PostgresSaver } from "@stratigraph/postgres";
import type { Place } from "../savers.ts";
import { listings } from "../scale/listings.ts";
import { WatchedPool, type Scanned } from "../scale/scannedRows.ts";
import { threadName } from "../scale/threadNames.ts";

/** What one page of each listing looked at, by the listing's name. */
export type ScanResult = Record<string, Scanned>;

/** Asks for a page of each listing, and watches the plans of all statements. */
export async function job({ url, schema }: Place): Promise<ScanResult> {
  const pool = new WatchedPool(url);
  await pool.open();
  const saver = new PostgresSaver(postgres({ pool, schema }));
  const result: ScanResult = {};
  for (const { name, page } of await listings(saver, threadName(7))) result[name] = await pool.during(page);
  await pool.close();
  return result;
}
