import { InvalidOptionError } from "@stratigraph/core";
import { didYouMean } from "@stratigraph/core/internal";
import { kindOfValue } from "./checkSaver.ts";

/**
 * Refuses a value that isn't one of the `known` ones.
 * @param advice what to use instead
 * @throws InvalidOptionError
 */
export function checkChoice(field: string, given: unknown, known: readonly string[], advice: string): void {
  if (typeof given === "string" && known.includes(given)) return;
  const meant = typeof given === "string" ? didYouMean(given, known) : undefined;
  const found = typeof given === "string" ? given : kindOfValue(given);
  throw new InvalidOptionError(field, found, meant === undefined ? advice : `${meant} ${advice}`);
}
