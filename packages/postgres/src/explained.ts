import { StratigraphError } from "@stratigraph/core";

/** What to do about the errors that PostgreSQL itself can't advise on, by SQLSTATE. */
const advice: Readonly<Record<string, readonly [code: "NOT_SET_UP" | "UNAVAILABLE", sentence: string]>> = {
  "3F000": ["NOT_SET_UP", "The schema isn't there. Call setup() once before the first use."],
  "42883": ["NOT_SET_UP", "Functions of this version aren't there. Call setup() once after every upgrade."],
  "42P01": ["NOT_SET_UP", "Tables of this version aren't there. Call setup() once after every upgrade."],
  "28P01": [
    "UNAVAILABLE",
    "PostgreSQL refused the password. Check user and password of the connection string.",
  ],
  "28000": ["UNAVAILABLE", "PostgreSQL refused the user. Check the connection string and pg_hba.conf."],
  "3D000": ["UNAVAILABLE", "The database doesn't exist. Create it, or check the connection string."],
  "42501": [
    "UNAVAILABLE",
    "The user may not do this. Grant usage on the schema, its tables and its functions; for setup(), the right to create.",
  ],
  "53100": [
    "UNAVAILABLE",
    "The server's disk is full. Nothing of this call was stored; free space and repeat it.",
  ],
  "25006": ["UNAVAILABLE", "The server is read-only, probably a standby. Connect to the primary."],
};

/** Adds what to do to an error of the driver, where there is something to say. The original stays as its cause. */
export function explained(error: unknown): unknown {
  if (error instanceof StratigraphError || !(error instanceof Error)) return error;
  const sqlState = "code" in error ? error.code : undefined;
  const known =
    typeof sqlState === "string" && Object.hasOwn(advice, sqlState) ? advice[sqlState] : undefined;
  if (known === undefined) return error;
  return new StratigraphError(
    known[0],
    `${known[1]} (${error.message})`,
    { tier: "postgres", sqlState },
    error,
  );
}
