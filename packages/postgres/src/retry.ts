import { StratigraphError, trace } from "@stratigraph/core";

/** First pause after a failure, and the longest, in milliseconds. */
const firstPauseMs = 25;
const longestPauseMs = 1000;

/**
 * SQLSTATEs after which the same statement may succeed: the server is going down or coming up, the connection
 * broke, too many connections, or the statement lost to a concurrent one.
 */
const passing: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03", "53300", "40001", "40P01", "55P03"]);
const passingClasses: ReadonlySet<string> = new Set(["08"]);
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
  /connection terminated|connection ended|client has encountered a connection error|timeout exceeded when trying to connect|server closed the connection|not queryable|query_wait_timeout|server_login_retry|pgbouncer/i;

function codeOf(error: unknown): string | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Whether repeating the statement on another connection may help. */
export function isPassing(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isPassing);
  const code = codeOf(error);
  if (
    code !== undefined &&
    (passing.has(code) || passingClasses.has(code.slice(0, 2)) || systemErrors.has(code))
  )
    return true;
  return error instanceof Error && passingMessages.test(error.message);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Repeats `work` while its failures are passing ones, for at most `forMs`. Every statement of this package may be
 * repeated: one whose acknowledgement was lost changes nothing the second time.
 * @throws StratigraphError "UNAVAILABLE" when time is up
 */
export async function retried<T>(work: () => Promise<T>, forMs: number): Promise<T> {
  const deadline = Date.now() + forMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error)) throw error;
      const wait = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
      if (Date.now() + wait > deadline) throw unavailable(error, forMs);
      trace({ type: "retry", tier: "postgres", attempt, error });
      await pause(wait);
    }
  }
}

function unavailable(error: unknown, forMs: number): StratigraphError {
  const why = error instanceof Error && error.message !== "" ? error.message : (codeOf(error) ?? "no answer");
  return new StratigraphError(
    "UNAVAILABLE",
    `PostgreSQL could not be reached for ${forMs} ms (${why}). Check that the server runs and accepts connections; the call may be repeated.`,
    { tier: "postgres", forMs },
    error,
  );
}
