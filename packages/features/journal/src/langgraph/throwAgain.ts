import { withFields, type ReturnedResult, type ThrownCommand } from "../calls/results.ts";
import { loadParentCommand } from "./langgraph.ts";
import type { Task } from "./taskConfig.ts";

/**
 * Throws the Command that a call threw when it was made, for the task that makes the call now.
 * @param given the Command for the call that asks now
 * @throws LangGraph's ParentCommand
 */
export async function throwAgain(
  { command, here }: ThrownCommand,
  { ownNamespace }: Task,
  given: (kept: ReturnedResult) => unknown,
): Promise<never> {
  const ParentCommand = await loadParentCommand();
  const made = given(command) as object;
  const graph = here === undefined ? {} : { graph: `${ownNamespace}${here}` };
  throw new ParentCommand(withFields(made, graph) as never);
}
