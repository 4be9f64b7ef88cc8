import { StratigraphError } from "@stratigraph/core";
import type { LockState } from "@stratigraph/core/tier";

/** This process shuts down. `data`: threadId. */
export class DrainingError extends StratigraphError {
  /** As of HTTP 503: the same request may be sent to another instance. */
  readonly status = 503;

  /**
   * @param isUnderWay the run had begun, and is ended
   * @param cause LangGraph's `GraphDrained`, if the run ended after a step
   */
  constructor(threadId: string, isUnderWay: boolean, cause?: unknown) {
    super(
      "DRAINING",
      isUnderWay
        ? `The run on thread ${JSON.stringify(threadId)} was ended because this process shuts down. Start it again: it goes on after what it ` +
            `stored last.`
        : "This process is shutting down and takes no new runs. Send the request again: the load balancer gives it to another instance.",
      { threadId },
      cause,
    );
    this.name = "DrainingError";
  }
}

/** Another run works on the thread. `data`: threadId, holder, since, waitedMs. */
export class ThreadBusyError extends StratigraphError {
  /** As of HTTP 409. */
  readonly status = 409;

  /**
   * @param known who has the lock, as far as is known
   * @param waitedMs milliseconds
   */
  constructor(threadId: string, known: Pick<LockState, "holder" | "sinceMs"> | undefined, waitedMs: number) {
    const holder = known?.holder ?? "another run of this process";
    const since = known === undefined ? undefined : new Date(known.sinceMs).toISOString();
    super(
      "THREAD_BUSY",
      `Thread ${JSON.stringify(threadId)} is being worked on by ${holder}${since === undefined ? "" : ` since ${since}`}. This run waited ` +
        `for ${Math.round(waitedMs)} ms. Repeat it later, or let it wait longer (option waitFor).`,
      { threadId, holder, since, waitedMs: Math.round(waitedMs) },
    );
    this.name = "ThreadBusyError";
  }
}

/** A run had the lock of a thread, and lost it. `data`: threadId. */
export class LockLostError extends StratigraphError {
  constructor(threadId: string, why: string) {
    super(
      "LOCK_LOST",
      `The lock of thread ${JSON.stringify(threadId)} was lost: ${why}. End the run; another one may be working on the thread. What this one ` +
        `still writes is refused as a conflict if the thread went on.`,
      { threadId },
    );
    this.name = "LockLostError";
  }
}
