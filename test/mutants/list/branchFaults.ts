import type { Mutant } from "../mutant.ts";

const src = "packages/features/branch/src";
const test = "packages/features/branch/test";

export const branchFaults: readonly Mutant[] = [
  {
    id: "brf01",
    kind: "fault",
    what: "a name with a slash gives the path of something else",
    file: `${src}/diffValues.ts`,
    find: '.replaceAll("/", "~1")',
    replace: "",
    tests: [`${test}/properties.test.ts`],
  },
  {
    id: "brf02",
    kind: "fault",
    what: "what both sides changed differently is taken from theirs without asking",
    file: `${src}/unionById.ts`,
    find: "else return { unsettled: `both sides changed the item ${id}` };",
    replace: "else kept.set(id, item.theirs);",
    tests: [`${test}/properties.test.ts`],
  },
  {
    id: "brf03",
    kind: "fault",
    what: "the result of a merge depends on which side is called ours",
    file: `${src}/unionValues.ts`,
    find: "(order.ours <= order.theirs ? [...mine, ...others] : [...others, ...mine])",
    replace: "[...mine, ...others]",
    tests: [`${test}/channels.test.ts`],
  },
  {
    id: "brf04",
    kind: "fault",
    what: "an item that one side took out of a Set comes back",
    file: `${src}/unionValues.ts`,
    find: "(before.has(one) ? ours.has(one) && theirs.has(one) : true)",
    replace: "(before.has(one) ? ours.has(one) || theirs.has(one) : true)",
    tests: [`${test}/properties.test.ts`],
  },
  {
    id: "brf05",
    kind: "fault",
    what: "a common ancestor of the nearest one counts as nearest, too",
    file: `${src}/mergeBase.ts`,
    find: "for (const ancestor of history.ancestors(id)) if (ancestor !== id) beyond.add(ancestor);",
    replace: "",
    tests: [`${test}/properties.test.ts`],
  },
  {
    id: "brf06",
    kind: "fault",
    what: "undo takes newer work along",
    file: `${src}/undo.ts`,
    find: "if (head !== last.to) {",
    replace: "if (head === undefined) {",
    tests: [`${test}/moves.test.ts`],
  },
];
