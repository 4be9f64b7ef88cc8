import type { Mutant } from "../mutant.ts";

const src = "packages/engine/redis/src";
const test = "packages/engine/redis/test";

export const redisFaults: readonly Mutant[] = [
  {
    id: "rdf01",
    kind: "fault",
    what: "ids above U+FFFF sort otherwise than JavaScript sorts them",
    file: `${src}/checkpointKeys.ts`,
    find: "const unusual = /[\\0\\uD800-\\uDFFF]/;",
    replace: "const unusual = /[\\0]/;",
    tests: [`${test}/checkpointKeys.test.ts`],
  },
  {
    id: "rdf02",
    kind: "fault",
    what: "the checkpoint that a page ends with begins the next one",
    file: `${src}/checkpointKeys.ts`,
    find: 'bound("(", before, separator)',
    replace: 'bound("[", before, separator)',
    tests: [`${test}/contract.test.ts`],
  },
  {
    id: "rdf04",
    kind: "fault",
    what: "a prefix with braces puts all threads into one slot of a cluster",
    file: `${src}/keyNames.ts`,
    find: "if (/[{}]/.test(prefix)) {",
    replace: 'if (prefix === "{}") {',
    tests: [`${test}/keyNames.test.ts`],
  },
];
