import { Queries } from "./queries.ts";

/** Series in promtool's notation, and whether the alert fires at `at`. */
interface Case {
  readonly what: string;
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  readonly fires: boolean;
  /** Between two values. Default "1m". */
  readonly interval?: string;
}

const queries = new Queries(['job="agents"', 'instance="a:1"']);
const operations = (operation: string, outcome: string, errorType = ""): string =>
  queries.count("operations", {
    operation: `="${operation}"`,
    outcome: `="${outcome}"`,
    "error.type": `="${errorType}"`,
  });
const puts = operations("put", "ok");
const putBuckets = (le: string): string =>
  queries.buckets("operations", { operation: '="put"', outcome: '="ok"', le: `="${le}"` });
const breaker = queries.of("breakers", { tier: '="redis"', use: '="reads"' });
const dropped = queries.of("dropped", { tier: '="redis"', what: '="copies"' });
const conflicts = queries.of("conflicts", { outcome: '="branched"' });
const late = queries.of("lateWrites");
const maintained = queries.of("maintainedAt");
const stored = queries.of("storedBytes", { tier: '="postgres"' });
const tool = (outcome: string): string =>
  queries.count("toolCalls", { tool: '="charge"', outcome: `="${outcome}"` });
const probe = 'probe_success{job="stratigraph-readyz",instance="http://a:1/readyz"}';
const up = 'up{job="agents",instance="a:1"}';

/** What makes each alert fire, and what doesn't. */
export const alertCases: Readonly<Record<string, readonly Case[]>> = {
  WarmTierDown: [
    {
      what: "puts fail",
      series: { [operations("put", "failed", "UNAVAILABLE")]: "0+30x10" },
      at: "5m",
      fires: true,
    },
    {
      what: "too many wait",
      series: { [operations("getTuple", "failed", "OVERLOADED")]: "0+30x10" },
      at: "5m",
      fires: true,
    },
    {
      what: "it is back",
      series: { [operations("put", "failed", "UNAVAILABLE")]: "0+30x5 150x20" },
      at: "20m",
      fires: false,
    },
    {
      what: "another error",
      series: { [operations("put", "failed", "INVALID_OPTION")]: "0+30x10" },
      at: "5m",
      fires: false,
    },
    {
      what: "the archive is down",
      series: { [operations("getTuple", "failed", "ARCHIVE_UNAVAILABLE")]: "0+30x10" },
      at: "5m",
      fires: false,
    },
  ],
  ReadyzFailing: [
    { what: "503", series: { [probe]: "1x3 0x10" }, at: "10m", fires: true },
    { what: "200", series: { [probe]: "1x20" }, at: "10m", fires: false },
    { what: "a restart", series: { [probe]: "1x3 0 1x10" }, at: "10m", fires: false },
    {
      what: "no answer to a scrape",
      series: { [up]: "1x5 0x20", [puts]: "0+1x5 _x20" },
      at: "20m",
      fires: true,
    },
    { what: "another service is down", series: { [up]: "0x20" }, at: "20m", fires: false },
  ],
  LatencyP99: [
    {
      what: "a fifth is slow",
      series: { [puts]: "0+100x90", [putBuckets("0.5")]: "0+80x90" },
      at: "80m",
      fires: true,
    },
    {
      what: "one in 200 is slow",
      series: { [puts]: "0+200x90", [putBuckets("0.5")]: "0+199x90" },
      at: "80m",
      fires: false,
    },
    {
      what: "slow before, and fast again",
      series: { [puts]: "0+100x90", [putBuckets("0.5")]: "0+50x60 3100+100x30" },
      at: "75m",
      fires: false,
    },
    {
      what: "nobody does anything",
      series: { [puts]: "7x90", [putBuckets("0.5")]: "7x90" },
      at: "80m",
      fires: false,
    },
  ],
  BreakerOpen: [
    {
      what: "open, and tried now and then",
      series: { [breaker]: "0 2 2 1 2 2 1 2 2 2" },
      at: "8m",
      fires: true,
    },
    { what: "open for a moment", series: { [breaker]: "0 2 1 0 0 2 0 0 0 0" }, at: "8m", fires: false },
  ],
  CopiesDropped: [
    { what: "for a quarter of an hour", series: { [dropped]: "0+10x20" }, at: "15m", fires: true },
    { what: "once", series: { [dropped]: "0 5x20" }, at: "15m", fires: false },
  ],
  ConflictsHigh: [
    { what: "one in ten", series: { [puts]: "0+100x30", [conflicts]: "0+10x30" }, at: "25m", fires: true },
    {
      what: "one in a hundred",
      series: { [puts]: "0+100x30", [conflicts]: "0+1x30" },
      at: "25m",
      fires: false,
    },
  ],
  LateWrites: [
    { what: "one", series: { [late]: "0x5 1x5" }, at: "8m", fires: true },
    { what: "one, which is the first value there is", series: { [late]: "_x5 1x5" }, at: "8m", fires: true },
    { what: "none", series: { [late]: "0x10" }, at: "8m", fires: false },
    { what: "one, an hour ago", series: { [late]: "0x5 1x80" }, at: "70m", fires: false },
  ],
  MaintenanceStale: [
    {
      what: "the last one was at 10 minutes",
      series: { [maintained]: "0x9 600x120" },
      at: "100m",
      fires: true,
    },
    {
      what: "whoever did it is gone",
      series: { [maintained]: "0x9 600x20 _x100" },
      at: "100m",
      fires: true,
    },
    { what: "every minute", series: { [maintained]: "0+60x120" }, at: "100m", fires: false },
    { what: "a process that does none", series: { [maintained]: "0x120" }, at: "100m", fires: false },
  ],
  ArchiveUnavailable: [
    {
      what: "one read",
      series: { [operations("getTuple", "failed", "ARCHIVE_UNAVAILABLE")]: "_x5 1x20" },
      at: "8m",
      fires: true,
    },
    {
      what: "an hour ago",
      series: { [operations("getTuple", "failed", "ARCHIVE_UNAVAILABLE")]: "_x5 1x80" },
      at: "70m",
      fires: false,
    },
    { what: "nothing failed", series: { [operations("getTuple", "ok")]: "0+9x20" }, at: "8m", fires: false },
  ],
  VerifyDamage: [
    {
      what: "an error",
      series: { [queries.of("damage", { severity: '="error"' })]: "0x5 1x5" },
      at: "8m",
      fires: true,
    },
    {
      what: "only warnings",
      series: {
        [queries.of("damage", { severity: '="error"' })]: "0x10",
        [queries.of("damage", { severity: '="warning"' })]: "7x10",
      },
      at: "8m",
      fires: false,
    },
    {
      what: "repaired",
      series: { [queries.of("damage", { severity: '="error"' })]: "3x5 0x5" },
      at: "8m",
      fires: false,
    },
  ],
  StorageFull: [
    {
      what: "grows by 10 GB a day",
      series: { [stored]: "50e9+0.0278e9x400" },
      interval: "4m",
      at: "25h",
      fires: true,
    },
    {
      what: "grows by 1 GB a day",
      series: { [stored]: "50e9+0.0028e9x400" },
      interval: "4m",
      at: "25h",
      fires: false,
    },
    { what: "is there since an hour", series: { [stored]: "1e9+1e9x60" }, at: "50m", fires: false },
    {
      what: "writes fail",
      series: { [operations("put", "failed", "STORAGE_FULL")]: "_x5 1+5x30" },
      at: "30m",
      fires: true,
    },
  ],
  ToolOutcomeUnknown: [
    { what: "one", series: { [tool("unknown")]: "_x5 1x20" }, at: "8m", fires: true },
    {
      what: "one that can't be recorded",
      series: { [tool("unrecorded")]: "_x5 1x20" },
      at: "8m",
      fires: true,
    },
    {
      what: "others",
      series: { [tool("ran")]: "0+5x20", [tool("denied")]: "_x5 1x20" },
      at: "8m",
      fires: false,
    },
  ],
};

/** Files for `promtool test rules`: JSON, which is YAML too. What takes a day is evaluated less often. */
export function promtoolTests(rulesFile: string): readonly string[] {
  const all = Object.entries(alertCases).flatMap(([alert, cases]) =>
    cases.map((each) => ({ alert, ...each, isLong: each.interval !== undefined })),
  );
  return [false, true].map((wanted) =>
    JSON.stringify({
      rule_files: [rulesFile],
      evaluation_interval: wanted ? "10m" : "1m",
      // Without it promtool takes the groups in any order, and a limit that was evaluated ten minutes ago is no longer seen.
      group_eval_order: ["stratigraph-limits", "stratigraph"],
      tests: all
        .filter(({ isLong }) => isLong === wanted)
        .map(({ alert, what, series, at, fires, interval = "1m" }) => ({
          name: `${alert}: ${what}`,
          interval,
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          promql_expr_test: [
            {
              expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
              eval_time: at,
              exp_samples: fires ? [{ labels: "{}", value: 1 }] : [],
            },
          ],
        })),
    }),
  );
}
