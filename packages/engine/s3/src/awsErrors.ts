import { StratigraphError, type ErrorCode } from "@stratigraph/core";

/** What an error of S3 means. "passing" errors may go away, so the request is repeated; "final" ones don't. */
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
const deniedNames: ReadonlySet<string> = new Set([
  "AccessDenied",
  "ExpiredToken",
  "InvalidAccessKeyId",
  "InvalidToken",
  "SignatureDoesNotMatch",
]);
const fullNames: ReadonlySet<string> = new Set(["QuotaExceeded", "XMinioStorageFull"]);
/** 501 Not Implemented and 507 Insufficient Storage: server errors that don't go away by themselves. */
const finalStatuses: ReadonlySet<number> = new Set([501, 507]);

/** The kind of request, for messages. */
export type Operation = "get" | "put" | "list" | "delete";

/** Which request failed. */
export interface Failed {
  readonly bucket: string;
  readonly operation: Operation;
  /** How many requests were made. */
  readonly attempts: number;
}

interface AwsError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number } | undefined;
}

interface Parts {
  readonly status: number | undefined;
  readonly name: string;
  readonly code: string;
}

/** HTTP status and name of an error that the AWS SDK threw. */
function partsOf(error: unknown): Parts {
  const { name, code, $metadata } = Object(error) as AwsError;
  return { status: $metadata?.httpStatusCode, name: String(name ?? ""), code: String(code ?? "") };
}

/** How many requests the client made before it threw this error. A client that retries says so in the error; the default is 1. */
export function attemptsOf(error: unknown): number {
  return (Object(error) as AwsError).$metadata?.attempts ?? 1;
}

/** Classifies an error. 412 and 409 both mean that a condition doesn't hold: AWS answers 409 if two conditional writes collide. */
export function verdictOf(error: unknown): Verdict {
  const { status, name, code } = partsOf(error);
  if (name === "NoSuchBucket" || fullNames.has(name)) return "final";
  if (status === 404 || name === "NoSuchKey") return "absent";
  if (status === 304) return "unchanged";
  if (status === 412 || status === 409) return "refused";
  if (status !== undefined && finalStatuses.has(status)) return "final";
  if (status !== undefined && (status >= 500 || status === 429 || status === 408)) return "passing";
  return passingNames.has(name) || systemErrors.has(code) || systemErrors.has(name) ? "passing" : "final";
}

/** Turns an error of the AWS SDK into one that says what to do. */
export function explainAwsError(error: unknown, failed: Failed): StratigraphError {
  if (StratigraphError.is(error)) return error;
  const parts = partsOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const why = [parts.name, parts.code, message]
    .filter((part, n, all) => part !== "" && all.indexOf(part) === n)
    .join(", ");
  const [code, sentence] =
    verdictOf(error) === "passing"
      ? passing(failed, why)
      : final(parts, failed, `S3 bucket ${failed.bucket} refused to ${failed.operation} objects (${why})`);
  const data = { tier: "s3", ...failed, status: parts.status, name: parts.name };
  return new StratigraphError(code, sentence, data, error);
}

function passing({ bucket, attempts }: Failed, why: string): [ErrorCode, string] {
  return [
    "ARCHIVE_UNAVAILABLE",
    `S3 bucket ${bucket} gave no answer in ${attempts} attempts (${why}). The call may be repeated later.`,
  ];
}

function final({ status, name }: Parts, { bucket }: Failed, refused: string): [ErrorCode, string] {
  if (name === "NoSuchBucket")
    return [
      "NOT_SET_UP",
      `S3 bucket ${bucket} doesn't exist. Create it, or correct the options bucket, region and endpoint.`,
    ];
  if (name === "InvalidObjectState")
    return [
      "ARCHIVE_UNAVAILABLE",
      `An object of S3 bucket ${bucket} is in a storage class that has to be restored before it is read (Glacier). Restore it ` +
        `with S3's RestoreObject, then repeat the call; use the class GLACIER_IR to read at once.`,
    ];
  if (status === 507 || fullNames.has(name))
    return ["STORAGE_FULL", `${refused}. Free space or raise the quota, then repeat the call.`];
  if (status === 401 || status === 403 || name.startsWith("Credentials") || deniedNames.has(name))
    return [
      "ACCESS_DENIED",
      `${refused}. Check the credentials, and that they may get, put, list and delete objects under the prefix.`,
    ];
  return [
    "MISCONFIGURED",
    `${refused}. Check the options of the S3 client: region, endpoint, path style, encryption.`,
  ];
}
