import type { ThreadInspection } from "@stratigraph/core/tier";
import type { Place } from "./places.ts";
import type { ThreadScan } from "./threadScan.ts";

/** What an owning tier holds of a thread. */
export interface OwnerView {
  readonly place: Place;
  readonly scan: ThreadScan;
  readonly inspection: ThreadInspection | undefined;
}
