import type { Operation } from "./operation.ts";

/**
 * Whether an operation that changes something only tells what it would do: because it was asked to, or because it wasn't told to apply it.
 * @param input with booleans: as a command line has it, or else checked. Otherwise the text "true" would pass as dry, and be applied
 */
export function staysDry({ input: { shape } }: Operation, input: Readonly<Record<string, unknown>>): boolean {
  return input["dryRun"] === true || ("apply" in shape && input["apply"] !== true);
}
