import type { OutputOf } from "../../../src/operations/index.ts";

type History = OutputOf<"history">;

export type HistoryItem = History["items"][number];

/** The loaded part of a history, newest first. */
export interface Loaded {
  readonly thread: string;
  readonly items: readonly HistoryItem[];
  readonly head: string | undefined;
  readonly origin: History["origin"];
  readonly missing: readonly string[];
  readonly forksCut: boolean;
  /** Where the next page begins; undefined if everything is loaded. */
  readonly cursor: string | undefined;
}

/** The first page. */
export function begin({ thread, items, lanes, origin, missing, forksCut, cursor }: History): Loaded {
  return { thread, items, head: lanes[0] ?? undefined, origin, missing, forksCut, cursor };
}

/** The history with the next page added. */
export function append(loaded: Loaded, page: History): Loaded {
  return {
    ...loaded,
    items: [...loaded.items, ...page.items],
    forksCut: loaded.forksCut || page.forksCut,
    cursor: page.cursor,
  };
}

/**
 * The history with its first page replaced by a newer one. The items below that page stay. If the page doesn't reach the loaded items,
 * because so many are new, only the page is kept.
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
