import type { Mutant } from "../mutant.ts";

const src = "packages/engine/postgres/src";
const test = "packages/engine/postgres/test";

export const postgresFaults: readonly Mutant[] = [
  {
    id: "pgf01",
    kind: "fault",
    what: "another shard than before is asked for a thread: it seems to be gone",
    file: `${src}/shards/shardOf.ts`,
    find: "mixed(hash ^ mixed(shard + 1))",
    replace: "mixed(hash ^ mixed(shard))",
    tests: [`${test}/shards/shardOf.test.ts`],
  },
  {
    id: "pgf02",
    kind: "fault",
    what: "the shard of a thread depends on half of each character",
    file: `${src}/shards/shardOf.ts`,
    find: "    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);\n",
    replace: "",
    tests: [`${test}/shards/shardOf.test.ts`],
  },
  {
    id: "pgf03",
    kind: "fault",
    what: "a standby is written to",
    file: `${src}/connection/serverUrls.ts`,
    find: "if (wanted !== null && !writing.has(wanted))",
    replace: 'if (wanted === "")',
    tests: [`${test}/serverUrls.test.ts`],
  },
  {
    id: "pgf04",
    kind: "fault",
    what: "servers of a list after the first one are asked without the login",
    file: `${src}/connection/serverUrls.ts`,
    find: "`${scheme}${authority.slice(0, at)}${host.trim()}${rest}`",
    replace: "`${scheme}${host.trim()}${rest}`",
    tests: [`${test}/serverUrls.test.ts`],
  },
];
