import {
  operations,
  runOperation,
  type Context,
  type InputOf,
  type OperationName,
  type OutputOf,
} from "../operations/index.ts";

/** Runs an operation of the table by its name. */
export async function runNamed<N extends OperationName>(
  name: N,
  input: InputOf<N>,
  context: Context,
): Promise<OutputOf<N>> {
  const operation = operations.find((each) => each.name === name)!;
  return (await runOperation(operation, input, context)) as OutputOf<N>;
}
