import type { ThreadInspection } from "@stratigraph/core/tier";
import type { Place } from "./places.ts";
import type { ThreadScan } from "./threadScan.ts";

/** What a tier that owns a part of a thread has of it. */
export interface OwnerView {
  readonly place: Place;
  readonly scan: ThreadScan;
  readonly inspection: ThreadInspection | undefined;
}
