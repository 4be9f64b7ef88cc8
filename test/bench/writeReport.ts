import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { formatTable } from "./format.ts";
import type { Table } from "./types.ts";

const FILE = new URL("../../docs/benchmarks.md", import.meta.url);

/** Writes the tables, the command and the machine to docs/benchmarks.md; returns that name. */
export function writeReport(tables: readonly Table[], postgresVersion: string, command: string): string {
  const processor = cpus();
  const machine = [
    `${processor[0]?.model.trim() || "unknown CPU"}, ${processor.length} cores`,
    `${Math.round(totalmem() / 1e9)} GB of memory`,
    `Node ${process.versions.node}`,
    `PostgreSQL ${postgresVersion} on loopback, fsync on`,
    new Date().toISOString().slice(0, 10),
  ];
  const text = [
    "# Benchmarks",
    "",
    "Written by the command below; do not edit. Single runs: expect ±15 %, more where the machine does other work.",
    "The savers are measured one after another in the same run, so ratios travel better than figures.",
    "",
    "```sh",
    command,
    "```",
    "",
    `Machine: ${machine.join("; ")}.`,
    "",
    ...tables.flatMap((table) => [formatTable(table), ""]),
  ].join("\n");
  mkdirSync(new URL(".", FILE), { recursive: true });
  writeFileSync(FILE, text);
  return "docs/benchmarks.md";
}
