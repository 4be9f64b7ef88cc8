import { StratigraphError, type ErrorCode } from "@stratigraph/core";
import { closedError } from "@stratigraph/core/tier";
import {
  isClosedPool,
  isConnectionFailure,
  isLockFailure,
  isRefusedConnection,
  sqlStateOf,
  textOf,
  UnknownHostError,
} from "./failures.ts";
import { NoPrimaryError } from "./primaryFinder.ts";

type Advice = readonly [code: ErrorCode, sentence: string];

const notSetUp =
  "Call setup() once after every upgrade. If that was done, they were removed since, and setup() doesn't make them again: restore them from a backup.";
const foreign =
  "The schema holds something of the same name that Stratigraph didn't make. Use a schema of its own: the option schema.";
const refused =
  "PostgreSQL refused the statement. Look for triggers and constraints that were added to the tables, and at the server's version.";

/** Code and advice by SQLSTATE, or by its first two characters for a whole class. */
const advice: Readonly<Record<string, Advice>> = {
  "3F000": ["NOT_SET_UP", "The schema isn't there. Call setup() once before the first use."],
  "42883": ["NOT_SET_UP", `Functions of this version aren't there. ${notSetUp}`],
  "42P01": ["NOT_SET_UP", `Tables of this version aren't there. ${notSetUp}`],
  "3D000": ["NOT_SET_UP", "The database doesn't exist. Create it, or check the connection string."],
  "57P04": ["NOT_SET_UP", "The database was dropped. Create it, or check the connection string."],
  "28P01": [
    "ACCESS_DENIED",
    "PostgreSQL refused the password. Check user and password of the connection string.",
  ],
  "28": ["ACCESS_DENIED", "PostgreSQL refused the user. Check the connection string and pg_hba.conf."],
  "42501": [
    "ACCESS_DENIED",
    "The user may not do this. Grant usage on the schema, its tables and its functions; for setup(), the right to create.",
  ],
  "53100": [
    "STORAGE_FULL",
    "The server's disk is full. Nothing of this call was stored; free space and repeat it.",
  ],
  "53400": ["MISCONFIGURED", "A limit of the server is too low for this call. Raise it."],
  "25006": ["MISCONFIGURED", "The server is read-only, probably a standby. Connect to the primary."],
  "42P06": ["MISCONFIGURED", foreign],
  "42P07": ["MISCONFIGURED", foreign],
  "42701": ["MISCONFIGURED", foreign],
  "42703": ["MISCONFIGURED", foreign],
  "42710": ["MISCONFIGURED", foreign],
  "42723": ["MISCONFIGURED", foreign],
  "42809": ["MISCONFIGURED", foreign],
  "53": ["UNAVAILABLE", "The server has no room for this call at present. Repeat it later."],
  "55": ["UNAVAILABLE", "The server isn't ready for this call at present. Repeat it later."],
  "57": [
    "UNAVAILABLE",
    "The server cancelled the statement. Repeat it. If that happens again, raise statement_timeout of the role.",
  ],
  "58": ["UNAVAILABLE", "The server has trouble with its disk or system. Look at its log."],
  XX001: ["CORRUPT", "PostgreSQL found its own files damaged. Restore the database from a backup."],
  XX002: ["CORRUPT", "PostgreSQL found an index damaged. Rebuild it with reindex."],
};

/** Code and advice for errors of drivers, which have no SQLSTATE, by their messages. */
const driverAdvice: readonly (readonly [pattern: RegExp, ...Advice])[] = [
  [
    /client password must be a string|no password supplied/i,
    "ACCESS_DENIED",
    "PostgreSQL asks for a password and none was given. Put it into the connection string or PGPASSWORD.",
  ],
  [
    /SASL/,
    "ACCESS_DENIED",
    "Logging in to PostgreSQL failed. Check user and password of the connection string.",
  ],
  [
    /does not support SSL/i,
    "MISCONFIGURED",
    "The connection string asks for SSL and the server has none. Leave sslmode out, or switch SSL on at the server.",
  ],
  [
    /certificate|self[- ]signed/i,
    "MISCONFIGURED",
    "The server's certificate isn't trusted. Name its authority (sslrootcert), or pass a pg.Pool with ssl of your own.",
  ],
  [
    /ENOENT.*, open /,
    "MISCONFIGURED",
    "A file that the connection string names isn't there. Correct sslrootcert, sslcert or sslkey.",
  ],
  [
    /invalid url/i,
    "MISCONFIGURED",
    "The connection string can't be read. Encode special characters of user and password.",
  ],
];

function advised(error: unknown): Advice {
  const [code, sentence] = adviceBySqlState(sqlStateOf(error)) ?? adviceByText(textOf(error));
  return [code, `${sentence} (${textOf(error)})`];
}

function adviceBySqlState(sqlState: string | undefined): Advice | undefined {
  if (sqlState === undefined) return undefined;
  const known = [sqlState, sqlState.slice(0, 2)].find((key) => Object.hasOwn(advice, key));
  return known === undefined ? ["MISCONFIGURED", refused] : advice[known];
}

function adviceByText(text: string): Advice {
  const known = driverAdvice.find(([pattern]) => pattern.test(text));
  if (known !== undefined) return [known[1], known[2]];
  return ["MISCONFIGURED", "The driver failed, which isn't an outage. Its error is the cause of this one."];
}

/** Code and message of a transient failure that is no longer repeated. */
function outlasted(error: unknown, forMs: number): Advice {
  const why = textOf(error);
  if (error instanceof UnknownHostError) {
    const sentence = "The name of PostgreSQL's host isn't known";
    return [
      "MISCONFIGURED",
      `${sentence} (${why}). Check the connection string, and that the name is set up.`,
    ];
  }
  const time = forMs === 0 ? "" : ` for ${forMs} ms`;
  if (isLockFailure(error)) {
    const sentence = `Other work held what this call needs${time} (${why})`;
    const look = "Look in pg_stat_activity for transactions that stay open; the call may be repeated.";
    return ["UNAVAILABLE", `${sentence}. ${look}`];
  }
  if (error instanceof NoPrimaryError) {
    const sentence = `None of PostgreSQL's servers took writes${time} (${why})`;
    return [
      "UNAVAILABLE",
      `${sentence}. Promote a standby, or raise retryFor if that takes longer; the call may be repeated.`,
    ];
  }
  if (isRefusedConnection(error)) {
    const sentence = `PostgreSQL took no more connections${time} (${why})`;
    const look =
      "Close some (pg_stat_activity lists them), give pools a smaller max, or raise the limit: max_connections, or that of the role or the database (connection limit).";
    return ["UNAVAILABLE", `${sentence}. ${look} The call may be repeated.`];
  }
  const sentence = `PostgreSQL could not be reached${time} (${why})`;
  const look = "Check that the server runs and accepts connections; the call may be repeated.";
  return ["UNAVAILABLE", `${sentence}. ${look}`];
}

/**
 * A StratigraphError that says what an error of the driver means and what to do. The original is its cause.
 * @param forMs for how long the statement was repeated, in milliseconds
 */
export function explainPostgresError(error: unknown, tier: string, forMs = 0): StratigraphError {
  if (error instanceof StratigraphError) return error;
  if (isClosedPool(error)) return closedError(tier, error);
  const [code, message] =
    isConnectionFailure(error) || isLockFailure(error) || error instanceof NoPrimaryError
      ? outlasted(error, forMs)
      : advised(error);
  const sqlState = sqlStateOf(error);
  const data = {
    tier,
    ...(sqlState === undefined ? {} : { sqlState }),
    ...(forMs === 0 ? {} : { forMs }),
  };
  return new StratigraphError(code, message, data, error);
}

/** Codes of errors that every statement would have met. */
const general: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "UNAVAILABLE",
  "NOT_SET_UP",
  "ACCESS_DENIED",
  "STORAGE_FULL",
  "CLOSED",
]);

/** Whether every request of a group would meet this error, so that trying them one by one is of no use. */
export function meetsAll(error: unknown): boolean {
  if (!StratigraphError.is(error) || isLockFailure(error.cause)) return false;
  return general.has(error.code) || error.data["forMs"] !== undefined;
}
