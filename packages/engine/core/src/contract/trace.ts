import { channel } from "node:diagnostics_channel";

/** What happened inside a saver, for those who subscribe to the "stratigraph" diagnostics channel. */
export type TraceEvent =
  | {
      /** A method of a saver was called. An "operation" event with the same `id` follows. */
      readonly type: "operation-start";
      readonly id: number;
      /** The saver's method, such as "put" or "getTuple": a label for metrics. */
      readonly method: string;
      /** As the caller named it, if it named exactly one; nothing is checked yet. */
      readonly threadId?: string | undefined;
      readonly namespace?: string | undefined;
    }
  | {
      /** A method of a saver ended, well or with `error`. */
      readonly type: "operation";
      readonly id: number;
      readonly method: string;
      readonly threadId?: string | undefined;
      readonly namespace?: string | undefined;
      readonly checkpointId?: string | undefined;
      /**
       * "ok"; "branched": stored as a side branch, because another writer was faster; "conflict": refused for that reason; "none": there
       * was nothing to read; "dropped": a late write to a deleted thread, given up; "failed": any other error.
       */
      readonly outcome: "ok" | "branched" | "conflict" | "none" | "dropped" | "failed";
      /** How long it took, in milliseconds. Time that the consumer of a listing took isn't counted. */
      readonly ms: number;
      /** Number of the step, of a put. */
      readonly step?: number | undefined;
      /** Encoded bytes that were handed to the tier, or came from it: 0 for a read that was served from this process's memory. */
      readonly bytes?: number | undefined;
      /** Where the values of a getTuple came from: this process's memory, or the tier. */
      readonly from?: "memory" | "tier" | undefined;
      readonly error?: unknown;
    }
  | {
      /** A statement or request begins. A "call" event with the same `id` follows. */
      readonly type: "call-start";
      readonly id: number;
      readonly tier: string;
      readonly method: string;
      readonly threadId?: string | undefined;
      /** How many requests share it, if more than one. */
      readonly batch?: number | undefined;
    }
  | {
      /** A statement or request ended, well or with `error`. */
      readonly type: "call";
      readonly id: number;
      readonly tier: string;
      /** Its name, always the same for the same work, such as "append" or "read": a label for metrics. */
      readonly method: string;
      /** The thread it was about, if exactly one. */
      readonly threadId?: string | undefined;
      /** How many requests shared it, if more than one. */
      readonly batch?: number | undefined;
      /** How long it took, retries included, in milliseconds. */
      readonly ms: number;
      /** Bytes of ids and contents that were sent and received, without what the protocol adds. Absent if there were none. */
      readonly sent?: number | undefined;
      readonly received?: number | undefined;
      readonly error?: unknown;
    }
  | {
      /**
       * A hot tier of a stack was asked for the bytes of a checkpoint. "skipped": it wasn't asked, because its breaker is open or it
       * failed.
       */
      readonly type: "hot-read";
      readonly tier: string;
      readonly threadId: string;
      readonly result: "hit" | "miss" | "skipped";
    }
  | {
      /**
       * A cache of nodes and tasks was asked for values. "hit", "miss"; "waited": another computed it meanwhile. Or it couldn't do its work,
       * which costs time and nothing else. "failed": the tier didn't answer, and isn't asked for a while; "unreadable": a stored value can't
       * be decoded, so it counts as missing; "unstored": a value wasn't stored, as it can't be, is too large, or the cache was cleared
       * while it was computed.
       */
      readonly type: "cache";
      readonly tier: string;
      readonly result: "hit" | "miss" | "waited" | "failed" | "unreadable" | "unstored";
      /** Of how many values. */
      readonly count: number;
      readonly error?: unknown;
    }
  | {
      /** The queue of copies to a hot tier has changed. */
      readonly type: "copy-queue";
      readonly tier: string;
      readonly waiting: number;
      /** What they hold in memory. */
      readonly bytes: number;
    }
  | {
      readonly type: "conflict";
      readonly threadId: string;
      readonly namespace: string;
      readonly checkpointId: string;
      readonly parentId?: string | undefined;
      readonly head?: string | undefined;
      readonly outcome: "branched" | "thrown";
    }
  | {
      /** A function of the application that the saver calls threw or rejected. This changed nothing else. */
      readonly type: "hook";
      readonly hook: "onConflict" | "tracer" | "metrics" | "log" | "journal";
      readonly threadId?: string | undefined;
      readonly error: unknown;
    }
  | {
      readonly type: "late-write-dropped";
      readonly threadId: string;
      readonly namespace: string;
      readonly checkpointId: string;
    }
  | {
      /** A call that a journal made, answered with the recorded result, or didn't make. */
      readonly type: "tool-call";
      readonly threadId: string;
      readonly tool: string;
      readonly fingerprint: string;
      readonly toolCallId?: string | undefined;
      /**
       * "unknown": nobody knows whether it happened, or, with `notKept`, what it returned; "unrecorded": it ended, and its outcome couldn't be recorded; "unreconciled": the
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
      /** Why the result of a call that ran can't be kept, with the path of what can't be: after a crash, a person is asked for it. */
      readonly notKept?: string | undefined;
    }
  | {
      /** A tier didn't answer, and is asked again. */
      readonly type: "retry";
      readonly tier: string;
      readonly attempt: number;
      /** For how long from the first attempt it is asked again at most, in milliseconds. */
      readonly forMs: number;
      readonly error: unknown;
    }
  | {
      readonly type: "breaker";
      readonly tier: string;
      /** Which of the tier's calls it is for: a hot tier has one breaker for reads and one for copies. */
      readonly use: "calls" | "reads" | "writes";
      readonly state: "open" | "half-open" | "closed";
      readonly error?: unknown;
    }
  | {
      /**
       * A tier that a stack can do without, or one of the databases that threads are spread over ("warm"), couldn't be reached when the
       * stack was opened. It is tried again later.
       */
      readonly type: "unreachable";
      readonly tier: string;
      readonly role: "hot" | "warm" | "cold" | "replica";
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
      /** A thread that was brought from elsewhere was changed there afterwards. The change isn't here. */
      readonly type: "source-went-on";
      readonly threadId: string;
      readonly source: string;
    }
  | {
      /** The operation `stats` counted what a storage holds. */
      readonly type: "stored";
      readonly threads: number;
      /** Bytes by tier; projected if only some threads were measured. */
      readonly tiers: readonly { readonly tier: string; readonly bytes: number }[];
    }
  | {
      /** The operation `verify` ended. */
      readonly type: "verified";
      /** Whether it checked everything that it was asked to check. */
      readonly complete: boolean;
      readonly findings: { readonly error: number; readonly warning: number; readonly info: number };
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
