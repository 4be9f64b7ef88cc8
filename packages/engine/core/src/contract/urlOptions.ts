import type { OptionNames } from "./checkOptions.ts";
import { InvalidOptionError } from "./errors.ts";
import { unknownParameter } from "./unknownParameter.ts";

/** How the text of a parameter is read: as it is, as a whole number, or as true or false. */
type Reading = "text" | "count" | "flag";

/** How each option of `T` is written in a URL. If one is missing here, the code doesn't compile. */
export type UrlNames<T> = { readonly [Name in keyof OptionNames<T>]: Reading };

/** A URL, and our options from its query. */
export interface UrlWithOptions<T> {
  /** The URL without our options. */
  readonly server: string;
  readonly options: Partial<T>;
}

/**
 * Takes our options out of the query of a URL. Errors never show the URL, because it may contain a password.
 * @param field the option that the URL was given as
 * @param driver the names of parameters that are passed on to the driver
 * @throws InvalidOptionError on parameters that nobody knows, and values that aren't what is expected
 */
export function takeOptions<T>(
  field: string,
  url: string,
  names: UrlNames<T>,
  driver: ReadonlySet<string> = new Set(),
): UrlWithOptions<T> {
  const [server, query] = splitAt(url, "?");
  const options: Record<string, unknown> = {};
  const passed: [string, string][] = [];
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(names, name)) {
      if (Object.hasOwn(options, name))
        throw new InvalidOptionError(`${field}, ${name}`, "it twice", "Write it once.");
      options[name] = read(`${field}, ${name}`, value, names[name as keyof T]);
    } else if (driver.has(name)) passed.push([name, value]);
    else throw unknownParameter(name, { field, query, own: Object.keys(names), drivers: driver });
  }
  const kept = new URLSearchParams(passed).toString();
  return { server: kept === "" ? server : `${server}?${kept}`, options: options as Partial<T> };
}

function splitAt(text: string, mark: string): [before: string, after: string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function read(field: string, text: string, reading: Reading): unknown {
  if (reading === "text") return text;
  if (reading === "count") {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new InvalidOptionError(field, text, "Write a whole number.");
  }
  if (text === "true" || text === "false") return text === "true";
  throw new InvalidOptionError(field, text, "Write true or false.");
}
