import { SerializationError, StratigraphError, type ErrorCode } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";

/** Where each error code is explained. */
const errorsPage = "https://github.com/stratigraph/stratigraph/blob/main/packages/engine/core/ERRORS.md";

/** HTTP statuses of all error codes: a new one has to be decided on. */
const statuses: Readonly<Record<ErrorCode, number>> = {
  INVALID_ADDRESS: 400,
  INVALID_OPTION: 400,
  UNREGISTERED_TYPE: 400,
  ACCESS_DENIED: 403,
  CALL_DENIED: 403,
  NOT_FOUND: 404,
  THREAD_DELETED: 404,
  CHECKPOINT_CONFLICT: 409,
  LOCKED: 409,
  MERGE_CONFLICT: 409,
  MERGE_REFUSED: 409,
  MISCONFIGURED: 409,
  NOT_WAITING: 409,
  STALE_READ: 409,
  STATE_VERSION: 409,
  THREAD_BUSY: 409,
  THREAD_EXISTS: 409,
  TRANSACTION_CONFLICT: 409,
  VERSION_CONFLICT: 409,
  VERSION_GONE: 410,
  AMBIGUOUS_OUTCOME: 500,
  CORRUPT: 500,
  DRIVER_MISSING: 500,
  DUPLICATE_CALL: 500,
  EVICTED: 500,
  JOURNAL_BROKEN: 500,
  KEY_MISMATCH: 500,
  KEY_MISSING: 500,
  LOCK_LOST: 500,
  NEWER_FORMAT: 500,
  NOT_DURABLE: 500,
  NOT_SET_UP: 500,
  NOT_WIRED: 500,
  PLAINTEXT_REFUSED: 500,
  REPLAY_DIVERGED: 500,
  RESULT_NOT_KEPT: 500,
  ROLLED_BACK: 500,
  SERIALIZATION: 500,
  STATE_STEP_FAILED: 500,
  TRANSACTION_ENDED: 500,
  ARCHIVE_UNAVAILABLE: 503,
  CLOSED: 503,
  DRAINING: 503,
  KEY_UNAVAILABLE: 503,
  OVERLOADED: 503,
  UNAVAILABLE: 503,
  STORAGE_FULL: 507,
};

/** An error with its own HTTP status. */
export class HttpError extends Error {
  readonly status: number;
  readonly error: StratigraphError;

  constructor(status: number, error: StratigraphError) {
    super(error.message, { cause: error });
    this.name = "HttpError";
    this.status = status;
    this.error = error;
  }
}

/** An error as the API returns it: without its stack, and without data except the names of fields. */
export interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** Fields of the input that were wrong, and what was expected there. */
    readonly fields?: readonly { readonly path: string; readonly expected: string }[];
    /** Where the code is explained. */
    readonly help?: string;
  };
}

/**
 * The status and body that answer an error.
 * @param hidesTexts whether to hide messages of errors that aren't ours, such as those that graphs throw: they may repeat redacted values
 */
export function answerTo(
  error: unknown,
  hidesTexts: boolean,
): { readonly status: number; readonly body: ErrorBody } {
  if (error instanceof HttpError) return { status: error.status, body: bodyOf(error.error) };
  // An error of another version of core may have a code that this version doesn't know.
  if (StratigraphError.is(error)) return { status: statuses[error.code] ?? 500, body: bodyOf(error) };
  // It is about a value in the request: reading a stored value throws another error.
  if (SerializationError.is(error))
    return { status: 400, body: bodyOf(new StratigraphError("SERIALIZATION", error.message)) };
  const message = messageOf(error);
  const told = hidesTexts
    ? "Something failed. Its message is hidden: it may repeat redacted values."
    : message;
  return { status: 500, body: { error: { code: "INTERNAL", message: told } } };
}

function bodyOf({ code, message, data }: StratigraphError): ErrorBody {
  const fields = fieldsOf(data, message);
  const help = `${errorsPage}#${code.toLowerCase()}`;
  return { error: { code, message, ...(fields === undefined ? {} : { fields }), help } };
}

function fieldsOf({ issues, field }: StratigraphError["data"], message: string) {
  if (Array.isArray(issues)) return issues as NonNullable<ErrorBody["error"]["fields"]>;
  return typeof field === "string" ? [{ path: field, expected: message }] : undefined;
}
