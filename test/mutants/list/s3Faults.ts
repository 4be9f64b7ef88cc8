import type { Mutant } from "../mutant.ts";

const src = "packages/engine/s3/src";
const test = "packages/engine/s3/test";

export const s3Faults: readonly Mutant[] = [
  {
    id: "s3f01",
    kind: "fault",
    what: "ids that differ in upper case alone share a folder",
    file: `${src}/threadKey.ts`,
    find: "const plain = /^[a-z0-9][a-z0-9_-]{0,63}$/;",
    replace: "const plain = /^[a-z0-9][a-z0-9_-]{0,63}$/i;",
    tests: [`${test}/options.test.ts`],
  },
  {
    id: "s3f02",
    kind: "fault",
    what: "a damaged head is read",
    file: `${src}/head.ts`,
    find: 'if (!createHash("sha256").update(rest).digest().equals(object.subarray(magic.length, hashEnd)))',
    replace: "if (rest.length === 0)",
    tests: [`${test}/faults.test.ts`],
    name: "damaged and missing",
  },
  {
    id: "s3f05",
    kind: "fault",
    what: "every change makes a pack: a thread has as many objects as changes",
    file: `${src}/packsToMerge.ts`,
    find: "if (tailBytes <= tailLimitBytes) return undefined;",
    replace: "",
    tests: [`${test}/merging.test.ts`],
  },
  {
    id: "s3f06",
    kind: "fault",
    what: "packs are never merged: reading a thread takes a request for each",
    file: `${src}/packsToMerge.ts`,
    find: "if (grown * growth >= large.size) return open.slice(-2);",
    replace: "",
    tests: [`${test}/merging.test.ts`],
  },
];
