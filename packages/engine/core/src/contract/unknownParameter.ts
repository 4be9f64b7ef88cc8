import { didYouMean, shownName } from "./checkOptions.ts";
import { InvalidOptionError } from "./errors.ts";

/** Where a parameter of a URL was found, and which parameters there are. */
export interface ParameterPlace {
  /** The option that the URL was given as. */
  readonly field: string;
  /** The query of the URL. It isn't shown. */
  readonly query: string;
  /** Parameters of ours. */
  readonly own: readonly string[];
  /** Parameters that are passed on to the driver. Default: none. */
  readonly drivers?: ReadonlySet<string> | undefined;
}

/** The error for an unknown parameter of a URL. Never shows what may be a part of a password. */
export function unknownParameter(
  name: string,
  { field, query, own, drivers = new Set() }: ParameterPlace,
): InvalidOptionError {
  // A password with a question mark in it makes the rest of the login look like a query.
  const isLogin = query.includes("@");
  const meant = isLogin ? undefined : didYouMean(name, [...own, ...drivers]);
  const kinds = [...own, ...(drivers.size === 0 ? [] : ["what the driver understands"])];
  const advice = isLogin
    ? "There is an @ in the query of the URL: if a password has a question mark in it, encode it with encodeURIComponent."
    : (meant ?? (kinds.length === 0 ? "It has none." : `It may have ${kinds.join(", ")}.`));
  const shown = isLogin ? "query" : shownName(name);
  return new InvalidOptionError(`${field}, ${shown}`, "a parameter that nothing listens to", advice);
}
