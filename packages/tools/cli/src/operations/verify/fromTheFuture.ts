import type { OwnerView } from "./ownerView.ts";
import type { Suspicion } from "./suspicion.ts";

/** Finds batches with higher numbers than anything that was ever written to the thread. */
export function* fromTheFuture({ place, scan, inspection }: OwnerView): Generator<Suspicion> {
  const { newest } = scan;
  if (newest === undefined || inspection === undefined || newest.order <= inspection.revision) return;
  const { at, order } = newest;
  yield {
    kind: "order",
    severity: "warning",
    part: "writes",
    place,
    namespace: at.namespace,
    checkpointId: at.checkpointId,
    detail: `Batch ${order} of a thread at revision ${inspection.revision}.`,
    involved: [at],
    concerns: 1,
    meaning:
      "Its pending writes have higher numbers than the thread's revision, which went back: newer writes may be taken for older ones.",
  };
}
