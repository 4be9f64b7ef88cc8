import { InvalidOptionError } from "@stratigraph/core";
import { kindOfValue } from "./checkSaver.ts";
import type { Comparison, ThreadSummary } from "./compare.ts";

const columns: readonly [heading: string, of: (thread: ThreadSummary) => string, right: boolean][] = [
  ["thread", ({ threadId }) => threadId, false],
  ["outcome", ({ outcome }) => outcome, false],
  ["steps", ({ steps }) => String(steps), true],
  ["tool calls", ({ toolCalls }) => callsOf(toolCalls), false],
  ["tokens", ({ tokens }) => String(tokens.total), true],
  ["time", ({ durationMs }) => timeOf(durationMs), true],
  ["last", ({ last = "" }) => clipped(last.replaceAll(/\s+/g, " "), 48), false],
];

/** Formats a comparison as a table. @throws InvalidOptionError */
export function formatComparison(comparison: Comparison): string {
  if (!Array.isArray((Object(comparison) as { threads?: unknown }).threads))
    throw new InvalidOptionError(
      "comparison",
      kindOfValue(comparison),
      "Pass what compare() returned: await it.",
    );
  const rows = [
    columns.map(([heading]) => heading),
    ...comparison.threads.map((thread) => columns.map(([, of]) => of(thread))),
  ];
  const widths = columns.map((_, n) => Math.max(...rows.map((row) => row[n]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, n) => (columns[n]![2] ? cell.padStart(widths[n]!) : cell.padEnd(widths[n]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function callsOf(calls: Readonly<Record<string, number>>): string {
  const named = Object.entries(calls).map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  return clipped(named.join(", ") || "none", 40);
}

function timeOf(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function clipped(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text;
}
