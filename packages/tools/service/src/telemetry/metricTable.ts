/** One metric. OpenTelemetry gets it under this name, Prometheus under {@link prometheusName}: what an OpenTelemetry exporter makes of it. */
export interface Metric {
  /** With dots, as OpenTelemetry's conventions have it. */
  readonly name: string;
  /** A counter only grows; a gauge is the present value; a histogram counts values by size. */
  readonly kind: "counter" | "gauge" | "histogram";
  /** As UCUM has it: seconds, bytes, or something counted. */
  readonly unit: "s" | "By" | `{${string}}`;
  readonly help: string;
  /** Names of its attributes. None of them is ever the id of a thread or of anything else that there are many of. */
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

/** OpenTelemetry's advice for durations of database calls, in seconds. */
const seconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] as const;
/** Nodes and tools wait for models. */
const longSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300] as const;
const bytes = [
  256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
] as const;

/** All metrics. The instruments, the documentation, the dashboard and the alerts read this table. */
export const metricTable = {
  operations: {
    name: "stratigraph.operation.duration",
    kind: "histogram",
    unit: "s",
    help: "Duration of a saver's methods, such as put and getTuple, by how they ended. `error.type` is the code of a failure.",
    labels: ["operation", "outcome", "error.type"],
    buckets: seconds,
  },
  operationBytes: {
    name: "stratigraph.operation.size",
    kind: "histogram",
    unit: "By",
    help: "Encoded bytes that a put or putWrites stored, or that a getTuple got from its tier.",
    labels: ["operation"],
    buckets: bytes,
  },
  reads: {
    name: "stratigraph.reads",
    kind: "counter",
    unit: "{read}",
    help: "Checkpoints read, by where their values came from: this process's memory, or the tier.",
    labels: ["source"],
  },
  calls: {
    name: "db.client.operation.duration",
    kind: "histogram",
    unit: "s",
    help: "Duration of the calls of tiers: statements, requests, scripts. OpenTelemetry's metric of database clients.",
    labels: ["db.system.name", "db.operation.name", "error.type", "stratigraph.tier"],
    buckets: seconds,
  },
  callsActive: {
    name: "stratigraph.calls.active",
    kind: "gauge",
    unit: "{call}",
    help: "Calls of a tier that are under way or wait for a connection.",
    labels: ["tier"],
  },
  sent: {
    name: "stratigraph.tier.sent",
    kind: "counter",
    unit: "By",
    help: "Bytes of ids and contents sent to a tier.",
    labels: ["tier"],
  },
  received: {
    name: "stratigraph.tier.received",
    kind: "counter",
    unit: "By",
    help: "Bytes of ids and contents received from a tier.",
    labels: ["tier"],
  },
  hotReads: {
    name: "stratigraph.hot.reads",
    kind: "counter",
    unit: "{read}",
    help: "Reads that a hot tier answered (hit), couldn't (miss), or wasn't asked (skipped, as its breaker was open).",
    labels: ["tier", "result"],
  },
  cached: {
    name: "stratigraph.cached",
    kind: "counter",
    unit: "{value}",
    help: "Values of nodes and tasks that a cache was asked for (hit, miss; waited: another computed it meanwhile), or couldn't read, store or be asked for (unreadable, unstored, failed).",
    labels: ["tier", "result"],
  },
  conflicts: {
    name: "stratigraph.conflicts",
    kind: "counter",
    unit: "{conflict}",
    help: "Checkpoints whose writer lost the race for the head: stored as a side branch (branched) or refused (thrown).",
    labels: ["outcome"],
  },
  retries: {
    name: "stratigraph.retries",
    kind: "counter",
    unit: "{retry}",
    help: "Calls of a tier that were repeated after a passing failure.",
    labels: ["tier"],
  },
  breakers: {
    name: "stratigraph.breaker.state",
    kind: "gauge",
    unit: "{state}",
    help: "Whether a tier is used: 0 closed (used), 1 half-open (tried), 2 open (left alone).",
    labels: ["tier", "use"],
  },
  queue: {
    name: "stratigraph.copy.queue",
    kind: "gauge",
    unit: "{copy}",
    help: "Copies that wait to be made to a hot tier.",
    labels: ["tier"],
  },
  queueBytes: {
    name: "stratigraph.copy.queue.size",
    kind: "gauge",
    unit: "By",
    help: "Memory that waiting copies hold.",
    labels: ["tier"],
  },
  dropped: {
    name: "stratigraph.dropped",
    kind: "counter",
    unit: "{piece}",
    help: "Work on hot tiers that was given up, which costs time later and nothing else.",
    labels: ["tier", "what"],
  },
  lateWrites: {
    name: "stratigraph.late_writes.dropped",
    kind: "counter",
    unit: "{write}",
    help: "Writes of runs whose thread had been deleted, under durability async.",
    labels: [],
  },
  behind: {
    name: "stratigraph.reads.behind",
    kind: "counter",
    unit: "{read}",
    help: "Reads of history that a replica answered because the primary was down; the newest checkpoints may have been missing.",
    labels: ["tier"],
  },
  unreachable: {
    name: "stratigraph.tier.unreachable",
    kind: "counter",
    unit: "{time}",
    help: "How often an optional tier couldn't be reached when a stack was opened.",
    labels: ["tier", "role"],
  },
  hookFailures: {
    name: "stratigraph.hook.failures",
    kind: "counter",
    unit: "{failure}",
    help: "Functions of the application that a saver called and that threw.",
    labels: ["hook"],
  },
  maintained: {
    name: "stratigraph.maintenance.threads",
    kind: "counter",
    unit: "{thread}",
    help: "Threads that maintenance archived, pruned, trimmed or deleted, and steps that failed.",
    labels: ["what", "outcome"],
  },
  maintainedAt: {
    name: "stratigraph.maintenance.last_success",
    kind: "gauge",
    unit: "s",
    help: "When a batch of maintenance last ended well in this process, in seconds since 1970.",
    labels: [],
  },
  storedBytes: {
    name: "stratigraph.stored.size",
    kind: "gauge",
    unit: "By",
    help: "Stored bytes, as the operation `stats` last told them in this process. Never computed on a scrape.",
    labels: ["tier"],
  },
  storedThreads: {
    name: "stratigraph.threads",
    kind: "gauge",
    unit: "{thread}",
    help: "Stored threads, as the operation `stats` last told them in this process.",
    labels: [],
  },
  damage: {
    name: "stratigraph.verify.findings",
    kind: "gauge",
    unit: "{finding}",
    help: "What `verify` found the last time that it ended in this process.",
    labels: ["severity"],
  },
  verifiedAt: {
    name: "stratigraph.verify.last_success",
    kind: "gauge",
    unit: "s",
    help: "When `verify` last went through all it was to look at, in seconds since 1970.",
    labels: [],
  },
  toolCalls: {
    name: "stratigraph.tool.duration",
    kind: "histogram",
    unit: "s",
    help: "Calls of tools that go through a journal, by what became of them.",
    labels: ["tool", "outcome"],
    buckets: longSeconds,
  },
  nodes: {
    name: "stratigraph.node.duration",
    kind: "histogram",
    unit: "s",
    help: "Executions of a graph's nodes: ok, failed, or interrupted to wait for a person.",
    labels: ["graph", "node", "outcome"],
    buckets: longSeconds,
  },
} as const satisfies Record<string, Metric>;

/** A metric by its key in the table. */
export type MetricKey = keyof typeof metricTable;

/** Attributes of a measurement. */
export type Labels = Readonly<Record<string, string>>;

/** The name that an OpenTelemetry exporter for Prometheus gives to a metric: underscores, the unit, and `_total` for a counter. */
export function prometheusName({ name, unit, kind }: Metric): string {
  const units: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };
  return `${name.replaceAll(".", "_")}${units[unit] ?? ""}${kind === "counter" ? "_total" : ""}`;
}

/** The name that such an exporter gives to an attribute. */
export function prometheusLabel(label: string): string {
  return label.replaceAll(".", "_");
}
