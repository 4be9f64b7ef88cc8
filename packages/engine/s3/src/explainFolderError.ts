import { StratigraphError, type ErrorCode } from "@stratigraph/core";

const denied: readonly [ErrorCode, string] = [
  "ACCESS_DENIED",
  "Give the user that this process runs as the right to read and write there.",
];
const full: readonly [ErrorCode, string] = ["STORAGE_FULL", "Free space, then repeat the call."];
const noFolder: readonly [ErrorCode, string] = [
  "MISCONFIGURED",
  "A part of the path is a file, or no folder can be made there: pass another path.",
];

/** By system code: the error's code, and what to do about it. */
const advice: Readonly<Record<string, readonly [code: ErrorCode, sentence: string]>> = {
  EACCES: denied,
  EPERM: denied,
  ENOSPC: full,
  EDQUOT: full,
  EROFS: [
    "MISCONFIGURED",
    "The file system is mounted read-only: pass another path, or mount it for writing.",
  ],
  EEXIST: noFolder,
  ENOTDIR: noFolder,
  EISDIR: noFolder,
  ENOENT: noFolder,
  ELOOP: noFolder,
  ENAMETOOLONG: noFolder,
  ENOTSUP: ["MISCONFIGURED", "The file system lacks hard links: pass a path on another one."],
};

/** Turns an error of the file system into one that says what to do. */
export function explainFolderError(error: unknown, folder: string): StratigraphError {
  if (StratigraphError.is(error)) return error;
  const { code: systemCode, message } = error as NodeJS.ErrnoException;
  const [code, sentence] = advice[systemCode ?? ""] ?? ["UNAVAILABLE", "The call may be repeated later."];
  return new StratigraphError(
    code,
    `Folder ${folder} can't be used: ${message}. ${sentence}`,
    { tier: "folder", folder, systemCode },
    error,
  );
}
