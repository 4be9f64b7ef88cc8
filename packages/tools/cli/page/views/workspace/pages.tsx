import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../design/Button.tsx";

/** How many rows are shown at first, and at most. */
const [firstPage, longestPage] = [100, 1000];

/** How many rows are asked for, and the button that asks for more of them. */
export function useLimit(): { readonly limit: number; more(cursor: string | undefined): VNode | null } {
  const [limit, setLimit] = useState(firstPage);
  return {
    limit,
    more: (cursor) =>
      cursor === undefined ? null : limit >= longestPage ? (
        <p class="faint">The first {longestPage} are shown. The command line shows all.</p>
      ) : (
        <div class="actions">
          <Button icon="down" onClick={() => setLimit(Math.min(longestPage, limit * 3))}>
            Show more
          </Button>
        </div>
      ),
  };
}
