import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../../api/client.ts";
import { errorFrom } from "../../api/resource.ts";

/** Work that is only done on request. */
export interface Asked<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  ask(): void;
  stop(): void;
}

/** Does work that may take long, on request. Ends it on request, or when the component is removed. */
export function useAsked<T>(work: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [state, setState] = useState<{ data?: T; error?: ApiError; busy: boolean }>({ busy: false });
  const running = useRef<AbortController>(undefined);
  const stop = () => {
    running.current?.abort();
    running.current = undefined;
    setState((before) => ({ ...before, busy: false }));
  };
  useEffect(() => () => running.current?.abort(), []);
  const ask = () => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setState((before) => ({ ...before, busy: true }));
    work(own.signal).then(
      (data) => own.signal.aborted || setState({ data, busy: false }),
      (thrown: unknown) => own.signal.aborted || setState({ error: errorFrom(thrown), busy: false }),
    );
  };
  return { data: state.data, error: state.error, busy: state.busy, ask, stop };
}
