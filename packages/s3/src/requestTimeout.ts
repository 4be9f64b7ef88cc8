import { answerWithin } from "@stratigraph/core";

/** Makes a request for a bounded time, whether or not the client listens to the signal. */
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
