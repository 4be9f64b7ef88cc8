import type { Mutant } from "../mutant.ts";

const src = "packages/tools/service/src/telemetry";
const log = ["packages/tools/service/test/telemetry/log.test.ts"];
const observe = ["packages/tools/service/test/telemetry/observe.test.ts"];
const nodes = ["packages/tools/service/test/telemetry/nodes.test.ts"];

export const telemetryFaults: readonly Mutant[] = [
  {
    id: "tef01",
    kind: "fault",
    what: "lines name threads although threadIds is off",
    file: `${src}/log.ts`,
    find: "...(threads && threadId !== undefined ? { threadId } : {}),",
    replace: "...(threadId !== undefined ? { threadId } : {}),",
    tests: log,
  },
  {
    id: "tef02",
    kind: "fault",
    what: "an error whose text names a thread is told although threadIds is off",
    file: `${src}/log.ts`,
    find: "threads ? error : errorWithoutThread(error, threadId)",
    replace: "error",
    tests: log,
  },
  {
    id: "tef03",
    kind: "fault",
    what: "a thread whose id is escaped in the error's text is told",
    file: `${src}/errorWithoutThread.ts`,
    find: "text.includes(id) || text.includes(JSON.stringify(id).slice(1, -1))",
    replace: "text.includes(id)",
    tests: log,
  },
  {
    id: "tef04",
    kind: "fault",
    what: "a breaker that opens is no error in the log",
    file: `${src}/log.ts`,
    find: 'if (state === "open") return ["error",',
    replace: 'if (state === "open") return ["debug",',
    tests: log,
  },
  {
    id: "tef05",
    kind: "fault",
    what: "an application's names make endless series of metrics",
    file: `${src}/recorder.ts`,
    find: "if (values.size >= mostValues) return otherValue;",
    replace: "",
    tests: [...observe, ...nodes, "packages/tools/service/test/telemetry/metrics.test.ts"],
  },
  {
    id: "tef06",
    kind: "fault",
    what: "durations are milliseconds in a metric of seconds",
    file: `${src}/measure.ts`,
    find: 'this.#to.record("operations", ms / 1000, {',
    replace: 'this.#to.record("operations", ms, {',
    tests: [...observe, "packages/tools/service/test/telemetry/metrics.test.ts"],
  },
  {
    id: "tef07",
    kind: "fault",
    what: "a node that stops at a question counts as failed",
    file: `${src}/nodes.ts`,
    find: 'isInterrupt(error) ? "interrupted" : "failed"',
    replace: '"failed"',
    tests: nodes,
  },
  {
    id: "tef08",
    kind: "fault",
    what: "a logger that throws ends the process",
    file: `${src}/observe.ts`,
    find: 'if (event?.type !== "hook") trace({ type: "hook", hook, error });',
    replace: "throw error;",
    tests: [...observe, ...log],
  },
];
