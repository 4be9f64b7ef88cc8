import { StratigraphError } from "@stratigraph/core";

/** The error of a tier that hangs in its `end()`. */
export function unendedError(tier: string, endForMs: number): StratigraphError {
  return new StratigraphError(
    "UNAVAILABLE",
    `Tier ${tier} didn't end within ${endForMs} ms (endFor). What it opened may stay open until the process ends.`,
    { tier, endForMs },
  );
}
