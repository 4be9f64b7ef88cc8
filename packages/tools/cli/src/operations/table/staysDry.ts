import type { Operation } from "./operation.ts";

/**
 * Whether an operation that changes something only reports what it would do: `dryRun` is set, or `apply` isn't.
 * @param input with booleans: from a command line, or else checked. Otherwise the text "true" would pass as dry, and be applied
 */
export function staysDry({ input: { shape } }: Operation, input: Readonly<Record<string, unknown>>): boolean {
  return input["dryRun"] === true || ("apply" in shape && input["apply"] !== true);
}
