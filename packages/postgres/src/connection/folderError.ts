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

/** A StratigraphError that says why the folder of an embedded database can't be opened. The original is its cause. */
export function folderError(folder: string, error: unknown): StratigraphError {
  if (error instanceof StratigraphError) return error;
  const { code: found = "", message } = error as NodeJS.ErrnoException;
  const [code, sentence] = Object.hasOwn(advice, found)
    ? advice[found]!
    : ([
        "MISCONFIGURED",
        "PGlite couldn't open what is there. If it was made by another version or is damaged, restore it from a backup or use another folder.",
      ] as const);
  return new StratigraphError(
    code,
    `Folder ${folder} can't be used. ${sentence} (${message})`,
    { tier: "pglite", folder },
    error,
  );
}
