/** A signal that fires when one of two does. */
export interface EitherSignal {
  readonly signal: AbortSignal;
  /** Stops listening to the two. May be called again. */
  release(): void;
}

/**
 * As `AbortSignal.any`, for a signal that is handed to others. Node keeps a signal that `any` made for as long as somebody listens to it,
 * and LangGraph doesn't stop listening when a run ends, so that each run would stay in memory.
 */
export function eitherSignal(first: AbortSignal, second: AbortSignal | undefined): EitherSignal {
  if (second === undefined) return { signal: first, release: () => undefined };
  const controller = new AbortController();
  const both = [first, second];
  const fire = (): void => {
    const fired = both.find(({ aborted }) => aborted);
    if (fired !== undefined) controller.abort(fired.reason);
  };
  for (const signal of both) signal.addEventListener("abort", fire);
  fire();
  return {
    signal: controller.signal,
    release: () => {
      for (const signal of both) signal.removeEventListener("abort", fire);
    },
  };
}

/** A signal that fires after a time, in milliseconds, or when another one does. Releasing it ends the time, too. */
export function signalWithin(ms: number, other: AbortSignal | undefined): EitherSignal {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), ms);
  const { signal, release } = eitherSignal(waiting.signal, other);
  return {
    signal,
    release: () => {
      clearTimeout(timer);
      release();
    },
  };
}
