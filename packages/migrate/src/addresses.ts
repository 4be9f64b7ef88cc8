import { InvalidOptionError } from "@stratigraph/core";

/** A URL, taken apart. */
export interface Place {
  readonly scheme: string;
  /** What stands behind the scheme; of an "official+" URL, the URL without that. */
  readonly rest: string;
}

/** What to write instead of a URL that means nothing here. */
export const advice =
  "Write official+postgresql://…, sqlite:FILE, official+redis://…, mongodb://…, or a file's name that ends with .jsonl, .jsonl.gz or .jsonl.zst.";

/** Takes a URL of a source or target apart. What is no URL is a file's name. @throws InvalidOptionError */
export function schemeOf(url: string): Place {
  if (typeof url !== "string" || url === "") throw new InvalidOptionError("url", typeof url, advice);
  const scheme = /^([a-z][a-z0-9+]+):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return { scheme: "file", rest: url };
  if (scheme === "file") return { scheme, rest: url.slice(5).replace(/^\/\/(?=\/)/, "") };
  if (scheme === "sqlite") return { scheme, rest: url.slice(7).replace(/^\/\/(?=\/)/, "") };
  return { scheme, rest: url.replace(/^official\+/i, "") };
}

/** The error of a URL whose scheme isn't known. Only the scheme is shown: a password may stand behind it. */
export function unknownScheme(field: string, { scheme }: Place): InvalidOptionError {
  return new InvalidOptionError(field, `${scheme}:…`, advice);
}
