/** Codes of every error that Stratigraph throws; each has a section in ERRORS.md. */
export type ErrorCode =
  | "INVALID_ADDRESS"
  | "INVALID_OPTION"
  | "CHECKPOINT_CONFLICT"
  | "THREAD_DELETED"
  | "THREAD_EXISTS"
  | "STALE_READ"
  | "CORRUPT"
  | "KEY_MISSING"
  | "KEY_MISMATCH"
  | "KEY_UNAVAILABLE"
  | "PLAINTEXT_REFUSED"
  | "UNREGISTERED_TYPE"
  | "NEWER_FORMAT"
  | "SERIALIZATION"
  | "STATE_VERSION"
  | "STATE_STEP_FAILED"
  | "NOT_FOUND"
  | "NOT_WAITING"
  | "EVICTED"
  | "UNAVAILABLE"
  | "NOT_SET_UP"
  | "ACCESS_DENIED"
  | "MISCONFIGURED"
  | "DRIVER_MISSING"
  | "STORAGE_FULL"
  | "CLOSED"
  | "LOCKED"
  | "OVERLOADED"
  | "ARCHIVE_UNAVAILABLE"
  | "MERGE_CONFLICT"
  | "MERGE_REFUSED"
  | "NOT_DURABLE"
  | "AMBIGUOUS_OUTCOME"
  | "NOT_WIRED"
  | "DUPLICATE_CALL"
  | "RESULT_NOT_KEPT"
  | "CALL_DENIED"
  | "REPLAY_DIVERGED"
  | "JOURNAL_BROKEN"
  | "TRANSACTION_CONFLICT"
  | "TRANSACTION_ENDED"
  | "ROLLED_BACK"
  | "VERSION_CONFLICT"
  | "VERSION_GONE"
  | "THREAD_BUSY"
  | "LOCK_LOST"
  | "DRAINING";

/** Codes of failures that pass by themselves: the same call may succeed later without anybody changing anything. */
const retryableCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "STALE_READ",
  "KEY_UNAVAILABLE",
  "UNAVAILABLE",
  "OVERLOADED",
  "ARCHIVE_UNAVAILABLE",
  "THREAD_BUSY",
]);

/**
 * Base of every error thrown on purpose. `code` says what happened, `data` holds what a program
 * needs to act on it, the message says what a person should do.
 */
export class StratigraphError extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>>;
  /** Whether the same call may succeed later without anybody changing anything. Follows from the code alone. */
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, data: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StratigraphError";
    this.code = code;
    this.data = data;
    this.retryable = retryableCodes.has(code);
  }

  /** The object that `JSON.stringify` writes. Without this method it would lack the message. The stack and the cause are left out. */
  toJSON(): Readonly<Record<"name" | "code" | "message" | "retryable" | "data", unknown>> {
    const { name, code, message, retryable, data } = this;
    return { name, code, message, retryable, data };
  }

  /** Whether `error` is one of ours; works across copies of this package. */
  static is(error: unknown, code?: ErrorCode): error is StratigraphError {
    if (!(error instanceof Error) || !("code" in error) || !("data" in error)) return false;
    // Those of other protocols have numbers.
    return (
      typeof error.code === "string" &&
      error.name.endsWith("Error") &&
      (code === undefined || error.code === code)
    );
  }
}

/** An id, config or namespace that can't name a checkpoint. `data`: field, found. */
export class InvalidAddressError extends StratigraphError {
  constructor(field: string, found: string, advice: string) {
    super("INVALID_ADDRESS", `Invalid ${field}: found ${found}. ${advice}`, { field, found });
    this.name = "InvalidAddressError";
  }
}

/** An option or argument that can't be used. `data`: field, found. */
export class InvalidOptionError extends StratigraphError {
  constructor(field: string, found: unknown, advice: string) {
    const shown = typeof found === "string" ? JSON.stringify(found) : String(found);
    super("INVALID_OPTION", `Invalid option ${field}: found ${shown}. ${advice}`, { field, found });
    this.name = "InvalidOptionError";
  }
}

/**
 * Another writer moved the head first, or the storage was restored to an older state. `data`: threadId, namespace, checkpointId, parentId,
 * expected, and head if there is one. In the second case also seen and revision.
 */
export class CheckpointConflictError extends StratigraphError {
  /** @param message replaces the default one, which is about a put */
  constructor(
    data: {
      threadId: string;
      namespace: string;
      checkpointId: string;
      parentId?: string | undefined;
      head: string | undefined;
      expected: readonly string[];
      seen?: number | undefined;
      revision?: number;
    },
    message?: string,
  ) {
    super(
      "CHECKPOINT_CONFLICT",
      message ??
        `Thread ${JSON.stringify(data.threadId)}, namespace ${JSON.stringify(data.namespace)}: another writer moved the head to ` +
          `${data.head} while this one worked from ${data.parentId ?? "an empty thread"}. Nothing of checkpoint ${data.checkpointId} was stored. ` +
          `Read the thread again and repeat, or use conflict: "branch" to keep the losing work as a side branch.`,
      data,
    );
    this.name = "CheckpointConflictError";
  }
}

/** A late write to a thread that was deleted after the writer read it. `data`: threadId. */
export class ThreadDeletedError extends StratigraphError {
  /** @param runId given if not the thread was deleted, but what this run had stored in it */
  constructor(threadId: string, runId?: string) {
    super(
      "THREAD_DELETED",
      runId === undefined
        ? `Thread ${JSON.stringify(threadId)} was deleted while this run was under way; its late write was refused so that the thread ` +
            `stays deleted. Start a new run to begin the thread anew.`
        : `Run ${JSON.stringify(runId)} was deleted while it was under way; its late write to thread ${JSON.stringify(threadId)} was ` +
            `refused so that the run stays deleted. Start a new run to go on.`,
      { threadId, ...(runId === undefined ? {} : { runId }) },
    );
    this.name = "ThreadDeletedError";
  }
}

/**
 * Blobs were removed after the writer read the thread, or the storage was restored to an older state. The saver reads the thread again and
 * repeats the write. `data`: threadId; in the second case also revision.
 */
export class StaleReadError extends StratigraphError {
  /** @param revision the thread's present revision; given only if the writer had read a later one */
  constructor(threadId: string, revision?: number) {
    super(
      "STALE_READ",
      `Thread ${JSON.stringify(threadId)} was pruned after it was read, or its storage was set back. Read it again and repeat.`,
      { threadId, ...(revision === undefined ? {} : { revision }) },
    );
    this.name = "StaleReadError";
  }
}

/** Stored bytes that aren't what was put. `data`: threadId, namespace, checkpointId, channel. */
export class CorruptionError extends StratigraphError {
  constructor(
    where: {
      threadId: string;
      namespace: string;
      checkpointId: string;
      channel?: string | undefined;
      /** The tier that lacks the checkpoint. */
      tier?: string;
    },
    what: string,
    cause?: unknown,
    { before = "", after = "" }: { readonly before?: string; readonly after?: string } = {},
  ) {
    const channel = where.channel === undefined ? "" : `, channel ${JSON.stringify(where.channel)}`;
    super(
      "CORRUPT",
      `Thread ${JSON.stringify(where.threadId)}, namespace ${JSON.stringify(where.namespace)}, checkpoint ${where.checkpointId}${channel}: ` +
        `${what}. ${before === "" ? "The" : `${before} the`} stored bytes were damaged or tampered with; restore them from a backup or continue from an older checkpoint.${after}`,
      where,
      cause,
    );
    this.name = "CorruptionError";
  }
}

/** The error for a namespace that has checkpoints and no head. `data`: threadId, namespace. */
export function headlessError({
  threadId,
  namespace,
}: {
  readonly threadId: string;
  readonly namespace: string;
}): StratigraphError {
  return new StratigraphError(
    "CORRUPT",
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: its checkpoints are there, but the entry that names the ` +
      `newest of them, the head, is lost. Nothing was changed. "stratigraph verify" tells what is there, and how the head is set again: by ` +
      `"stratigraph repair", or from a backup.`,
    { threadId, namespace },
  );
}

/** The error for a head whose checkpoint isn't there, though nothing of the thread was archived. `data`: tier, threadId, namespace, checkpointId. */
export function lostHeadError(
  tier: string,
  at: { readonly threadId: string; readonly namespace: string; readonly checkpointId: string },
): CorruptionError {
  const what = `it is the head, and tier ${tier} doesn't have it, though nothing of the thread was archived`;
  const after = ` "stratigraph verify" shows what is lost and what can be had back; a database role that may not see all rows finds the same`;
  return new CorruptionError({ ...at, tier }, what, undefined, { after: `${after}.` });
}

/**
 * The thread was archived, and its bytes are missing: the tier dropped them, or the archive that should hold them doesn't. `data`: tier (the
 * one that lacks them), threadId, namespace, checkpointId if one was asked for; restoreOn "never" if only that keeps the thread from being continued.
 */
export class EvictedError extends StratigraphError {
  /**
   * @param owner the tier that knows the head. Pass it only if `tier` is the archive that should hold the bytes
   * @param sealed whether the bytes can be read from the archive, but not continued
   */
  constructor(
    tier: string,
    at: { threadId: string; namespace: string; checkpointId?: string | undefined },
    owner?: string,
    sealed = false,
  ) {
    const where = `Thread ${JSON.stringify(at.threadId)}, namespace ${JSON.stringify(at.namespace)}:`;
    super(
      "EVICTED",
      sealed
        ? `${where} checkpoint ${at.checkpointId} is archived, and the stack has restoreOn: "never", so it can be read, but not continued. ` +
            `Nothing was changed, and no node ran. Restore the thread first ("stratigraph restore"), or open the stack with restoreOn: ` +
            `"read" or "write".`
        : owner === undefined
          ? `${where} ${at.checkpointId === undefined ? "checkpoints are" : `checkpoint ${at.checkpointId} is`} not in tier ${tier}: the thread was archived to a cold tier. Open the thread through a ` +
            `TieredSaver that has that tier, or restore it first.`
          : `${where} tier ${owner} says that checkpoints up to ${at.checkpointId} were archived, and the archive (tier ${tier}) doesn't have ` +
            `them. It may be the wrong archive, or one that was restored from an older backup. Configure the right archive, ` +
            `or restore what was written to it after that backup. Nothing was changed.`,
      { tier, ...at, ...(sealed ? { restoreOn: "never" } : {}) },
    );
    this.name = "EvictedError";
  }
}

/** Something asked for by its id isn't there. `data` names it. */
export class NotFoundError extends StratigraphError {
  constructor(message: string, data: Record<string, unknown>) {
    super("NOT_FOUND", message, data);
    this.name = "NotFoundError";
  }
}

/** The error of a call to a tier, or a saver over it, after `end()`. `data`: tier. */
export function closedError(tier: string, cause?: unknown): StratigraphError {
  return new StratigraphError(
    "CLOSED",
    `Tier ${tier} was closed by end(). Finish runs first and end the saver last; to go on, open a new one.`,
    { tier },
    cause,
  );
}

/** The error of a copy or a fork to a thread that has checkpoints. `head`: one of them. */
export function threadExists(threadId: string, head: string): StratigraphError {
  return new StratigraphError(
    "THREAD_EXISTS",
    `Thread ${JSON.stringify(threadId)} has checkpoints already (${head}). Use a new thread id, or delete it first.`,
    { threadId },
  );
}
