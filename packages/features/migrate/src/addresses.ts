import { resolve } from "node:path";
import { InvalidOptionError } from "@stratigraph/core";

/** A URL, taken apart. */
export interface Place {
  readonly scheme: string;
  /** The part after the scheme: the absolute path of a file, or an "official+" URL without "official+". */
  readonly rest: string;
}

/** What to write instead of a URL that means nothing here. */
export const advice =
  "Write official+postgresql://…, sqlite:FILE, official+redis://…, mongodb://…, or a file's name that ends with .jsonl, .jsonl.gz or .jsonl.zst.";

/**
 * Takes a URL of a source or target apart. Text that isn't a URL is a file's name.
 * @param cwd where relative paths begin. Default: where the process was started
 * @throws InvalidOptionError
 */
export function schemeOf(url: string, cwd = process.cwd()): Place {
  if (typeof url !== "string" || url === "") throw new InvalidOptionError("url", typeof url, advice);
  const scheme = /^([a-z][a-z0-9+]+):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return { scheme: "file", rest: resolve(cwd, url) };
  const isPath = scheme === "file" || scheme === "sqlite";
  if (isPath && /^[^/]*:\/\/[^/]/.test(url))
    throw new InvalidOptionError(
      "url",
      `${scheme}://…`,
      `Write ${scheme}:FILE, or ${scheme}:///FILE: a URL of a file has no host, user or password.`,
    );
  if (!isPath && !url.slice(scheme.length + 1).startsWith("//"))
    throw new InvalidOptionError("url", `${scheme}:…`, `Write ${scheme}://…, with two slashes. ${advice}`);
  if (isPath) {
    const path = url.slice(scheme.length + 1).replace(/^\/\/(?=\/)/, "");
    return { scheme, rest: resolve(cwd, path) };
  }
  return { scheme, rest: url.replace(/^official\+/i, "") };
}

/** The error of a URL whose scheme isn't known. Only the scheme is shown: a password may stand behind it. */
export function unknownScheme(field: string, { scheme }: Place): InvalidOptionError {
  return new InvalidOptionError(field, `${scheme}:…`, advice);
}
