import type { z } from "zod";
import type { Context } from "./context.ts";

/** What an operation does to stored threads: reads them, writes to them, or removes something for good. */
export type Access = "read" | "write" | "destroy";

/** The heading under which an operation is listed. */
export type Group = "look" | "change" | "storage" | "transfer";

/**
 * Something that can be done with stored threads. The command line, the inspector's HTTP API and the MCP server are derived from
 * these descriptions and hold no logic of their own.
 */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodObject = z.ZodObject> {
  /** One lower-case word, such as "history", or two: "workspace-log" is the command `workspace log`. */
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  readonly effect: Access;
  readonly group: Group;
  /** Input fields that a command line takes by position, in this order. If the last one is a list, it takes all remaining words. */
  readonly args?: readonly string[];
  /** Command lines that work, each beginning with "stratigraph". */
  readonly examples: readonly string[];
  /**
   * Every field has a description. Numbers and booleans are coerced, because HTTP queries and command lines are text. An operation
   * with the effect "destroy" has a field `dryRun`, with which it only reports what it would remove. If it also has `apply`, it
   * changes nothing without it.
   */
  readonly input: I;
  /**
   * Default input of a walk over all pages: an order in which a thread that is written to between two pages isn't missed. Default:
   * none.
   */
  readonly whole?: Readonly<Record<string, unknown>>;
  /** Its pages never end: each call waits for what comes next. A command line asks for pages until it is interrupted. */
  readonly endless?: true;
  /** JSON. An output in pages has `items`, and `cursor` if there are more. */
  readonly output: O;
  /** @throws StratigraphError whose message writes fields of the input in backticks: each front puts its own spelling in their place */
  run(input: z.output<I>, context: Context): Promise<z.input<O>>;
  /** The output for people, as lines of plain text: columns or a tree. */
  render(output: z.output<O>): Iterable<string>;
  /** Whether the operation found something that a person has to look at: differences, damage, conflicts. A command then exits with 2. */
  found?(output: z.output<O>): boolean;
  /** Whether a dry run reported that there is nothing to do, so that no confirmation is needed. */
  isIdle?(planned: z.output<O>, input: Readonly<Record<string, unknown>>): boolean;
}

/** Describes an operation. Checks that `args` are fields of its input, and keeps its name as a type. */
export function operation<const N extends string, I extends z.ZodObject, O extends z.ZodObject>(
  description: Omit<Operation<I, O>, "args" | "name"> & {
    readonly name: N;
    readonly args?: readonly (keyof z.input<I> & string)[];
  },
): Operation<I, O> & { readonly name: N } {
  return description;
}
