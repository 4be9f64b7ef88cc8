import { StratigraphError } from "../contract/errors.ts";
import { trace } from "../contract/trace.ts";
import { sleep } from "./sleep.ts";

/** Something that is done in the background until it is stopped. */
export interface Repeated {
  /** Lets what is under way finish the thread it is at. May be called again. */
  stop(): Promise<void>;
}

/**
 * Repeats `work`, the first time after `everyMs`, and always so long after the last time ended. A failure is traced, and the
 * next time tries again; once the storage was closed there is no next time. The timer doesn't keep the process alive.
 */
export function repeated(work: (signal: AbortSignal) => Promise<unknown>, everyMs: number): Repeated {
  const ending = new AbortController();
  const { signal } = ending;
  const going = (async (): Promise<void> => {
    for (;;) {
      await sleep(everyMs, signal, { ref: false });
      if (signal.aborted) return;
      try {
        await work(signal);
      } catch (error) {
        trace({ type: "maintenance", what: "failed", data: { error } });
        if (StratigraphError.is(error, "CLOSED")) return;
      }
    }
  })();
  return {
    stop: async () => {
      ending.abort();
      await going;
    },
  };
}

/** Stops what is repeated; after `longestMs` without waiting any longer, which is traced: a tier may never answer. */
export async function stopAll(all: Iterable<Repeated>, longestMs: number): Promise<void> {
  const waiting = new AbortController();
  const stopped = Promise.all([...all].map((one) => one.stop())).finally(() => waiting.abort());
  await Promise.race([stopped, sleep(longestMs, waiting.signal)]);
  if (!waiting.signal.aborted)
    trace({ type: "maintenance", what: "left behind", data: { afterMs: longestMs } });
}
