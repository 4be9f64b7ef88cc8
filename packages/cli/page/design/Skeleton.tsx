import type { VNode } from "preact";
import "./states.css";

/** Stands where rows will be. It shows only after a moment, so that fast answers don't flicker. */
export function Skeleton({ rows = 3 }: { readonly rows?: number }): VNode {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton-row" />
      ))}
    </div>
  );
}
