import { NoAnswerError } from "./timeouts.ts";

// What happened, by what drivers say.

/** SQLSTATEs after which the same statement may succeed: the server is going down or coming up, or has too many connections. */
const away: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03", "57P05", "53300"]);
/** The statement lost to a concurrent one. */
const lockStates: ReadonlySet<string> = new Set(["40001", "40P01", "55P03"]);
/** The server takes no writes. */
const readOnlyState = "25006";
const systemErrors: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
const passingMessages =
  /connection terminated|connection ended|client has encountered a connection error|server closed the connection|client was closed|not queryable|query_wait_timeout|server_login_retry|pgbouncer/i;
const timeoutMessages =
  /query read timeout|timeout exceeded when trying to connect|due to connection timeout|timeout expired/i;

function codeOf(error: unknown): string | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

function says(error: unknown, what: RegExp): boolean {
  return error instanceof Error && what.test(error.message);
}

/** PostgreSQL's code of an error that it sent itself. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  // Codes of the system, such as EPIPE, begin with an E.
  return code !== undefined && /^[0-9FHPSX][0-9A-Z]{4}$/.test(code) ? code : undefined;
}

/** No answer came in time: the server may be slow, or nobody hears. */
export function isTimeout(error: unknown): boolean {
  return error instanceof NoAnswerError || says(error, timeoutMessages);
}

/** Another statement had a lock that this one needs, for longer than is waited for locks. */
export function isLockFailure(error: unknown): boolean {
  return lockStates.has(sqlStateOf(error) ?? "");
}

/** The server takes no writes: a standby, perhaps one that was the primary until a moment ago. */
export function isReadOnly(error: unknown): boolean {
  return sqlStateOf(error) === readOnlyState;
}

/** The name of a host isn't known, and no server of that name ever answered: rather a wrong name than an outage. */
export class UnknownHostError extends Error {
  constructor(cause: unknown) {
    super(textOf(cause), { cause });
    this.name = "UnknownHostError";
  }
}

/** Whether the name of a host couldn't be found. */
export function isHostLookupFailure(error: unknown): boolean {
  return codeOf(error) === "ENOTFOUND";
}

/** The connection broke, or couldn't be made. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  // A certificate's file that isn't there. The same code from connecting is a server's socket that isn't there now.
  if (says(error, /ENOENT.*, open /)) return false;
  const code = codeOf(error) ?? "";
  return (
    systemErrors.has(code) ||
    away.has(code) ||
    error instanceof UnknownHostError ||
    sqlStateOf(error)?.startsWith("08") === true ||
    isTimeout(error) ||
    says(error, passingMessages)
  );
}

/** Whether repeating the statement, perhaps on another connection, may help. */
export function isPassing(error: unknown): boolean {
  return isConnectionFailure(error) || isLockFailure(error) || isReadOnly(error);
}

/** The pool was ended by whoever opened it. */
export function isClosedPool(error: unknown): boolean {
  return says(error, /after calling end on the pool/i);
}

/** What an error says, for a sentence. */
export function textOf(error: unknown): string {
  if (error instanceof Error && error.message !== "") return error.message;
  return codeOf(error) ?? (error instanceof Error ? error.name : String(error));
}
