import type { Mutant } from "../mutant.ts";

const readers = ["test/archived/readers.test.ts"];
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
];
