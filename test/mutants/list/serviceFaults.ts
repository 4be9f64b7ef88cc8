import type { Mutant } from "../mutant.ts";

const src = "packages/tools/service/src";
const test = "packages/tools/service/test";

export const serviceFaults: readonly Mutant[] = [
  {
    id: "sef01",
    kind: "fault",
    what: "the order of names decides where a thread goes: two processes disagree",
    file: `${src}/preferredInstance.ts`,
    find: "next.score.compare(best.score) > 0 ? next : best",
    replace: "next.score.compare(best.score) >= 0 || true ? next : best",
    tests: [`${test}/preferredInstance.test.ts`],
  },
  {
    id: "sef02",
    kind: "fault",
    what: "a process that can't serve is sent requests",
    file: `${src}/health/healthHandlers.ts`,
    find: 'return status === "ready" || status === "degraded" ? 200 : 503;',
    replace: 'return status !== "draining" ? 200 : 503;',
    tests: [`${test}/healthHandlers.test.ts`],
  },
  {
    id: "sef03",
    kind: "fault",
    what: "without a cache every process is taken out of the balancer",
    file: `${src}/health/healthHandlers.ts`,
    find: 'return status === "ready" || status === "degraded" ? 200 : 503;',
    replace: 'return status === "ready" ? 200 : 503;',
    tests: [`${test}/healthHandlers.test.ts`],
  },
  {
    id: "sef04",
    kind: "fault",
    what: "probes of a process tell anybody its tiers",
    file: `${src}/health/healthHandlers.ts`,
    find: "isVerbose ? { status, tiers } : { status }",
    replace: "{ status, tiers }",
    tests: [`${test}/healthHandlers.test.ts`],
  },
  {
    id: "sef05",
    kind: "fault",
    what: "why metrics fail is told to anybody",
    file: `${src}/health/healthHandlers.ts`,
    find: 'return json({ status: "metrics couldn\'t be rendered" }, 500);',
    replace: 'return json({ status: "failed" }, 200);',
    tests: [`${test}/healthHandlers.test.ts`],
  },
  {
    id: "sef06",
    kind: "fault",
    what: "work of a busy thread begins all the same",
    file: `${src}/lock/withThread.ts`,
    find: "if (!state.held) throw busy();",
    replace: "",
    tests: [`${test}/withThread.test.ts`],
  },
  {
    id: "sef07",
    kind: "fault",
    what: "runs of one process don't wait for each other in turn: the last comes first",
    file: "packages/engine/core/src/maintenance/lockTurns.ts",
    find: "?.waiting.shift()",
    replace: "?.waiting.pop()",
    tests: [`${test}/withThread.test.ts`],
  },
];
