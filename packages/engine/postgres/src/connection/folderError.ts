import { statfsSync } from "node:fs";
import { StratigraphError, type ErrorCode } from "@stratigraph/core";

/** Code and advice by error code of the file system. */
const advice: Readonly<Record<string, readonly [code: ErrorCode, sentence: string]>> = {
  EACCES: [
    "ACCESS_DENIED",
    "This process may not write there. Change its owner or rights, or use another folder.",
  ],
  EPERM: [
    "ACCESS_DENIED",
    "This process may not write there. Change its owner or rights, or use another folder.",
  ],
  EEXIST: ["MISCONFIGURED", "A file is in its place. Use another path."],
  ENOTDIR: ["MISCONFIGURED", "A part of its path is a file. Use another path."],
  EROFS: ["MISCONFIGURED", "The file system is read-only. Use another folder."],
  ENAMETOOLONG: ["MISCONFIGURED", "Its name is too long. Use a shorter one."],
  ENOSPC: ["STORAGE_FULL", "The disk is full. Free space and repeat the call."],
  EDQUOT: ["STORAGE_FULL", "The quota of this user is used up. Free space and repeat the call."],
};

/** Names of the error numbers (WASI) that PGlite's file system throws without a name or a message. */
const wasiNames: Readonly<Record<number, string>> = {
  2: "EACCES",
  19: "EDQUOT",
  20: "EEXIST",
  37: "ENAMETOOLONG",
  51: "ENOSPC",
  54: "ENOTDIR",
  63: "EPERM",
  69: "EROFS",
};

/** With less free space than this, in bytes, an error without a code is put down to it. A segment of the log takes 16 MB. */
const leastFree = 1_000_000;

/** A StratigraphError that says why the folder of an embedded database can't be opened. The original is its cause. */
export function folderError(folder: string, error: unknown): StratigraphError {
  if (error instanceof StratigraphError) return error;
  const { message } = error as Partial<Error>;
  const found = codeOf(error) ?? (isFull(folder) ? "ENOSPC" : "");
  const [code, sentence] = Object.hasOwn(advice, found)
    ? advice[found]!
    : ([
        "MISCONFIGURED",
        "PGlite couldn't open what is there. If it was made by another version or is damaged, restore it from a backup or use another folder.",
      ] as const);
  const reason = message === undefined ? found : message;
  return new StratigraphError(
    code,
    `Folder ${folder} can't be used. ${sentence}${reason === "" ? "" : ` (${reason})`}`,
    { tier: "pglite", folder },
    error,
  );
}

function codeOf(error: unknown): string | undefined {
  const { code, errno } = error as NodeJS.ErrnoException;
  if (code !== undefined) return code;
  return errno === undefined ? undefined : wasiNames[errno];
}

/** Whether no space is left. PostgreSQL's own message about that is lost in PGlite's set-up. */
function isFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < leastFree;
  } catch {
    return false;
  }
}
