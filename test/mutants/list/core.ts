import type { Mutant } from "../mutant.ts";

const late = ["packages/core/test/contract/saverLate.test.ts"];
const savers = ["test/simulation/savers.test.ts"];

export const coreMutants: readonly Mutant[] = [
  {
    id: "core05",
    kind: "guard",
    what: "after deleteForRuns, work that lost a race becomes the head",
    file: "packages/core/src/operations/keptCheckpoints.ts",
    find: "node.record.lostTo === undefined && ",
    replace: "",
    tests: ["packages/core/test/contract/saverMaintenance.test.ts"],
  },
  {
    id: "core07",
    kind: "guard",
    what: "a late write looks timely when it is repeated, and lands in the thread that began anew",
    file: "packages/core/src/saver/staleRetry.ts",
    find: "if (!wasDeleted) read =",
    replace: "read =",
    tests: late,
  },
  {
    id: "core13",
    kind: "guard",
    what: "a process lives up to 30 s longer after stored()",
    file: "packages/core/src/saver/storedWaits.ts",
    find: "      clearTimeout(timer);\n      signal?.",
    replace: "      signal?.",
    tests: savers,
  },
  {
    id: "core16",
    kind: "guard",
    what: "a thread that begins anew after its deletion has no tags: a deletion by tag misses it",
    file: "packages/core/src/saver/tierSaver.ts",
    find: "    this.#parents.forgetThread(threadId);\n    this.#tags.forget(threadId);",
    replace: "    this.#parents.forgetThread(threadId);",
    tests: ["packages/core/test/contract/saverTags.test.ts"],
  },
];
