import type { Mutant } from "../mutant.ts";

const tests = ["packages/tools/cli/test/mcp/memory.test.ts"];
const src = "packages/tools/cli/src/mcp";

export const mcpMemoryMutants: readonly Mutant[] = [
  {
    id: "mm01",
    kind: "guard",
    what: "an agent writes in the namespaces of others",
    file: `${src}/memory.ts`,
    find: `[["agents", agent], ["shared"]] : [];`,
    replace: `[["agents"], ["shared"]] : [];`,
    tests,
    name: "two agents share a memory on memory",
  },
  {
    id: "mm02",
    kind: "guard",
    what: "an item that is deleted between two pages of a search hides another one",
    file: `${src}/memory.ts`,
    find: "if ((await memory.version()) !== place.version)",
    replace: "if (place.version < 0)",
    tests,
    name: "pages end early",
  },
  {
    id: "mm03",
    kind: "guard",
    what: "a value of any size is put",
    file: `${src}/memory.ts`,
    find: "if (bytes > largestValue)",
    replace: "if (bytes > largestValue * 1000)",
    tests,
    name: "pages end early",
  },
];
