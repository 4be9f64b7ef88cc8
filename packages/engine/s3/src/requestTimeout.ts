import { answerWithin } from "@stratigraph/core/internal";

/** Makes a request with a time limit, which holds even if the client ignores the signal. */
export async function within<T>(timeoutMs: number, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  return await answerWithin(
    timeoutMs,
    () => request(abort.signal),
    () => {
      const error = new DOMException(`no answer within ${timeoutMs} ms`, "TimeoutError");
      abort.abort(error);
      return error;
    },
  );
}
