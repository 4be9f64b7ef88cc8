import type { VNode } from "preact";

/** The mark: three strata, and a fault through them. */
export function Mark(): VNode {
  return (
    <svg class="mark" width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <rect class="mark-1" x="1" y="2" width="9" height="3.5" rx="1" />
      <rect class="mark-1" x="11.5" y="4" width="5.5" height="3.5" rx="1" />
      <rect class="mark-2" x="1" y="7" width="9" height="3.5" rx="1" />
      <rect class="mark-2" x="11.5" y="9" width="5.5" height="3.5" rx="1" />
      <rect class="mark-3" x="1" y="12" width="9" height="3.5" rx="1" />
      <rect class="mark-3" x="11.5" y="14" width="5.5" height="3" rx="1" />
    </svg>
  );
}
