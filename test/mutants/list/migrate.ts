import type { Mutant } from "../mutant.ts";

export const migrateMutants: readonly Mutant[] = [
  {
    id: "mi02",
    kind: "guard",
    what: "moving a thread deletes what a run wrote after the copy",
    file: "packages/migrate/src/copy/moveThread.ts",
    find: "if (deletesUnchanged(tier)) return await tier.deleteUnchanged(threadId, revision);",
    replace: "",
    tests: ["test/simulation/move.test.ts"],
  },
];
