import { by, grown, Queries } from "./queries.ts";

/** An alerting rule of Prometheus. */
export interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** How long the expression has to hold. */
  readonly for: string;
  /** page: somebody gets up; ticket: somebody looks at it during the day. */
  readonly severity: "page" | "ticket";
  readonly summary: string;
  readonly description: string;
}

/** A rule that gives a value a name. */
export interface Recording {
  readonly record: string;
  readonly expr: string;
}

/** The page of an alert, from the repository's top folder. */
export function runbookOf(alert: string): string {
  return `docs/runbooks/${alert.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()}.md`;
}

const queries = new Queries();
const foreground = '=~"put|putWrites|getTuple"';

/** Of the calls that an agent waits for, the part that took over half a second; the objective is 1 %. */
function slow(window: string): string {
  const part = (selector: string): string => by("sum", "operations", ["job"], `rate(${selector}[${window}])`);
  const fast = part(queries.buckets("operations", { operation: foreground, le: '="0.5"' }));
  const all = part(queries.count("operations", { operation: foreground }));
  return `1 - ${fast} / ${all}`;
}

/** The owner of the bytes says how many it may hold; Stratigraph doesn't know. */
const limit = "stratigraph:stored_limit_bytes";
export const recordings: readonly Recording[] = [{ record: limit, expr: "vector(100e9)" }];

const stored = queries.of("storedBytes");
const breaker = queries.of("breakers");
const maintained = queries.of("maintainedAt");

export const alerts: readonly Alert[] = [
  {
    alert: "WarmTierDown",
    expr: `${by(
      "sum",
      "operations",
      ["job", "instance"],
      `rate(${queries.count("operations", { operation: foreground, "error.type": '=~"UNAVAILABLE|OVERLOADED"' })}[2m])`,
    )} > 0`,
    for: "1m",
    severity: "page",
    summary: "The storage that owns the threads doesn't answer {{ $labels.instance }}.",
    description:
      "Reads or writes of checkpoints fail with UNAVAILABLE or OVERLOADED ({{ $value | humanize }} a second). Runs end with that error and can be resumed.",
  },
  {
    alert: "ReadyzFailing",
    expr: `probe_success{job="stratigraph-readyz"} == 0 or (up == 0 and on (job, instance) ${by(
      "sum",
      "operations",
      ["job", "instance"],
      `count_over_time(${queries.count("operations")}[1h])`,
    )})`,
    for: "2m",
    severity: "page",
    summary: "{{ $labels.instance }} isn't ready.",
    description:
      "Its /readyz answers 503 or nothing, or it doesn't answer Prometheus any more although it did within the last hour.",
  },
  {
    alert: "LatencyP99",
    expr: `${slow("1h")} > 0.144 and ${slow("5m")} > 0.144`,
    for: "2m",
    severity: "page",
    summary: "Checkpoints of {{ $labels.job }} are slow.",
    description:
      "{{ $value | humanizePercentage }} of put, putWrites and getTuple took over 0.5 s within the last hour, and still do. At this rate, a month's allowance of 1 % is used up in two days.",
  },
  {
    alert: "BreakerOpen",
    expr: `${by("max", "breakers", ["job", "instance", "tier", "use"], breaker)} > 0`,
    for: "5m",
    severity: "ticket",
    summary: "{{ $labels.instance }} leaves the tier {{ $labels.tier }} alone.",
    description:
      "Calls of the tier ({{ $labels.use }}) have failed for 5 minutes, so it is only tried now and then. With a hot tier, reads are slower and the warm tier has more to do.",
  },
  {
    alert: "CopiesDropped",
    expr: `${by("sum", "dropped", ["job", "tier", "what"], `rate(${queries.of("dropped")}[5m])`)} > 0`,
    for: "10m",
    severity: "ticket",
    summary: "Work on the hot tier {{ $labels.tier }} is given up.",
    description:
      "{{ $value | humanize }} a second: {{ $labels.what }}. Nothing is lost, and later reads go to the warm tier.",
  },
  {
    alert: "ConflictsHigh",
    expr: `${by("sum", "conflicts", ["job"], `rate(${queries.of("conflicts")}[10m])`)} / ${by(
      "sum",
      "operations",
      ["job"],
      `rate(${queries.count("operations", { operation: '="put"' })}[10m])`,
    )} > 0.05`,
    for: "10m",
    severity: "ticket",
    summary: "Many runs of {{ $labels.job }} work on the same threads.",
    description: "{{ $value | humanizePercentage }} of all checkpoints lost the race for the head.",
  },
  {
    alert: "LateWrites",
    expr: `${by("sum", "lateWrites", ["job", "instance"], grown(queries.of("lateWrites"), "15m"))} > 0`,
    for: "0m",
    severity: "ticket",
    summary: "Runs wrote to threads that had been deleted.",
    description:
      "{{ $value | humanize }} writes were dropped on {{ $labels.instance }} within 15 minutes, as their threads had been deleted meanwhile.",
  },
  {
    alert: "MaintenanceStale",
    // Over a week, as the process that did it may be gone. Zero is a process that never did.
    expr: `time() - ${by("max", "maintainedAt", ["job"], `max_over_time(${maintained}[7d]) > 0`)} > 3600`,
    for: "5m",
    severity: "ticket",
    summary: "Nobody maintains the storage of {{ $labels.job }}.",
    description:
      "The last batch of maintenance ended well {{ $value | humanizeDuration }} ago. What is to be archived, pruned or deleted stays.",
  },
  {
    alert: "ArchiveUnavailable",
    expr: `${by(
      "sum",
      "operations",
      ["job", "instance"],
      grown(queries.count("operations", { "error.type": '="ARCHIVE_UNAVAILABLE"' }), "10m"),
    )} > 0`,
    for: "0m",
    severity: "ticket",
    summary: "Archived threads can't be read on {{ $labels.instance }}.",
    description:
      "{{ $value | humanize }} calls failed with ARCHIVE_UNAVAILABLE within 10 minutes. Threads in the warm tier aren't affected.",
  },
  {
    alert: "VerifyDamage",
    expr: `${by("max", "damage", ["job", "instance"], queries.of("damage", { severity: '="error"' }))} > 0`,
    for: "0m",
    severity: "page",
    summary: "Stored checkpoints are damaged.",
    description: "verify found {{ $value }} errors the last time that it ended on {{ $labels.instance }}.",
  },
  {
    alert: "StorageFull",
    // A trend of less than a day says nothing of a week.
    expr: `${by(
      "max",
      "storedBytes",
      ["job", "tier"],
      `predict_linear(${stored}[7d], 604800) and ${stored} offset 1d`,
    )} > scalar(${limit}) or ${by(
      "sum",
      "operations",
      ["job"],
      grown(queries.count("operations", { "error.type": '="STORAGE_FULL"' }), "10m"),
    )} > 0`,
    for: "10m",
    severity: "ticket",
    summary: "A storage of {{ $labels.job }} is full, or will be within a week.",
    description:
      "By the trend of the last week, the tier {{ $labels.tier }} holds more than its limit in a week; or writes fail with STORAGE_FULL already.",
  },
  {
    alert: "ToolOutcomeUnknown",
    expr: `${by(
      "sum",
      "toolCalls",
      ["job", "tool"],
      grown(queries.count("toolCalls", { outcome: '=~"unknown|unrecorded|unreconciled"' }), "1h"),
    )} > 0`,
    for: "0m",
    severity: "ticket",
    summary: "Nobody knows whether calls of {{ $labels.tool }} happened.",
    description:
      "{{ $value | humanize }} within an hour. Such a call isn't repeated, and its run waits for an answer.",
  },
];
