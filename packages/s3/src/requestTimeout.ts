/** Makes a request for a bounded time, whether or not the client listens to the signal. */
export async function within<T>(timeoutMs: number, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new DOMException(`no answer within ${timeoutMs} ms`, "TimeoutError");
      reject(error);
      abort.abort(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([request(abort.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
