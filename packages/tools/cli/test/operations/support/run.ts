import { operations, runOperation, type Context } from "../../../src/operations/index.ts";

/** Runs an operation by its name, as a front does. */
export async function run<T = Record<string, unknown>>(
  name: string,
  input: unknown,
  context: Context,
): Promise<T> {
  return (await runOperation(named(name), input, context)) as T;
}

/** An operation's output as a terminal shows it. */
export function rendered(name: string, output: unknown): string {
  return [...named(name).render(output as Record<string, unknown>)].join("\n");
}

function named(name: string): (typeof operations)[number] {
  const found = operations.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(`there is no operation ${name}`);
  return found;
}
