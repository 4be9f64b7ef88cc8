import type { Mutant } from "../mutant.ts";

const src = "packages/tools/cli/src/operations/run";
const guard = {
  kind: "guard",
  tests: ["packages/tools/cli/test/operations/run/answers.test.ts"],
} as const;

export const answers: readonly Mutant[] = [
  {
    ...guard,
    id: "an01",
    what: "an answer runs beside another one to the same thread",
    file: `${src}/alone.ts`,
    find: "if (!keepsLocks(tier)) return",
    replace: "if (keepsLocks(tier)) return",
  },
  {
    ...guard,
    id: "an02",
    what: "LangGraph doesn't look again at what waits",
    file: `${src}/execute.ts`,
    find: "{ __pregel_strict_resume: true }",
    replace: "{}",
  },
  {
    ...guard,
    id: "an03",
    what: "what doesn't fit a schema reaches the node",
    file: `${src}/interrupts.ts`,
    find: "if (!unchecked) refuseUnfit(",
    replace: "if (unchecked) refuseUnfit(",
  },
  {
    ...guard,
    id: "an04",
    what: "a schema that is wrong keeps a person from answering",
    file: `${src}/interrupts.ts`,
    find: "if (schema === undefined || schemaFault(schema) !== undefined) return [];",
    replace: "if (schema === undefined) return [];",
  },
  {
    ...guard,
    id: "an05",
    what: "a question whose answer the node refused can't be answered again",
    file: `${src}/openInterrupts.ts`,
    find: "(task.error !== undefined && task.interrupts.some(",
    replace: "(task.error === undefined && task.interrupts.some(",
  },
  {
    ...guard,
    id: "an06",
    what: "a question that was answered before its node failed waits again",
    file: `${src}/openInterrupts.ts`,
    find: "return JSON.stringify(given) !== JSON.stringify(taken.at(-1));",
    replace: "return true;",
  },
  {
    ...guard,
    id: "an07",
    what: "an object that names one question and something else is the value of a question",
    file: `${src}/interrupts.ts`,
    find: "unknown.length < keys.length || keys.every(",
    replace: "keys.every(",
    tests: ["packages/tools/cli/test/operations/run/run.test.ts"],
  },
  {
    ...guard,
    id: "an08",
    what: "schemas are shown where questions are hidden",
    file: `${src}/interrupts.ts`,
    find: "if (schema === undefined || redaction.hides(INTERRUPT)) return {};",
    replace: "if (schema === undefined) return {};",
  },
  {
    ...guard,
    id: "an09",
    what: "a reference that leads nowhere counts as a schema",
    file: `${src}/answerSchema.ts`,
    find: "valueAt(root, String($ref)) !== undefined))",
    replace: "true))",
  },
];
