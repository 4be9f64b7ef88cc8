import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, returns } from "../../api/client.ts";

/** A pause after each change, in milliseconds: what is loaded because of it comes before the next one ends the loading. */
const pauseMs = 500;

/**
 * Calls a function once it is known what to follow, and after each change of a workspace from then on, so that what it loads misses
 * nothing. Only while the tab is seen: a browser opens few connections to a server.
 */
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
  const followed = useRef<{ readonly workspace: string; readonly since: number } | undefined>(undefined);
  useEffect(() => {
    if (hidden) return undefined;
    const ended = new AbortController();
    const { signal } = ended;
    void (async () => {
      while (!signal.aborted) {
        if (followed.current?.workspace !== workspace) {
          followed.current = { workspace, since: await versionOf(workspace, signal) };
          latest.current();
        }
        const { since } = followed.current;
        try {
          const page = await call("workspace-watch", { workspace, since, maxBytes: 1000 }, { signal });
          followed.current = { workspace, since: page.version };
          if (page.items.length > 0) latest.current();
        } catch (thrown) {
          // It was deleted, or trimmed beyond what was seen here: what is loaded tells which.
          if (!(thrown instanceof ApiError) || thrown.code !== "VERSION_GONE") throw thrown;
          followed.current = undefined;
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      // An outage is told by the page's frame, and ends with `returns`. Any other error is told by what the view loads.
    })().catch(() => {
      if (!signal.aborted) followed.current = undefined;
    });
    return () => ended.abort();
  }, [workspace, hidden, back]);
}

/** The version of the newest change; 0 if there is none yet. */
async function versionOf(workspace: string, signal: AbortSignal): Promise<number> {
  try {
    return (await call("workspace-log", { workspace, limit: 1, maxBytes: 1000 }, { signal })).version;
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === "NOT_FOUND") return 0;
    throw thrown;
  }
}
