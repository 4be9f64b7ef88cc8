import type { Mutant } from "../mutant.ts";

export const tieredMutants: readonly Mutant[] = [
  {
    id: "ti01",
    kind: "guard",
    what: "a warm tier that was lost and is empty now deletes the archive of every thread",
    file: "packages/tiered/src/dueDeletions.ts",
    find: "owner.revision > 0 && owner.head",
    replace: "owner.head",
    tests: ["test/simulation/archive.test.ts"],
  },
  {
    id: "ti02",
    kind: "guard",
    what: "a process believes a copy that is older than what it has seen",
    file: "packages/tiered/src/trustedHeads.ts",
    find: "this.#doubts(at) || copy.revision < (this.#of(at)?.seenRevision ?? 0)",
    replace: "this.#doubts(at)",
    tests: ["test/simulation/archive.test.ts"],
  },
  {
    id: "ti04",
    kind: "guard",
    what: "two restores at once add pending writes twice",
    file: "packages/tiered/src/archive.ts",
    find: "if (now.revision !== state.revision) return false;",
    replace: "",
    tests: ["test/simulation/archive.test.ts"],
  },
  {
    id: "ti05",
    kind: "guard",
    what: "a record that is read back differently from the archive is accepted, and the thread evicted",
    file: "packages/tiered/src/archiveThread.ts",
    find: 'if (!isSame(record, copy)) throw notArchived(record, "its record differs");',
    replace: "",
    tests: ["test/simulation/archive.test.ts"],
  },
  {
    id: "x04",
    kind: "guard",
    what: "pending writes that came after archiving are evicted without a copy",
    file: "packages/tiered/src/moveToArchive.ts",
    find: "  await stack.restoreWritten(threadId);",
    replace: "",
    tests: ["test/simulation/archive.test.ts"],
  },
];
