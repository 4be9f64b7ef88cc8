import type { Mutant } from "../mutant.ts";

const tests = ["test/simulation/repair.test.ts"];

export const operationsMutants: readonly Mutant[] = [
  {
    id: "x09",
    kind: "guard",
    what: "repair doesn't notice what was written since it looked: a blob that a run has just named is removed",
    file: "packages/operations/src/verify/repairStorage.ts",
    find: "  const revision = await revisionOf(place, threadId);\n  const holds = await isStillThere(found);",
    replace:
      "  const holds = await isStillThere(found);\n  const revision = await revisionOf(place, threadId);",
    tests,
  },
  {
    id: "op02",
    kind: "guard",
    what: "repair changes a thread at whatever revision it is",
    file: "packages/operations/src/verify/remedy.ts",
    find: "  return await place.changes.remove({ ...nothing, ...request });",
    replace:
      '  const { revision } = await place.tier.peek({ threadId: request.threadId, namespace: "" });\n  return await place.changes.remove({ ...nothing, ...request, revision });',
    tests,
  },
  {
    id: "op04",
    kind: "guard",
    what: "a thread that is deleted while its head is set ends the repair of all others",
    file: "packages/operations/src/verify/remedy.ts",
    find: '  "THREAD_DELETED",\n',
    replace: "",
    tests,
  },
  {
    id: "op05",
    kind: "guard",
    what: "a thread that is deleted while its head is set back ends the repair of all others",
    file: "packages/operations/src/verify/remedy.ts",
    find: '  "NOT_FOUND",\n',
    replace: "",
    tests,
  },
  {
    id: "op06",
    kind: "guard",
    what: "verify takes for damage what somebody changed while it looked",
    file: "packages/operations/src/verify/verifyThread.ts",
    find: "const holds = isSettled || (await isFoundAgain(storage, threadId, suspicion, look));",
    replace: "const holds = true;",
    tests,
  },
  {
    id: "op07",
    kind: "guard",
    what: "verify calls blobs orphans that came with a checkpoint while it looked",
    file: "packages/operations/src/verify/verifyThread.ts",
    find: "if (candidates.length === 0 || isSettled) return",
    replace: "if (true) return",
    tests,
  },
  {
    id: "op08",
    kind: "guard",
    what: "deleting by age deletes a thread that somebody wrote to since it was chosen",
    file: "packages/operations/src/change/delete.ts",
    find: "if (!(await tier.deleteUnchanged(threadId, revision!))) return undefined;",
    replace: "await tier.deleteThread(threadId);",
    tests: ["packages/operations/test/delete.test.ts"],
  },
  {
    id: "op30",
    kind: "guard",
    what: "an answer to a question that no longer waits becomes the value of the one that does",
    file: "packages/operations/src/run/interrupts.ts",
    find: "keys.every((key) => ids.has(key) || idForm.test(key))",
    replace: "keys.every((key) => ids.has(key))",
    tests: ["packages/operations/test/run/run.test.ts"],
  },
  {
    id: "op31",
    kind: "guard",
    what: "head~n gives up where a clock was set back and a parent's id sorts before its child's",
    file: "packages/operations/src/table/address.ts",
    find: "    passed.set(record.checkpointId, record);",
    replace: "    if (record.checkpointId === wanted) passed.set(record.checkpointId, record);",
    tests: ["packages/operations/test/show.test.ts"],
  },
];
