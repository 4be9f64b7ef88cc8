import type { Mutant } from "../mutant.ts";

const move = {
  file: "packages/migrate/src/copy/moveThread.ts",
  tests: ["test/simulation/move.test.ts"],
} as const;

export const migrateMutants: readonly Mutant[] = [
  {
    id: "mi02",
    kind: "guard",
    what: "moving a thread deletes what a run wrote after the copy",
    ...move,
    find: "if (deletesUnchanged(tier)) return await tier.deleteUnchanged(threadId, revision);",
    replace: "",
  },
  {
    id: "mi05",
    kind: "guard",
    what: "a thread that is written to during each copying is called moved",
    ...move,
    find: "    if (now.revision !== revision)\n      return",
    replace: "    if (tries > mostTries)\n      return",
  },
  {
    id: "mi06",
    kind: "guard",
    what: "a thread that is written to while it is copied isn't copied again",
    ...move,
    find: "mostTries = 3",
    replace: "mostTries = 1",
  },
  {
    id: "mi07",
    kind: "guard",
    what: "moving a thread sets the head of one that went on in the target back",
    ...move,
    find: "return now === to || wentOn ? []",
    replace: "return now === to ? []",
  },
  {
    id: "mi08",
    kind: "guard",
    what: "a thread that went on in both storages is mixed",
    ...move,
    find: "return wentOn && [...wanted].some((key) => !there.records.has(key));",
    replace: "return false;",
  },
  {
    id: "mi09",
    kind: "guard",
    what: "a record that is read back differently from the target is accepted, and the thread deleted",
    ...move,
    find: "if (!isSame(original, record))",
    replace: "if (false)",
  },
];
