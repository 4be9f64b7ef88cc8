import type { Mutant } from "../mutant.ts";

const src = "packages/journal/src";
const tests = ["packages/journal/test/bound.test.ts"];

/** Whose journal it is: entries are bound to the thread that made them. */
export const boundMutants: readonly Mutant[] = [
  {
    id: "bt01",
    kind: "guard",
    what: "another thread's journal, put in place of a thread's own, is obeyed",
    file: `${src}/log/catchUp.ts`,
    find: "if (sealing.activeKey === undefined) return;",
    replace: "if (seq > 0) return;",
    tests,
  },
  {
    id: "bt02",
    kind: "guard",
    what: "once its beginning was cut off, nothing says whose a journal is",
    file: `${src}/log/calls.ts`,
    find: "this.thread = event.thread;\n      this.cutUpTo",
    replace: "this.cutUpTo",
    tests,
  },
  {
    id: "bt03",
    kind: "guard",
    what: "verify takes another thread's journal for a thread's own",
    file: `${src}/trail/verifyThread.ts`,
    find: "if (why !== undefined) return check.damaged(known.seq",
    replace: "if (why === null) return check.damaged(known.seq",
    tests,
  },
  {
    id: "bt04",
    kind: "guard",
    what: "an export signs another thread's journal as a thread's own",
    file: `${src}/journal.ts`,
    find: "if (this.#sealing.activeKey !== undefined) await",
    replace: "if (threadId === null) await",
    tests,
  },
  {
    id: "bt05",
    kind: "guard",
    what: "a journal that was emptied verifies",
    file: `${src}/trail/trailCheck.ts`,
    find: "if (last === undefined && this.#heads.length === 0)",
    replace: "if (last === null)",
    tests,
  },
  {
    id: "bt06",
    kind: "guard",
    what: "a thread into which a fork's fork was merged is refused",
    file: `${src}/log/origins.ts`,
    find: "reflog === undefined || reflog.lineage?.some((origin) => origin.threadId === from) === true",
    replace: "reflog === null",
    tests,
  },
  {
    id: "bt07",
    kind: "guard",
    what: "a fork's entries don't say that they are a fork's",
    file: `${src}/log/journalLog.ts`,
    find: "calls.thread === thread && calls.session",
    replace: "calls.session",
    tests,
  },
];
