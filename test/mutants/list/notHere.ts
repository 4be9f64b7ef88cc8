import type { Mutant } from "../mutant.ts";

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
];
