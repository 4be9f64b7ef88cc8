import type { Mutant } from "../mutant.ts";

const readers = ["test/archived/readers.test.ts"];
const runs = ["test/archived/deletedRuns.test.ts"];
const lost = ["packages/engine/tiered/test/archiveLost.test.ts"];

// What isn't here isn't nothing, and what is left out isn't lost.
export const notHereMutants: readonly Mutant[] = [
  {
    id: "ah01",
    kind: "guard",
    what: "an archived checkpoint that a filter leaves out of a list is taken for lost",
    file: "packages/engine/tiered/src/archive.ts",
    find: "if (!isWhole && !isFiltered && !isFound",
    replace: "if (!isWhole && !isFound",
    tests: lost,
    name: "that a filter or a place leaves out",
  },
  {
    id: "ah02",
    kind: "guard",
    what: "an archived checkpoint isn't found when it is promoted",
    file: "packages/engine/core/src/operations/promote.ts",
    find: "    await refusePart(tier, at);\n",
    replace: "",
    tests: readers,
    name: "every reader of one thread says that it is archived: part",
  },
  {
    id: "ah03",
    kind: "guard",
    what: "encrypting anew passes over what is archived, as if all were done",
    file: "packages/engine/core/src/operations/reencrypt.ts",
    find: "      await refusePart(tier, { threadId });\n",
    replace: "",
    tests: readers,
    name: "encrypting anew names",
  },
  {
    id: "ah04",
    kind: "guard",
    what: "of an archived thread whose head is here again, the deletion of a run takes the head",
    file: "packages/engine/core/src/operations/prune.ts",
    find: "if (await isArchivedElsewhere(tier, threadId)) {",
    replace: "if (threadId === undefined) {",
    tests: runs,
    name: "left as it was, and other threads are done",
  },
  {
    id: "ah05",
    kind: "guard",
    what: "a thread that is archived while runs are deleted loses its head",
    file: "packages/engine/core/src/operations/prune.ts",
    find: "        await refusePart(tier, { threadId });\n        return",
    replace: "        return",
    tests: runs,
    name: "archived while runs are deleted",
  },
  {
    id: "ah06",
    kind: "guard",
    what: "runs that are in an archive count as deleted",
    file: "packages/engine/core/src/operations/prune.ts",
    find: "  await refuseParts(tier);\n",
    replace: "",
    tests: runs,
    name: "left as it was, and other threads are done",
  },
  {
    id: "ah07",
    kind: "guard",
    what: "where nothing was ever archived, a deletion of runs asks each thread",
    file: "packages/engine/core/src/operations/archivedElsewhere.ts",
    find: "  return places.length === 0;",
    replace: "  return true;",
    tests: runs,
    name: "one small query tells so",
  },
  {
    id: "ah08",
    kind: "guard",
    what: "the dev server can't take back a run while another thread is in an archive that isn't open",
    file: "packages/tools/cli/src/dev/removeRun.ts",
    find: "if (!isOfOthers) throw error;",
    replace: "throw error;",
    tests: runs,
    name: "the dev server takes a run back",
  },
];
