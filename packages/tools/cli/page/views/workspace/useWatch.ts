import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, returns } from "../../api/client.ts";

/** Calls a function after each change of a workspace, while the tab is seen: a browser opens few connections to a server. */
export function useWatch(workspace: string, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const look = () => setHidden(document.hidden);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  const back = returns.value;
  const cursor = useRef<{ readonly workspace: string; readonly at: string } | undefined>(undefined);
  useEffect(() => {
    if (hidden) return undefined;
    const ended = new AbortController();
    void (async () => {
      while (!ended.signal.aborted) {
        const known = cursor.current?.workspace === workspace ? { cursor: cursor.current.at } : {};
        try {
          const page = await call("workspace-watch", { workspace, ...known }, { signal: ended.signal });
          cursor.current = { workspace, at: page.cursor };
          if (page.items.length > 0) latest.current();
        } catch (thrown) {
          // It was deleted, or trimmed beyond what was seen here: the view tells which, and waits for what comes now.
          if (!(thrown instanceof ApiError) || thrown.code !== "VERSION_GONE") throw thrown;
          cursor.current = undefined;
          latest.current();
        }
      }
      // An outage is told by the page's frame, and ends with `returns`. Any other error is told by what the view loads.
    })().catch(() => (cursor.current = undefined));
    return () => ended.abort();
  }, [workspace, hidden, back]);
}
