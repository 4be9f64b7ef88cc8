import { StratigraphError } from "@stratigraph/core";

/** What an S3 answer means to a tier. */
export type Verdict = "absent" | "unchanged" | "refused" | "passing" | "final";

const systemErrors: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ECONNABORTED",
]);
const passingNames: ReadonlySet<string> = new Set([
  "AbortError",
  "TimeoutError",
  "NetworkingError",
  "RequestTimeout",
  "RequestTimeoutException",
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "TooManyRequestsException",
  "InternalError",
  "ServiceUnavailable",
]);

interface AwsError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number | undefined } | undefined;
}

/** HTTP status and name of an error that the AWS SDK threw. */
function partsOf(error: unknown): { status: number | undefined; name: string; code: string } {
  const { name, code, $metadata } = (typeof error === "object" && error !== null ? error : {}) as AwsError;
  return { status: $metadata?.httpStatusCode, name: String(name ?? ""), code: String(code ?? "") };
}

/** 412 and 409 both mean that a condition doesn't hold: AWS says 409 where two conditional writes meet. */
export function verdictOf(error: unknown): Verdict {
  const { status, name, code } = partsOf(error);
  if (name === "NoSuchBucket") return "final";
  if (status === 404 || name === "NoSuchKey") return "absent";
  if (status === 304) return "unchanged";
  if (status === 412 || status === 409) return "refused";
  if (status !== undefined && (status >= 500 || status === 429 || status === 408)) return "passing";
  return passingNames.has(name) || systemErrors.has(code) || systemErrors.has(name) ? "passing" : "final";
}

/** The error to throw, saying what to do. */
export function explained(error: unknown, bucket: string, attempts: number): StratigraphError {
  const { status, name, code } = partsOf(error);
  const data = { bucket, status, name };
  const message = error instanceof Error ? error.message : String(error);
  const why = [name, code, message]
    .filter((part, n, all) => part !== "" && all.indexOf(part) === n)
    .join(", ");
  if (verdictOf(error) === "passing") {
    return new StratigraphError(
      "ARCHIVE_UNAVAILABLE",
      `S3 bucket ${bucket} gave no answer in ${attempts} attempts (${why}). The call may be repeated later.`,
      { ...data, attempts },
      error,
    );
  }
  if (name === "NoSuchBucket") {
    const advice = `S3 bucket ${bucket} doesn't exist. Create it, or correct the options bucket, region and endpoint.`;
    return new StratigraphError("NOT_SET_UP", advice, data, error);
  }
  if (name === "InvalidObjectState") {
    return new StratigraphError(
      "ARCHIVE_UNAVAILABLE",
      `An object of S3 bucket ${bucket} is in a storage class that has to be restored before it is read (Glacier). Restore it ` +
        `with S3's RestoreObject, then repeat the call; use the class GLACIER_IR to read at once.`,
      data,
      error,
    );
  }
  const denied = status === 401 || status === 403 || name.startsWith("Credentials");
  return new StratigraphError(
    "NOT_SET_UP",
    denied
      ? `S3 bucket ${bucket} refused access (${why}). Check the credentials, and that they may get, put, list and delete objects here.`
      : `S3 bucket ${bucket} refused a request (${why}). Check the options of the S3 client: region, endpoint, path style, encryption.`,
    data,
    error,
  );
}
