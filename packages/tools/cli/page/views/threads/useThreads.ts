import type { OutputOf } from "../../../src/operations/index.ts";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { call, returns, type ApiError } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { errorFrom } from "../../api/resource.ts";
import { changes, mergePages } from "./mergePages.ts";

export type ThreadItem = OutputOf<"threads">["items"][number];

/** Which threads are listed. */
export interface Asked {
  readonly search: string;
  readonly filter: readonly string[];
  readonly tag: readonly string[];
}

interface Listing {
  readonly items: readonly ThreadItem[];
  readonly cursor: string | undefined;
}

/** How many threads a page has. */
const limit = 50;

/** The list of threads, loaded page by page and updated live. */
export function useThreads({ search, filter, tag }: Asked) {
  const [listing, setListing] = useState<Listing>();
  const [error, setError] = useState<ApiError>();
  const [loading, setLoading] = useState(true);
  const [waiting, setWaiting] = useState<Listing>();
  const held = useRef<{ listing: Listing | undefined; controller: AbortController; busy: boolean }>({
    listing: undefined,
    controller: new AbortController(),
    busy: false,
  });
  const key = JSON.stringify([search, filter, tag, returns.value]);
  const show = (next: Listing) => {
    held.current.listing = next;
    setListing(next);
    setWaiting(undefined);
  };
  const load = async (cursor?: string): Promise<Listing | undefined> => {
    const { signal } = held.current.controller;
    try {
      const asked = { filter: [...filter], tag: [...tag], limit, details: true };
      const page = await call(
        "threads",
        { ...asked, search, ...(cursor === undefined ? {} : { cursor }) },
        { signal },
      );
      if (signal.aborted) return undefined;
      setError(undefined);
      return { items: page.items, cursor: page.cursor };
    } catch (thrown) {
      if (!signal.aborted) setError(errorFrom(thrown));
      return undefined;
    }
  };

  useEffect(() => {
    held.current.controller.abort();
    held.current.controller = new AbortController();
    held.current.busy = false;
    const { signal } = held.current.controller;
    setLoading(true);
    void (async () => {
      const page = await load();
      if (signal.aborted) return;
      if (page !== undefined) show(page);
      setLoading(false);
    })();
    return () => held.current.controller.abort();
  }, [key]);

  const more = useCallback(async () => {
    const { listing: known, busy } = held.current;
    if (busy || known?.cursor === undefined) return;
    held.current.busy = true;
    const page = await load(known.cursor);
    held.current.busy = false;
    const now = held.current.listing;
    if (page === undefined || now !== known) return;
    show({ items: [...known.items, ...mergeNew(page.items, known.items)], cursor: page.cursor });
  }, [key]);

  /** Whether changes are shown at once, which is only so while the top of the list is in sight. */
  const atTop = useRef<() => boolean>(() => true);
  const refresh = async () => {
    const newest = await load();
    const known = held.current.listing;
    if (newest === undefined || known === undefined || changes(newest.items, known.items) === 0) return;
    const cursor = known.items.length > newest.items.length ? known.cursor : newest.cursor;
    const merged = { items: mergePages(newest.items, known.items), cursor };
    if (atTop.current()) show(merged);
    else setWaiting(merged);
  };
  useChanges(undefined, () => void refresh());
  return {
    listing,
    error,
    loading,
    more,
    atTop,
    /** How many changed threads aren't shown yet. `showChanges` shows them. */
    changed: waiting === undefined || listing === undefined ? 0 : changes(waiting.items, listing.items),
    showChanges: () => {
      if (waiting !== undefined) show(waiting);
    },
    reload: async () => {
      const page = await load();
      if (page !== undefined) show(page);
    },
  };
}

/** Drops known threads from a page: a thread that was written to between two pages comes twice. */
function mergeNew(page: readonly ThreadItem[], known: readonly ThreadItem[]): ThreadItem[] {
  const before = new Set(known.map(({ thread }) => thread));
  return page.filter(({ thread }) => !before.has(thread));
}
