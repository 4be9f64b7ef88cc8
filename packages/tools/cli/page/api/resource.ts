import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, returns } from "./client.ts";

export interface Resource<T> {
  /** The data that was loaded last. It stays while newer data is loading. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** Whether `data` belongs to an earlier key. */
  readonly stale: boolean;
  reload(): void;
}

interface Held<T> {
  readonly key: string | undefined;
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
}

/**
 * Loads something, and loads it again when the key changes or a lost connection is back. A request under way is cancelled when the
 * key changes or the component is removed.
 * @param key identifies what is loaded; undefined: nothing is loaded for now
 */
export function useResource<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
): Resource<T> {
  const [held, setHeld] = useState<Held<T>>({ key: undefined, data: undefined, error: undefined });
  const [loading, setLoading] = useState(key !== undefined);
  const [asked, setAsked] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const back = returns.value;
  useEffect(() => {
    if (key === undefined) return undefined;
    const controller = new AbortController();
    setLoading(true);
    void (async () => {
      try {
        const data = await latest.current(controller.signal);
        if (controller.signal.aborted) return;
        setHeld({ key, data, error: undefined });
      } catch (thrown) {
        if (controller.signal.aborted) return;
        const error = errorFrom(thrown);
        // The loaded data stays on the page while the server can't be reached.
        setHeld((before) => ({ key, data: before.key === key ? before.data : undefined, error }));
      }
      setLoading(false);
    })();
    return () => controller.abort();
  }, [key, asked, back]);
  const reload = useCallback(() => setAsked((n) => n + 1), []);
  const stale = held.key !== key;
  return { data: held.data, error: stale ? undefined : held.error, loading: loading || stale, stale, reload };
}

/** Makes an error that can be shown from anything that was thrown. */
export function errorFrom(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(0, "PAGE", thrown instanceof Error ? thrown.message : String(thrown));
}
