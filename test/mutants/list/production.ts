import type { Mutant } from "../mutant.ts";

const app = {
  kind: "guard",
  file: "examples/production/service/app.ts",
  tests: ["test/production/app.test.ts"],
} as const;

export const productionMutants: readonly Mutant[] = [
  {
    id: "pe01",
    what: "a message that the thread has runs again when its client sends it again: a refund is paid twice",
    ...app,
    find: "if (there !== undefined) return undefined;",
    replace: "",
  },
  {
    id: "pe02",
    what: "a request runs although its client left while it waited: what a user gave up is paid",
    ...app,
    find: "if (request.client.aborted)",
    replace: "if (false as boolean)",
  },
  {
    id: "pe03",
    what: "a message ends the run that was cut off before it: that one's message is never answered, or its refund is asked for again",
    ...app,
    find: "if (unfinished) return null;\n      // It was sent before",
    replace: "// It was sent before",
  },
  {
    id: "pe04",
    what: "another message with the id of one that the thread has counts as that one, and is never answered",
    ...app,
    find: "if (there !== undefined && (there.role",
    replace: "if (there === undefined && (there!.role",
  },
  {
    id: "pe05",
    what: "a new message drops the question that waits: the refund that a person was to allow is forgotten",
    ...app,
    find: "if (questions.length > 0)\n",
    replace: "if (questions.length > 99)\n",
  },
  {
    id: "pe06",
    what: "a look still says that a message waits whose client has left: the client waits for nothing",
    ...app,
    find: "&& (each.begun || !each.client.aborted)",
    replace: "",
  },
  {
    id: "pe07",
    what: "an answer to a question that was answered runs the graph again",
    ...app,
    find: "if (questions.some(({ id }) => id === answer.id))",
    replace: "if (questions.length >= 0)",
  },
];
