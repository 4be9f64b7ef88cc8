import type { Mutant } from "../mutant.ts";

const outcomes = "packages/features/journal/src/calls/outcomes.ts";
const results = "packages/features/journal/src/calls/results.ts";
const runner = "packages/features/journal/src/calls/callRunner.ts";
const task = "packages/features/journal/src/langgraph/taskConfig.ts";
const stories = ["packages/features/journal/test/parentCommand.test.ts"];
const interrupts = ["packages/features/journal/test/interrupting.test.ts"];

/** Calls that end with a Command for a graph around them, and calls that interrupt. */
export const parentCommandMutants: readonly Mutant[] = [
  {
    id: "jp01",
    kind: "guard",
    what: "a call that ends with a Command for a parent graph counts as one that didn't act, and pays again",
    file: outcomes,
    find: 'return (Object(error) as { name?: unknown }).name === "ParentCommand";',
    replace: "return false as boolean;",
    tests: stories,
  },
  {
    id: "jp02",
    kind: "guard",
    what: "an interrupt counts as the end of a call",
    file: outcomes,
    find: "if (!isParentCommand(error)) throw error;",
    replace: "if (!isBubbleUp(error) && !isParentCommand(error)) throw error;",
    tests: interrupts,
  },
  {
    id: "jp03",
    kind: "guard",
    what: "a Command of another copy of LangGraph isn't recognised",
    file: outcomes,
    find: 'return (Object(error) as { name?: unknown }).name === "ParentCommand";',
    replace: 'return isBubbleUp(error) && (Object(error) as { name?: unknown }).name === "ParentCommand";',
    tests: stories,
  },
  {
    id: "jp04",
    kind: "guard",
    what: "a Command that was thrown is returned where the call is made again",
    file: results,
    find: "if (thrown === undefined) return command;",
    replace: "if (thrown === undefined || thrown !== undefined) return command;",
    tests: stories,
  },
  {
    id: "jp05",
    kind: "guard",
    what: "a Command goes to the graph of the task that made the call first, which is gone",
    file: "packages/features/journal/src/langgraph/throwAgain.ts",
    find: "const graph = here === undefined ? {} : { graph: `${ownNamespace}${here}` };",
    replace: "const graph = here === undefined ? {} : ownNamespace === undefined ? { graph: here } : {};",
    tests: stories,
  },
  {
    id: "jp06",
    kind: "guard",
    what: "a Command for the graph around its own goes to its own when it is given again",
    file: results,
    find: 'if (typeof graph !== "string" || namespace === undefined || !graph.startsWith(namespace)) return undefined;',
    replace:
      'if (typeof graph !== "string" || namespace === undefined || !graph.startsWith(namespace)) return "";',
    tests: stories,
  },
  {
    id: "jp07",
    kind: "guard",
    what: "the number of a task's second graph is lost when a Command is given again",
    file: results,
    find: "return /^(\\|\\d+)*$/.test(rest) ? rest : undefined;",
    replace: 'return rest === "" ? rest : undefined;',
    tests: stories,
  },
  {
    id: "jp08",
    kind: "guard",
    what: "the first run of a call swallows its Command",
    file: runner,
    find: "if (thrown !== undefined) throw thrown;",
    replace: "void thrown;",
    tests: stories,
  },
  {
    id: "jp09",
    kind: "guard",
    what: "a batch tells that an item failed which is recorded as done",
    file: "packages/features/journal/src/batch/batch.ts",
    find: "else if (isParentCommand(thrown?.error)) tally.done();",
    replace: "",
    tests: stories,
  },
  {
    id: "jp10",
    kind: "guard",
    what: "what undoes a call is given the journal's record of a thrown Command",
    file: results,
    find: 'if (kept.kind === "thrown") return plainResult(kept.command);',
    replace: 'if (kept.kind === "thrown") return kept.command;',
    tests: stories,
  },
  {
    id: "jp11",
    kind: "guard",
    what: "an interrupt behind calls that aren't made again is given the answer to an earlier one",
    file: task,
    find: 'if (key === "interruptCounter") count += (value as number) - (target.interruptCounter ?? -1);',
    replace: 'if (key === "interruptCounter") count += 1;',
    tests: interrupts,
  },
  {
    id: "jp12",
    kind: "guard",
    what: "interrupts of a call within a call aren't counted for the one around it",
    file: task,
    find: "const scratchpad = own && countedAround(own);",
    replace: "const scratchpad = own ?? (undefined && countedAround(own));",
    tests: interrupts,
  },
];
