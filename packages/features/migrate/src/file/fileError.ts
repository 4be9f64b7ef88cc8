import { InvalidOptionError, StratigraphError, type ErrorCode } from "@stratigraph/core";

const full: readonly [ErrorCode, string] = [
  "STORAGE_FULL",
  "Free space, or name a file on another disk, then repeat the call.",
];
const denied: readonly [ErrorCode, string] = [
  "ACCESS_DENIED",
  "Give the user that this process runs as the right to read and write there, or name another file.",
];

/** For each error code of the file system: our error code, and what to do about it. */
const advice: Readonly<Record<string, readonly [code: ErrorCode, sentence: string]>> = {
  ENOSPC: full,
  EDQUOT: full,
  EFBIG: full,
  EACCES: denied,
  EPERM: denied,
  EROFS: ["MISCONFIGURED", "The file system is mounted read-only: name a file on another one."],
};

const wrongPath: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file or folder.",
  ENOTDIR: "A part of its path is a file.",
  EISDIR: "It is a folder: name a file in it.",
  ENAMETOOLONG: "Its name is too long.",
};

/** Turns an error of the file system into one that says what to do; undefined if its code isn't listed above. `data`: path. */
export function fileError(path: string, error: unknown): StratigraphError | undefined {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (Object.hasOwn(wrongPath, code)) return new InvalidOptionError("file", path, wrongPath[code]!);
  if (!Object.hasOwn(advice, code)) return undefined;
  const [known, sentence] = advice[code]!;
  const text = `The file ${JSON.stringify(path)} can't be used: ${message}. ${sentence}`;
  return new StratigraphError(known, text, { path, systemCode: code }, error);
}
