// long file: every panel of the dashboard, row by row
import { by, Queries } from "./queries.ts";

/** A panel of the dashboard. */
export interface Panel {
  readonly title: string;
  readonly description: string;
  /** Grafana's name of the unit. */
  readonly unit: "ops" | "s" | "bytes" | "Bps" | "short" | "percentunit" | "reqps";
  /** Each with what its series are called in the legend. */
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
  /** Words for single values, such as those of states. */
  readonly words?: Readonly<Record<string, string>>;
}

/** A row of panels. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const queries = new Queries(['job=~"$job"', 'instance=~"$instance"']);
const rate = (selector: string): string => `rate(${selector}[$__rate_interval])`;
const quantile = (of: number, buckets: string): string => `histogram_quantile(${of}, ${buckets})`;

const operations = queries.count("operations");
const waited = { operation: '=~"put|putWrites|getTuple"' };
const durations = (of: number) => ({
  expr: quantile(
    of,
    by("sum", "operations", ["le", "operation"], rate(queries.buckets("operations", waited))),
  ),
  legend: `{{operation}} p${of * 100}`,
});

const traffic: Row = {
  title: "Traffic, errors, duration",
  panels: [
    {
      title: "Operations",
      description: "Calls of savers' methods.",
      unit: "ops",
      queries: [{ expr: by("sum", "operations", ["operation"], rate(operations)), legend: "{{operation}}" }],
    },
    {
      title: "Outcomes other than ok",
      description: "none: there was nothing to read; branched, conflict: another writer was faster.",
      unit: "ops",
      queries: [
        {
          expr: by(
            "sum",
            "operations",
            ["operation", "outcome"],
            rate(queries.count("operations", { outcome: '!="ok"' })),
          ),
          legend: "{{operation}} {{outcome}}",
        },
      ],
    },
    {
      title: "Errors",
      description: "By code; packages/engine/core/ERRORS.md explains each.",
      unit: "ops",
      queries: [
        {
          expr: by(
            "sum",
            "operations",
            ["error.type"],
            rate(queries.count("operations", { "error.type": '!=""' })),
          ),
          legend: "{{error_type}}",
        },
      ],
    },
    {
      title: "Duration",
      description: "Of what agents wait for.",
      unit: "s",
      queries: [durations(0.5), durations(0.99)],
    },
    {
      title: "Size of checkpoints",
      description: "Encoded bytes stored or read by one call, 95th percentile.",
      unit: "bytes",
      queries: [
        {
          expr: quantile(
            0.95,
            by("sum", "operationBytes", ["le", "operation"], rate(queries.buckets("operationBytes"))),
          ),
          legend: "{{operation}}",
        },
      ],
    },
    {
      title: "Late writes and failing hooks",
      description: "Writes to deleted threads, and functions of the application that threw.",
      unit: "ops",
      queries: [
        {
          expr: by("sum", "lateWrites", ["job"], rate(queries.of("lateWrites"))),
          legend: "late writes {{job}}",
        },
        {
          expr: by("sum", "hookFailures", ["hook"], rate(queries.of("hookFailures"))),
          legend: "{{hook}} threw",
        },
      ],
    },
  ],
};

const tierName = "stratigraph.tier";
const tiers: Row = {
  title: "Tiers and hit rate",
  panels: [
    {
      title: "Where values came from",
      description: "A process's own memory, or a tier.",
      unit: "ops",
      queries: [{ expr: by("sum", "reads", ["source"], rate(queries.of("reads"))), legend: "{{source}}" }],
    },
    {
      title: "Hit rate of hot tiers",
      description: "Of the reads that a hot tier was asked.",
      unit: "percentunit",
      queries: [
        {
          expr: `${by("sum", "hotReads", ["tier"], rate(queries.of("hotReads", { result: '="hit"' })))} / ${by(
            "sum",
            "hotReads",
            ["tier"],
            rate(queries.of("hotReads", { result: '=~"hit|miss"' })),
          )}`,
          legend: "{{tier}}",
        },
      ],
    },
    {
      title: "Reads of hot tiers",
      description: "skipped: the tier wasn't asked, as its breaker was open.",
      unit: "ops",
      queries: [
        {
          expr: by("sum", "hotReads", ["tier", "result"], rate(queries.of("hotReads"))),
          legend: "{{tier}} {{result}}",
        },
      ],
    },
    {
      title: "Node cache",
      description:
        "Values of nodes and tasks that a cache was asked for. waited: another computed it meanwhile.",
      unit: "ops",
      queries: [
        {
          expr: by("sum", "cached", ["tier", "result"], rate(queries.of("cached"))),
          legend: "{{tier}} {{result}}",
        },
      ],
    },
    {
      title: "Calls of tiers",
      description: "Statements, requests, scripts.",
      unit: "reqps",
      queries: [
        {
          expr: by("sum", "calls", [tierName, "db.operation.name"], rate(queries.count("calls"))),
          legend: "{{stratigraph_tier}} {{db_operation_name}}",
        },
      ],
    },
    {
      title: "Duration of calls, p99",
      description: "Repetitions included.",
      unit: "s",
      queries: [
        {
          expr: quantile(0.99, by("sum", "calls", ["le", tierName], rate(queries.buckets("calls")))),
          legend: "{{stratigraph_tier}}",
        },
      ],
    },
    {
      title: "Failed calls",
      description: "By the error's code.",
      unit: "reqps",
      queries: [
        {
          expr: by(
            "sum",
            "calls",
            [tierName, "error.type"],
            rate(queries.count("calls", { "error.type": '!=""' })),
          ),
          legend: "{{stratigraph_tier}} {{error_type}}",
        },
      ],
    },
    {
      title: "Calls under way",
      description: "Those that wait for a connection included.",
      unit: "short",
      queries: [{ expr: by("sum", "callsActive", ["tier"], queries.of("callsActive")), legend: "{{tier}}" }],
    },
    {
      title: "Bytes to and from tiers",
      description: "Ids and contents.",
      unit: "Bps",
      queries: [
        { expr: by("sum", "sent", ["tier"], rate(queries.of("sent"))), legend: "{{tier}} sent" },
        {
          expr: by("sum", "received", ["tier"], rate(queries.of("received"))),
          legend: "{{tier}} received",
        },
      ],
    },
  ],
};

const trouble: Row = {
  title: "Conflicts, retries, breakers, queues",
  panels: [
    {
      title: "Conflicts",
      description: "Checkpoints that lost the race for the head.",
      unit: "ops",
      queries: [
        { expr: by("sum", "conflicts", ["outcome"], rate(queries.of("conflicts"))), legend: "{{outcome}}" },
      ],
    },
    {
      title: "Retries",
      description: "Calls that were repeated after a passing failure.",
      unit: "ops",
      queries: [{ expr: by("sum", "retries", ["tier"], rate(queries.of("retries"))), legend: "{{tier}}" }],
    },
    {
      title: "Breakers",
      description: "Whether each tier is used.",
      unit: "short",
      words: { 0: "closed", 1: "half-open", 2: "open" },
      queries: [
        {
          expr: by("max", "breakers", ["instance", "tier", "use"], queries.of("breakers")),
          legend: "{{instance}} {{tier}} {{use}}",
        },
      ],
    },
    {
      title: "Copies that wait",
      description: "To be made to a hot tier.",
      unit: "short",
      queries: [{ expr: by("sum", "queue", ["tier"], queries.of("queue")), legend: "{{tier}}" }],
    },
    {
      title: "Memory of waiting copies",
      description: "Bounded by the option queue.maxSize.",
      unit: "bytes",
      queries: [{ expr: by("sum", "queueBytes", ["tier"], queries.of("queueBytes")), legend: "{{tier}}" }],
    },
    {
      title: "Given up",
      description: "Work on hot tiers. Nothing is lost.",
      unit: "ops",
      queries: [
        {
          expr: by("sum", "dropped", ["tier", "what"], rate(queries.of("dropped"))),
          legend: "{{tier}} {{what}}",
        },
      ],
    },
    {
      title: "Reads of replicas that may be behind",
      description: "The primary was down.",
      unit: "ops",
      queries: [{ expr: by("sum", "behind", ["tier"], rate(queries.of("behind"))), legend: "{{tier}}" }],
    },
    {
      title: "Unreachable when opened",
      description: "Tiers that a stack can do without; since the processes started.",
      unit: "short",
      queries: [
        {
          expr: by("sum", "unreachable", ["tier", "role"], queries.of("unreachable")),
          legend: "{{tier}} {{role}}",
        },
      ],
    },
  ],
};

const work: Row = {
  title: "Graph nodes and tools",
  panels: [
    {
      title: "Executions of nodes",
      description: "interrupted: it waits for a person.",
      unit: "ops",
      queries: [
        {
          expr: by("sum", "nodes", ["graph", "node", "outcome"], rate(queries.count("nodes"))),
          legend: "{{graph}} {{node}} {{outcome}}",
        },
      ],
    },
    {
      title: "Duration of nodes, p95",
      description: "With the models and tools that they wait for.",
      unit: "s",
      queries: [
        {
          expr: quantile(0.95, by("sum", "nodes", ["le", "graph", "node"], rate(queries.buckets("nodes")))),
          legend: "{{graph}} {{node}}",
        },
      ],
    },
    {
      title: "Calls of tools",
      description: "Those that go through a journal. unknown: nobody knows whether it happened.",
      unit: "ops",
      queries: [
        {
          expr: by("sum", "toolCalls", ["tool", "outcome"], rate(queries.count("toolCalls"))),
          legend: "{{tool}} {{outcome}}",
        },
      ],
    },
    {
      title: "Duration of tools, p95",
      description: "Replayed calls included.",
      unit: "s",
      queries: [
        {
          expr: quantile(0.95, by("sum", "toolCalls", ["le", "tool"], rate(queries.buckets("toolCalls")))),
          legend: "{{tool}}",
        },
      ],
    },
  ],
};

// The newest count is one process's. Others may have older ones, and nobody's are to be added up.
const stored = queries.of("storedBytes");
const storage: Row = {
  title: "Storage and growth",
  panels: [
    {
      title: "Stored bytes",
      description: "As the operation stats last told them.",
      unit: "bytes",
      queries: [{ expr: by("max", "storedBytes", ["tier"], stored), legend: "{{tier}}" }],
    },
    {
      title: "Growth in a day",
      description: "By the trend of the last day.",
      unit: "bytes",
      queries: [
        { expr: by("max", "storedBytes", ["tier"], `deriv(${stored}[1d]) * 86400`), legend: "{{tier}}" },
      ],
    },
    {
      title: "Threads",
      description: "As the operation stats last told them.",
      unit: "short",
      queries: [
        {
          expr: by("max", "storedThreads", ["job"], `${queries.of("storedThreads")} > 0`),
          legend: "{{job}}",
        },
      ],
    },
  ],
};

const ago = (key: "maintainedAt" | "verifiedAt"): string =>
  `time() - ${by("max", key, ["job"], `${queries.of(key)} > 0`)}`;
const care: Row = {
  title: "Maintenance and verify",
  panels: [
    {
      title: "Since maintenance ended well",
      description: "In any process.",
      unit: "s",
      queries: [{ expr: ago("maintainedAt"), legend: "{{job}}" }],
    },
    {
      title: "Maintained threads",
      description: "Archived, pruned, trimmed, deleted, and what failed.",
      unit: "ops",
      queries: [
        {
          expr: by("sum", "maintained", ["what", "outcome"], rate(queries.of("maintained"))),
          legend: "{{what}} {{outcome}}",
        },
      ],
    },
    {
      title: "Since verify ended",
      description: "It went through all that it was to look at.",
      unit: "s",
      queries: [{ expr: ago("verifiedAt"), legend: "{{job}}" }],
    },
    {
      title: "Findings of verify",
      description: "Of the last time.",
      unit: "short",
      queries: [{ expr: by("max", "damage", ["severity"], queries.of("damage")), legend: "{{severity}}" }],
    },
  ],
};

export const rows: readonly Row[] = [traffic, tiers, trouble, work, storage, care];
