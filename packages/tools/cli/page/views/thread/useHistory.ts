import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, returns, type ApiError } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { errorFrom } from "../../api/resource.ts";
import { append, begin, refresh, type Loaded } from "./historyPages.ts";
import { HistoryLayout } from "./historyLayout.ts";

/** How many checkpoints the first page has, and how many the other pages. */
const first = 100;
const others = 1000;

/** The history of a thread's namespace, loaded page by page and updated live. */
export function useHistory(thread: string, namespace: string) {
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState<ApiError>();
  const held = useRef({ loaded: undefined as Loaded | undefined, busy: false });
  const controller = useRef(new AbortController());
  const show = (next: Loaded) => {
    held.current.loaded = next;
    setLoaded(next);
  };
  const load = async (limit: number, cursor?: string) => {
    const { signal } = controller.current;
    try {
      const asked = { thread, namespace, limit, ...(cursor === undefined ? {} : { cursor }) };
      const page = await call("history", asked, { signal });
      if (signal.aborted) return undefined;
      setError(undefined);
      return page;
    } catch (thrown) {
      if (!signal.aborted) setError(errorFrom(thrown));
      return undefined;
    }
  };
  const back = returns.value;
  useEffect(() => {
    controller.current.abort();
    controller.current = new AbortController();
    held.current = { loaded: undefined, busy: false };
    void (async () => {
      const page = await load(first);
      if (page !== undefined) show(begin(page));
    })();
    return () => controller.current.abort();
  }, [thread, namespace, back]);

  const more = useCallback(async () => {
    const { loaded: known, busy } = held.current;
    if (busy || known?.cursor === undefined) return;
    held.current.busy = true;
    const page = await load(others, known.cursor);
    held.current.busy = false;
    // A refresh meanwhile changes only the top, unless it changes the cursor, too.
    const now = held.current.loaded;
    if (page !== undefined && now !== undefined && now.cursor === known.cursor) show(append(now, page));
  }, [thread, namespace, back]);

  const update = async () => {
    const known = held.current.loaded;
    const page = await load(first);
    if (page === undefined) return;
    const now = held.current.loaded ?? known;
    show(now === undefined ? begin(page) : refresh(now, page));
  };
  useChanges(thread, () => void update());

  const layout = useRef<HistoryLayout>(undefined);
  layout.current ??= new HistoryLayout();
  const drawn = layout.current;
  const history = useMemo(() => (loaded === undefined ? undefined : drawn.of(loaded)), [loaded]);
  return { history, error, more, update };
}
