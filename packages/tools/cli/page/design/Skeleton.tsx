import type { VNode } from "preact";
import "./states.css";

/** A placeholder for rows that are loading. It appears only after a moment, so that the page doesn't flicker when answers are fast. */
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
