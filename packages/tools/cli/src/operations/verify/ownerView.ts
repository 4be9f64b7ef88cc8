import type { ThreadInspection } from "@stratigraph/core/tier";
import type { Place } from "./places.ts";
import type { ThreadScan } from "./threadScan.ts";

/** What an owning tier holds of a thread. */
export interface OwnerView {
  readonly place: Place;
  readonly scan: ThreadScan;
  readonly inspection: ThreadInspection | undefined;
  /** Whether the thread has no head yet: it is being copied here, or a copy was interrupted. */
  readonly unfinished: boolean;
}
