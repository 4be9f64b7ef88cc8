import type { Mutant } from "../mutant.ts";

const lock = {
  file: "packages/tools/service/src/lock/threadLock.ts",
  tests: ["test/simulation/threadLock.test.ts"],
} as const;

export const serviceMutants: readonly Mutant[] = [
  {
    id: "sv03",
    kind: "guard",
    what: "a prolongation that arrives after the lock was given back locks the thread for the lease",
    ...lock,
    find: "if (held && this.#over) await this.giveBack();",
    replace: "",
  },
  {
    id: "sv04",
    kind: "guard",
    what: "readyz looks whether the process is draining before the tiers have answered: the balancer sends it runs that are refused",
    file: "packages/tools/service/src/health/readiness.ts",
    find: 'const tiers = await this.#asking;\n    return { status: isDraining() ? "draining"',
    replace:
      'const draining = isDraining();\n    const tiers = await this.#asking;\n    return { status: draining ? "draining"',
    tests: ["packages/tools/service/test/healthHandlers.test.ts"],
  },
  {
    id: "sv05",
    kind: "guard",
    what: "a lock counts from its late answer: it ends in the storage before it ends here, and two runs work on the thread",
    ...lock,
    find: "this.#renewal.begin(askedMs);",
    replace: "this.#renewal.begin(performance.now());",
  },
  {
    id: "sv06",
    kind: "guard",
    what: "a lock isn't prolonged: a run that takes longer than its lease loses it",
    ...lock,
    file: "packages/engine/core/src/maintenance/renewal.ts",
    find: "if (lost === undefined) this.#extend(askedMs);\n    else this.#lose(lost);",
    replace: "if (lost !== undefined) this.#lose(lost);",
  },
  {
    id: "sv07",
    kind: "guard",
    what: "a run that gave up waiting is given the turn: nobody of the process gets the thread any more",
    file: "packages/engine/core/src/maintenance/lockTurns.ts",
    find: "        waiting.splice(waiting.indexOf(next), 1);\n",
    replace: "",
    tests: ["test/simulation/threadLock.test.ts"],
  },
  {
    id: "sv08",
    kind: "guard",
    what: "a run that was ended while its lock was taken begins nevertheless",
    file: "packages/tools/service/src/lock/withThread.ts",
    find: "      signal?.throwIfAborted();\n      if (!state.held) throw busy();",
    replace: "      if (!state.held) throw busy();",
    tests: ["test/simulation/threadLock.test.ts"],
  },
  {
    id: "sv09",
    kind: "guard",
    what: "another default of lease: the thread of a process that died stays locked for an hour",
    file: "packages/tools/service/src/lock/withThreadOptions.ts",
    find: 'leaseFor = "30s"',
    replace: 'leaseFor = "1h"',
    tests: ["test/simulation/threadLock.test.ts"],
  },
  {
    id: "sv10",
    kind: "guard",
    what: "another default of limits.runs: Kubernetes kills the process before its checkpointer has ended",
    file: "packages/tools/service/src/drain/drainOptions.ts",
    find: 'runs: "15s"',
    replace: 'runs: "25s"',
    tests: ["test/simulation/drain.test.ts"],
  },
  {
    id: "sv11",
    kind: "guard",
    what: "maintenance that hangs is waited for after the runs, however long these took",
    file: "packages/tools/service/src/drain/service.ts",
    find: 'drainStep({ step: "maintenance" }, runsMs + limitsMs.maintenance,',
    replace: 'drainStep({ step: "maintenance" }, 2 * runsMs + limitsMs.maintenance,',
    tests: ["test/simulation/drain.test.ts"],
  },
];
