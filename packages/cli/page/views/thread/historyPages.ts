import type { OutputOf } from "../../../src/operations/index.ts";

type History = OutputOf<"history">;

export type HistoryItem = History["items"][number];

/** What is loaded of a history, the newest first. */
export interface Loaded {
  readonly thread: string;
  readonly items: readonly HistoryItem[];
  readonly head: string | undefined;
  readonly origin: History["origin"];
  readonly missing: readonly string[];
  readonly forksCut: boolean;
  /** Where the next page begins; undefined once all is loaded. */
  readonly cursor: string | undefined;
}

/** The first page. */
export function begin({ thread, items, lanes, origin, missing, forksCut, cursor }: History): Loaded {
  return { thread, items, head: lanes[0] ?? undefined, origin, missing, forksCut, cursor };
}

/** The history with its next page. */
export function append(loaded: Loaded, page: History): Loaded {
  return {
    ...loaded,
    items: [...loaded.items, ...page.items],
    forksCut: loaded.forksCut || page.forksCut,
    cursor: page.cursor,
  };
}

/**
 * The history with its first page taken anew: what stands on it is as it is now, what was loaded below stays. Where so much is new
 * that the page doesn't reach what was loaded, it begins anew.
 */
export function refresh(loaded: Loaded, page: History): Loaded {
  const fresh = begin(page);
  const last = page.items.at(-1)?.checkpoint;
  if (page.cursor === undefined || last === undefined) return fresh;
  if (!loaded.items.some(({ checkpoint }) => checkpoint === last)) {
    const isInside = loaded.items.some(({ checkpoint }) => checkpoint > last);
    if (!isInside) return fresh;
  }
  const below = loaded.items.filter(({ checkpoint }) => checkpoint < last);
  if (below.length === 0) return fresh;
  return { ...fresh, items: [...fresh.items, ...below], cursor: loaded.cursor };
}
