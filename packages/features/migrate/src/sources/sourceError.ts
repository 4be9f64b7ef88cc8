import { SerializationError, StratigraphError, type ErrorCode } from "@stratigraph/core";

type Advice = readonly [code: ErrorCode, sentence: string];

/** Advice by SQLSTATE, by the first two characters of one for a whole class, or by another code of a driver. */
const byCode: Readonly<Record<string, Advice>> = {
  "22": ["CORRUPT", "What is stored there isn't what the official saver writes: repair it there."],
  "28": ["ACCESS_DENIED", "Check user and password of the URL."],
  "3D000": ["NOT_SET_UP", "The database doesn't exist: check the URL."],
  "3F000": ["NOT_SET_UP", "The schema doesn't exist: name it with ?schema=…"],
  "42P01": [
    "NOT_SET_UP",
    "The official saver's tables aren't there: check the database, and name their schema with ?schema=…",
  ],
  "42703": ["MISCONFIGURED", "Tables of these names are there, but the official saver didn't make them."],
  "42501": ["ACCESS_DENIED", "Grant this user the right to use the official saver's tables."],
  "53100": ["STORAGE_FULL", "Its disk is full: free space there, then repeat the call."],
  XX001: ["CORRUPT", "Its own files are damaged: restore the database from a backup."],
  XX002: ["CORRUPT", "One of its indexes is damaged: rebuild it with reindex."],
};

/** Advice by the message of a driver's error, if it has no code. The first match counts. */
const byText: readonly (readonly [pattern: RegExp, ...Advice])[] = [
  [
    /WRONGPASS|NOAUTH|NOPERM|SASL|password|auth(?:entication|orized)/i,
    "ACCESS_DENIED",
    "Check user and password of the URL, and the rights of the user.",
  ],
  [/\bOOM\b|disk is full/, "STORAGE_FULL", "Make room there, then repeat the call."],
  [/no such table/, "NOT_SET_UP", "The official saver's tables aren't in that file: check its path."],
  [/not a database/, "MISCONFIGURED", "The file isn't one of SQLite: check its path."],
  [/malformed/, "CORRUPT", "The file is damaged: restore it from a backup."],
  [
    /unknown command/i,
    "MISCONFIGURED",
    "It lacks RedisJSON, with which the official saver stores its documents: check the URL.",
  ],
  [/certificate|\bSSL\b|\bTLS\b/i, "MISCONFIGURED", "Correct what the URL says about TLS."],
];

const unreachable: Advice = [
  "UNAVAILABLE",
  "Check the URL, and that the server runs and accepts connections from here; the call may be repeated.",
];

/** Turns an error of a driver into one that says what to do. The original error is its cause. `data`: source. */
export function sourceError(source: string, error: unknown): StratigraphError {
  if (StratigraphError.is(error)) return error;
  forgetArguments(error);
  const why = textOf(error);
  const [code, sentence] = adviceOf(error, why);
  const place = `${source[0]!.toUpperCase()}${source.slice(1)}`;
  return new StratigraphError(code, `${place} can't be used: ${why}. ${sentence}`, { source }, error);
}

function adviceOf(error: unknown, why: string): Advice {
  const { code } = error as { readonly code?: unknown };
  // The connection failed, whatever the code of the network error is.
  if (typeof code === "string" && /^E[A-Z]+$/.test(code)) return unreachable;
  const known = typeof code === "string" ? (byCode[code] ?? byCode[code.slice(0, 2)]) : undefined;
  if (known !== undefined) return known;
  const match = byText.find(([pattern]) => pattern.test(why));
  return match === undefined ? unreachable : [match[1], match[2]];
}

/**
 * Calls a method of another saver. This may throw errors of its driver, and of the saver itself, for example if it can't decode a value.
 * @throws StratigraphError for errors of the driver; the saver's own errors unchanged
 */
export async function throughSaver<T>(saver: object, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw isOfDriver(error) ? sourceError(saver.constructor.name, error) : error;
  }
}

/** Whether an error that another saver threw came from its driver. Errors of decoding have no code. */
export function isOfDriver(error: unknown): boolean {
  if (!(error instanceof Error) || StratigraphError.is(error) || SerializationError.is(error)) return false;
  return "code" in error || /^(?:Mongo|Redis|MaxRetries)|Connection|Timeout/.test(error.name + error.message);
}

/** The message of an error, without the user and password of a URL. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If a host has several addresses, the error has an empty message and an error for each address.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  const text = error.message === "" && first !== undefined ? textOf(first) : error.message || error.name;
  return text.replaceAll(/\/\/[^/\s]*@/g, "//").replace(/\.$/, "");
}

/** Removes a command's arguments from an error of ioredis. They may hold a password, and causes are logged, too. */
function forgetArguments(error: unknown): void {
  const failed = error as { command?: { readonly name?: unknown } } | undefined;
  if (failed?.command !== undefined) failed.command = { name: failed.command.name };
}

/** Calls a function that uses another saver's storage. @throws StratigraphError, see {@link sourceError} */
export async function reaching<T>(source: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw sourceError(source, error);
  }
}
