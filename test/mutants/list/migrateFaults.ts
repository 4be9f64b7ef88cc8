import type { Mutant } from "../mutant.ts";

const src = "packages/features/migrate/src";
const test = "packages/features/migrate/test";

export const migrateFaults: readonly Mutant[] = [
  {
    id: "mif01",
    kind: "fault",
    what: "the source is deleted although the copy differs",
    file: `${src}/copy/moveThread.ts`,
    find: "if (options.deletes === undefined || differences.length > 0)",
    replace: "if (options.deletes === undefined)",
    tests: [`${test}/moveThreads.test.ts`],
  },
  {
    id: "mif02",
    kind: "fault",
    what: "what was there already is counted as copied",
    file: `${src}/copy/moveThread.ts`,
    find: "if (there.records.has(entryKey(record)) && !isReplaced) continue;",
    replace: "",
    tests: [`${test}/moveThreads.test.ts`],
  },
  {
    id: "mif03",
    kind: "fault",
    what: "tags don't come along: a deletion by tag misses the moved threads",
    file: `${src}/copy/tags.ts`,
    find: "if (forms.length > 0) await tier.tagThread(threadId, forms);",
    replace: "",
    tests: [`${test}/moveThreads.test.ts`],
  },
  {
    id: "mif04",
    kind: "fault",
    what: "the error of an unknown URL shows its password",
    file: `${src}/addresses.ts`,
    find: "{ scheme }: Place): InvalidOptionError {\n  return new InvalidOptionError(field, `${scheme}:…`, advice);",
    replace:
      "{ scheme, rest }: Place): InvalidOptionError {\n  return new InvalidOptionError(field, `${scheme}:…${rest}`, advice);",
    tests: [`${test}/sqliteSource.test.ts`],
  },
  {
    id: "mif05",
    kind: "fault",
    what: "a thread that was continued on both sides is mixed",
    file: `${src}/copy/moveThread.ts`,
    find: "if (since.target && since.source) {",
    replace: "if (since.target && !since.target) {",
    tests: [`${test}/moveThreads.test.ts`],
  },
];
