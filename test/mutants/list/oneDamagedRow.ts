import type { Mutant } from "../mutant.ts";

const engine = "packages/engine";
const story = `${engine}/tiered/test/stacks/damaged.test.ts`;

/** One damaged row ends a walk over all rows. */
export const oneDamagedRow: readonly Mutant[] = [
  {
    id: "od01",
    kind: "guard",
    what: "a damaged mark of a deleted thread ends the whole maintenance",
    file: `${engine}/tiered/src/dueDeletions.ts`,
    find: "{ deletedFromMs: this.#deletedFromMs, onDamaged: this.#onDamaged }",
    replace: "{ deletedFromMs: this.#deletedFromMs }",
    tests: [story],
    name: "a mark of a deleted thread",
  },
  {
    id: "od02",
    kind: "guard",
    what: "a damaged copy in the archive, or a damaged head, ends the whole maintenance",
    file: `${engine}/tiered/src/dueDeletions.ts`,
    find: 'if (!StratigraphError.is(error, "CORRUPT")) throw error;',
    replace: "throw error;",
    tests: [story],
    name: "a copy of a deleted thread",
  },
  {
    id: "od03",
    kind: "guard",
    what: "a damaged thread in Redis's index of open threads ends the listing",
    file: `${engine}/redis/src/threadIndex.ts`,
    find: 'if (found === "damaged") return;',
    replace: "",
    tests: [`${engine}/redis/test/indexes.test.ts`],
    name: "damaged thread among them is told",
  },
  {
    id: "od04",
    kind: "guard",
    what: "after a damaged workspace, a sweep of Redis leaves what is expired in the others",
    file: `${engine}/redis/src/items/spaces.ts`,
    find: 'if (!StratigraphError.is(error, "CORRUPT")) throw error;',
    replace: "throw error;",
    tests: [`${engine}/redis/test/items.test.ts`],
    name: "past damaged spaces",
  },
  {
    id: "od05",
    kind: "guard",
    what: "a damaged thread ends the change of keys",
    file: `${engine}/core/src/operations/reencrypt.ts`,
    find: "threads({ after: begin.after, onDamaged })",
    replace: "threads({ after: begin.after })",
    tests: [story],
    name: "a folder: the others are encrypted anew",
  },
  {
    id: "od06",
    kind: "guard",
    what: "a damaged thread ends a deletion by tags",
    file: `${engine}/core/src/operations/deleteThreads.ts`,
    find: "tier.threads({ tags, onDamaged })",
    replace: "tier.threads({ tags })",
    tests: [story],
    name: "a folder: the others are deleted by their tags",
  },
  {
    id: "od07",
    kind: "guard",
    what: "a deletion by tags deletes damaged threads that may be somebody else's",
    file: `${engine}/core/src/operations/deleteThreads.ts`,
    find: "if (threadId !== undefined && (await carries(tier, threadId, tags))) yield threadId;",
    replace: "if (threadId !== undefined) yield threadId;",
    tests: [story],
    name: "a folder: the others are deleted by their tags",
  },
];
