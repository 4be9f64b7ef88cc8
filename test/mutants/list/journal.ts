import type { Mutant } from "../mutant.ts";

const log = "packages/journal/src/log/journalLog.ts";
const simulated = ["test/simulation/journal.test.ts"];

export const journalMutants: readonly Mutant[] = [
  {
    id: "jo03",
    kind: "guard",
    what: "in a thread that was deleted and begun anew, another call's record is taken for a call's result",
    file: log,
    find: 'const isIt = found === seq && "call" in event && event.call === call;',
    replace: "const isIt = found === seq;",
    tests: simulated,
  },
  {
    id: "jo04",
    kind: "guard",
    what: "a late run brings the journal of a deleted thread back, and makes its call",
    file: log,
    find: "        seen: tip.revision,\n",
    replace: "",
    tests: simulated,
  },
];
