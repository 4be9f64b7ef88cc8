import type { Mutant } from "../mutant.ts";

const tests = ["packages/features/workspace/test/deepagents.test.ts"];

export const deepagentsMutants: readonly Mutant[] = [
  {
    id: "ws90",
    kind: "guard",
    what: "a subagent writes a whole file over what others changed since it read it",
    file: "packages/features/workspace/src/deepagents.ts",
    find: 'tool === "write_file" && seen.digest !== undefined && !isSeen',
    replace: "isSeen && !isSeen",
    tests,
    name: "doesn't write over",
  },
  {
    id: "ws91",
    kind: "guard",
    what: "a subagent that edits a file counts as having seen what others changed in it",
    file: "packages/features/workspace/src/deepagents.ts",
    find: 'next !== undefined && (isSeen || tool === "write_file")',
    replace: "next !== undefined",
    tests,
    name: "doesn't replace it as a whole",
  },
];
