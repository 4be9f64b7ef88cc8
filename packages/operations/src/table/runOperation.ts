import { StratigraphError } from "@stratigraph/core";
import type { z } from "zod";
import type { Context } from "./context.ts";
import type { Operation } from "./operation.ts";

/**
 * Checks the input, runs the operation, and checks its output. This is how every front runs operations.
 * @param given input as it came in: unchecked
 * @throws InvalidInputError that names every wrong field; what the operation throws
 */
export async function runOperation<I extends z.ZodObject, O extends z.ZodObject>(
  operation: Operation<I, O>,
  given: unknown,
  context: Context,
): Promise<z.output<O>> {
  const input = operation.input.strict().safeParse(given);
  if (!input.success) throw wrongInput(operation, input.error.issues);
  // strict() changes what is accepted, not what comes out.
  const output = await operation.run(input.data as z.output<I>, context);
  return operation.output.parse(output) as z.output<O>;
}

/** An input that can't be used. `data`: operation, and issues with the path and what was expected there. */
export class InvalidInputError extends StratigraphError {
  constructor(operation: string, issues: readonly { readonly path: string; readonly expected: string }[]) {
    const sentences = issues.map(({ path, expected }) => `${path === "" ? "input" : path}: ${expected}.`);
    super("INVALID_OPTION", `Invalid input of ${operation}: ${sentences.join(" ")}`, { operation, issues });
    this.name = "InvalidInputError";
  }
}

function wrongInput({ name, input }: Operation, issues: readonly z.core.$ZodIssue[]): InvalidInputError {
  const known = Object.keys(input.shape).join(", ");
  return new InvalidInputError(
    name,
    issues.flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((path) => ({ path, expected: `is unknown; ${name} takes ${known}` }))
        : [{ path: issue.path.join("."), expected: issue.message }],
    ),
  );
}
