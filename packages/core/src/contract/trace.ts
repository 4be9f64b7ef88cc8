import { channel } from "node:diagnostics_channel";

/** What happened inside a saver, for those who subscribe to the "stratigraph" diagnostics channel. */
export type TraceEvent =
  | {
      /** A statement or request ended, well or with `error`. */
      readonly type: "call";
      readonly tier: string;
      /** Its name, always the same for the same work, such as "append" or "read": a label for metrics. */
      readonly method: string;
      /** The thread it was about, where that is exactly one. */
      readonly threadId?: string | undefined;
      /** How long it took, retries included, in milliseconds. */
      readonly ms: number;
      readonly error?: unknown;
    }
  | {
      readonly type: "conflict";
      readonly threadId: string;
      readonly namespace: string;
      readonly checkpointId: string;
      readonly parentId?: string | undefined;
      readonly head: string;
      readonly outcome: "branched" | "thrown";
    }
  | {
      /** A function of the application that the saver calls threw or rejected. This changed nothing else. */
      readonly type: "hook";
      readonly hook: "onConflict";
      readonly threadId: string;
      readonly error: unknown;
    }
  | {
      readonly type: "late-write-dropped";
      readonly threadId: string;
      readonly namespace: string;
      readonly checkpointId: string;
    }
  | {
      /** A call that a journal made, gave the recorded result of, or didn't make. */
      readonly type: "tool-call";
      readonly threadId: string;
      readonly tool: string;
      readonly fingerprint: string;
      readonly toolCallId?: string | undefined;
      /**
       * "unknown": nobody knows whether it happened; "unrecorded": it ended, and its outcome couldn't be recorded; "unreconciled": the
       * function that should have found out what happened failed.
       */
      readonly outcome:
        | "ran"
        | "replayed"
        | "denied"
        | "failed"
        | "suspended"
        | "unknown"
        | "unrecorded"
        | "unreconciled";
      /** How long it ran, in milliseconds. */
      readonly ms: number;
      readonly error?: unknown;
    }
  | { readonly type: "retry"; readonly tier: string; readonly attempt: number; readonly error: unknown }
  | {
      readonly type: "breaker";
      readonly tier: string;
      readonly state: "open" | "half-open" | "closed";
      readonly error?: unknown;
    }
  | {
      /** A tier that a stack can do without couldn't be reached when the stack was opened. The stack tries it again later. */
      readonly type: "unreachable";
      readonly tier: string;
      readonly role: "hot" | "cold" | "replica";
      readonly error: unknown;
    }
  | {
      /** Work was given up, which costs time later and nothing else. At most one event a second per tier and kind. */
      readonly type: "dropped";
      readonly tier: string;
      readonly what: string;
      /** How often since the last event. */
      readonly count: number;
      readonly error?: unknown;
    }
  | {
      /** History was read from a replica, because the tier that owns it is down. The newest checkpoints may be missing. */
      readonly type: "behind";
      readonly tier: string;
      readonly method: "read" | "list";
      readonly error: unknown;
    }
  | {
      /** A thread was brought from elsewhere when it was first asked for. */
      readonly type: "brought";
      readonly threadId: string;
      readonly source: string;
      readonly checkpoints: number;
      /** Checkpoints whose values the source itself had mixed up with those of another branch. */
      readonly mixedUp: number;
    }
  | {
      /** A thread that was brought from elsewhere was written to there afterwards. What was written there isn't here. */
      readonly type: "source-went-on";
      readonly threadId: string;
      readonly source: string;
    }
  | {
      readonly type: "maintenance";
      readonly what: string;
      readonly threadId?: string | undefined;
      readonly data?: unknown;
    };

const traces = channel("stratigraph");

/** Whether anybody subscribes. Lets callers skip building an event. */
export function traced(): boolean {
  return traces.hasSubscribers;
}

/** Publishes an event on the `node:diagnostics_channel` named "stratigraph". Never throws. */
export function trace(event: TraceEvent): void {
  if (traces.hasSubscribers) traces.publish(event);
}
