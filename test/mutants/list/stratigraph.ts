import type { Mutant } from "../mutant.ts";

export const stratigraphMutants: readonly Mutant[] = [
  {
    id: "x12",
    kind: "guard",
    what: "an environment variable that is empty is taken for a value: an address or a secret of nothing",
    file: "packages/features/stratigraph/src/settings/placeholders.ts",
    find: 'if (found !== undefined && found !== "") return found;',
    replace: "if (found !== undefined) return found;",
    tests: ["packages/features/stratigraph/test/settings.test.ts"],
    name: "an environment replaces",
  },
];
