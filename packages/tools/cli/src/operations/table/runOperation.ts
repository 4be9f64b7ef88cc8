import { StratigraphError } from "@stratigraph/core";
import { lookOnly } from "@stratigraph/core/internal";
import type { z } from "zod";
import type { Context } from "./context.ts";
import type { Operation } from "./operation.ts";
import { staysDry } from "./staysDry.ts";

/**
 * Checks the input, runs the operation, and checks its output. This is how every front runs operations. An operation that only reads
 * moves no data: nothing is restored from the archive, or copied into hot tiers.
 * @param given input as it came in: unchecked
 * @throws InvalidInputError that names every wrong field; what the operation throws
 */
export async function runOperation<I extends z.ZodObject, O extends z.ZodObject>(
  operation: Operation<I, O>,
  given: unknown,
  context: Context,
): Promise<z.output<O>> {
  const input = checkedInput(operation, given);
  const onlyLooks = operation.effect === "read" || staysDry(operation as unknown as Operation, input);
  const work = async (): Promise<unknown> => await operation.run(input, context);
  const output = onlyLooks ? await lookOnly(work) : await work();
  return operation.output.parse(output) as z.output<O>;
}

/** The input of an operation, checked, with its defaults. @throws InvalidInputError that names every wrong field */
export function checkedInput<I extends z.ZodObject>(
  operation: Pick<Operation<I>, "name" | "input">,
  given: unknown,
): z.output<I> {
  const input = operation.input.strict().safeParse(given);
  if (!input.success) throw wrongInput(operation, input.error.issues, given);
  // strict() changes what is accepted, not what comes out.
  return input.data as z.output<I>;
}

/** An input that can't be used. `data`: operation, and issues with the path and what was expected there. */
export class InvalidInputError extends StratigraphError {
  constructor(operation: string, issues: readonly Issue[]) {
    const sentences = firstOfEach(issues).map(
      ({ path, expected, more }) => `${path === "" ? "input" : path}: ${expected}.${moreText(more)}`,
    );
    super("INVALID_OPTION", `Invalid input of ${operation}: ${sentences.join(" ")}`, { operation, issues });
    this.name = "InvalidInputError";
  }
}

interface Issue {
  readonly path: string;
  readonly expected: string;
}

/**
 * The first issue of each field, and the number of its further ones: an object that isn't a report, for example, is wrong in every
 * part.
 */
function firstOfEach(issues: readonly Issue[]): (Issue & { readonly more: number })[] {
  const fields = new Map<string, Issue & { more: number }>();
  for (const issue of issues) {
    const field = issue.path.split(".", 1)[0]!;
    const first = fields.get(field);
    if (first === undefined) fields.set(field, { ...issue, more: 0 });
    else first.more += 1;
  }
  return [...fields.values()];
}

function moreText(more: number): string {
  return more === 0
    ? ""
    : more === 1
      ? " (There is 1 more mistake in it.)"
      : ` (There are ${more} more mistakes in it.)`;
}

function wrongInput(
  { name, input }: Pick<Operation, "name" | "input">,
  issues: readonly z.core.$ZodIssue[],
  given: unknown,
): InvalidInputError {
  const known = Object.keys(input.shape).join(", ");
  return new InvalidInputError(
    name,
    issues.flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((path) => ({ path, expected: `is unknown; ${name} takes ${known}` }))
        : [{ path: issue.path.join("."), expected: expectedBy(issue, valueAt(given, issue.path)) }],
    ),
  );
}

/** Says what was expected and what was found. The schema's own message is for programmers. */
function expectedBy(issue: z.core.$ZodIssue, found: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return found === undefined ? "is missing" : `expected ${kindText(issue.expected)}; ${foundText(found)}`;
    case "invalid_value":
      return `expected ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}; ${foundText(found)}`;
    case "too_small":
      return issue.origin === "number"
        ? `expected at least ${issue.minimum}; ${foundText(found)}`
        : "expected something that isn't empty";
    case "too_big":
      return issue.origin === "number"
        ? `expected at most ${issue.maximum}; ${foundText(found)}`
        : issue.message;
    default:
      return issue.message;
  }
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
    given,
  );
}

function kindText(kind: string): string {
  const known: Readonly<Record<string, string>> = {
    int: "a whole number",
    string: "a text",
    boolean: "true or false",
    array: "a list",
    object: "an object",
  };
  return known[kind] ?? `a ${kind}`;
}

/** Longest text of a value that an error shows, in characters. */
const longestFound = 60;

function foundText(value: unknown): string {
  if (Array.isArray(value)) return "found a list";
  if (typeof value === "object" && value !== null) return "found an object";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return `found ${text.length > longestFound ? `${text.slice(0, longestFound)}…` : text}`;
}
