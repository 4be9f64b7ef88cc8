import type { Mutant } from "../mutant.ts";

const simulated = ["test/simulation/branch.test.ts"];

export const branchMutants: readonly Mutant[] = [
  {
    id: "br01",
    kind: "fault",
    what: "a fork of a side branch counts its own main line as a conflict, on tiers that can't fork",
    file: "packages/branch/src/fork.ts",
    find: "contents.records.map(({ lostTo: _lostTo, ...record }) =>",
    replace: "contents.records.map((record) =>",
    tests: ["packages/branch/test/branch.test.ts"],
    name: "lost a race",
  },
  {
    id: "br02",
    kind: "fault",
    what: "a merge asks about items that both sides changed alike",
    file: "packages/branch/src/unionById.ts",
    find: "sameValue(item.ours, item.theirs) || ",
    replace: "",
    tests: ["packages/branch/test/mergeDetails.test.ts"],
    name: "alike",
  },
  {
    id: "br03",
    kind: "guard",
    what: "a merge leaves out a value that another process has pruned: the merged checkpoint can't be read",
    file: "packages/branch/src/merge.ts",
    find: "  saver.coder.blobs.forgetThread(threadId);\n",
    replace: "",
    tests: simulated,
  },
];
