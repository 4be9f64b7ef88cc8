import { FullPoolError, NoAnswerError } from "./timeouts.ts";

// Which kind of failure an error of a driver is.

/** SQLSTATE of a server, a database or a role that has as many connections as it may have. */
const fullState = "53300";
/** SQLSTATEs of a server that is shutting down, starting, or has too many connections: the same statement may succeed later. */
const away: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03", "57P05", fullState]);
/** SQLSTATEs of a statement that lost to a concurrent one. */
const lockStates: ReadonlySet<string> = new Set(["40001", "40P01", "55P03"]);
/** SQLSTATE of a server that takes no writes. */
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
const transientMessages =
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

/** The SQLSTATE of an error that PostgreSQL sent; undefined for errors of the driver or the system. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  // Error codes of the system, such as EPIPE, begin with an E.
  return code !== undefined && /^[0-9FHPSX][0-9A-Z]{4}$/.test(code) ? code : undefined;
}

/** No answer came in time: the server may be slow or unreachable. */
export function isTimeout(error: unknown): boolean {
  return error instanceof NoAnswerError || error instanceof FullPoolError || says(error, timeoutMessages);
}

/** A pool gave no connection in time: all were in use, or being opened. */
export function isNoFreeConnection(error: unknown): boolean {
  return says(error, /timeout exceeded when trying to connect/i);
}

/** A concurrent statement held a lock for longer than the lock timeout, or won a deadlock or serialization conflict. */
export function isLockFailure(error: unknown): boolean {
  return lockStates.has(sqlStateOf(error) ?? "");
}

/** The server takes no writes: it is a standby, perhaps one that was the primary a moment ago. */
export function isReadOnly(error: unknown): boolean {
  return sqlStateOf(error) === readOnlyState;
}

/** The server refused one more connection. */
export function isRefusedConnection(error: unknown): boolean {
  return sqlStateOf(error) === fullState;
}

/** A host name isn't known, and no server of that name ever answered: more likely a wrong name than an outage. */
export class UnknownHostError extends Error {
  constructor(cause: unknown) {
    super(textOf(cause), { cause });
    this.name = "UnknownHostError";
  }
}

/** Whether a host name couldn't be resolved. */
export function isHostLookupFailure(error: unknown): boolean {
  return codeOf(error) === "ENOTFOUND";
}

/** Whether the connection broke or couldn't be made. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  // ENOENT from "open" is a missing certificate file. ENOENT from connecting is a server whose socket isn't there at present.
  if (says(error, /ENOENT.*, open /)) return false;
  const code = codeOf(error) ?? "";
  return (
    systemErrors.has(code) ||
    away.has(code) ||
    error instanceof UnknownHostError ||
    sqlStateOf(error)?.startsWith("08") === true ||
    isTimeout(error) ||
    says(error, transientMessages)
  );
}

/** Whether repeating the statement, perhaps on another connection, may help. */
export function isTransient(error: unknown): boolean {
  return isConnectionFailure(error) || isLockFailure(error) || isReadOnly(error);
}

/** Whether the pool was ended by its owner. */
export function isClosedPool(error: unknown): boolean {
  return says(error, /after calling end on the pool/i);
}

/** The message of an error, or its code or name if it has none. */
export function textOf(error: unknown): string {
  if (error instanceof Error && error.message !== "") return error.message;
  return codeOf(error) ?? (error instanceof Error ? error.name : String(error));
}
