/**
 * Waits for a promise, but not longer than a time limit, and not after a signal was aborted. What was waited for goes on.
 * @param ms the limit, in milliseconds
 * @throws Error "it took longer than … ms"; the signal's reason
 */
export async function within<T>(waited: Promise<T>, ms: number, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  try {
    return await Promise.race([
      waited,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`it took longer than ${ms} ms`)), ms);
        stop = () => reject(signal?.reason as Error);
        signal?.addEventListener("abort", stop, { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal?.removeEventListener("abort", stop);
  }
}
