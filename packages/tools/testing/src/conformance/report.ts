import type { ConformingSaver, ExtendedMethod } from "./clause.ts";

/** The result of one clause. */
export interface ClauseResult {
  clause: string;
  group: string;
  passed: boolean;
  /** Why it failed. */
  error?: string;
}

/** The results of all clauses for one saver. */
export interface ConformanceReport {
  /** Name of the saver. */
  saver: string;
  /** Extended methods that the saver doesn't have. Every clause about one of them counts as failed. */
  missing: ExtendedMethod[];
  results: ClauseResult[];
}

const methods: readonly ExtendedMethod[] = ["copyThread", "deleteForRuns", "prune"];

/** The extended methods that a saver lacks. */
export const missingMethods = (saver: ConformingSaver): ExtendedMethod[] =>
  methods.filter((method) => typeof saver[method] !== "function");

/** The names of a report's failed clauses, in order. */
export const failedClauses = (report: ConformanceReport): string[] =>
  report.results.filter((result) => !result.passed).map((result) => result.clause);

/**
 * Formats the reports of several savers as a table: how many clauses of each group each saver passes, then every clause that any of
 * them fails.
 */
export const formatReports = (reports: readonly ConformanceReport[]): string => {
  const groups = [...new Set(reports.flatMap((report) => report.results.map((result) => result.group)))];
  const tally = (report: ConformanceReport, group?: string): string => {
    const results = report.results.filter((result) => group === undefined || result.group === group);
    return `${results.filter((result) => result.passed).length}/${results.length}`;
  };
  const failing = [...new Set(reports.flatMap(failedClauses))];
  const mark = (report: ConformanceReport, clause: string): string => {
    const result = report.results.find((candidate) => candidate.clause === clause);
    return result === undefined ? "" : result.passed ? "pass" : "FAIL";
  };
  const rows = [
    ["capability", ...reports.map((report) => report.saver)],
    ...groups.map((group) => [group, ...reports.map((report) => tally(report, group))]),
    ["all", ...reports.map((report) => tally(report))],
    ...(failing.length === 0 ? [] : [["failed by one or more", ...reports.map(() => "")]]),
    ...failing.map((clause) => [`  ${clause}`, ...reports.map((report) => mark(report, clause))]),
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
};
