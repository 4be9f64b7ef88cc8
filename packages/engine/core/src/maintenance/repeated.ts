import { endsWithin } from "../contract/answerWithin.ts";
import { StratigraphError } from "../contract/errors.ts";
import { trace } from "../contract/trace.ts";
import { sleep } from "./sleep.ts";

/** Something that is done in the background until it is stopped. */
export interface Repeated {
  /** Stops after the thread under way; resolves then. May be called again. */
  stop(): Promise<void>;
}

/**
 * Runs `work` again and again, each time `everyMs` after the last run ended, and the first time after `everyMs`. A failure is
 * traced, and the next run tries again, unless the storage was closed. The timer doesn't keep the process alive.
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

/** Stops all of them. Waits for at most `longestMs`, because a tier may never answer; traces if something was left behind. */
export async function stopAll(all: Iterable<Repeated>, longestMs: number): Promise<void> {
  const stopped = () => Promise.all([...all].map((one) => one.stop()));
  if (!(await endsWithin(longestMs, stopped)))
    trace({ type: "maintenance", what: "left behind", data: { afterMs: longestMs } });
}
