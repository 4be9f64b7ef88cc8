import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import type { Conversations } from "./conversations.ts";
import { formatTable } from "./format.ts";
import type { Table } from "./types.ts";

const FILE = new URL("../../docs/benchmarks.md", import.meta.url);

/** What stands below this line is written by people (what stands in the way of a target) and is kept. */
const BY_HAND = "<!-- Below this line: notes written by hand, kept by `pnpm bench --write`. -->";

/** How the figures came about. */
export interface Circumstances {
  postgresVersion: string;
  /** Where the replayed conversations come from. */
  conversations: Conversations["origin"];
  command: string;
  /** Load average of the last minute before the run. */
  load: number;
}

/** Writes the tables, the command and the machine to docs/benchmarks.md; returns that name. */
export function writeReport(tables: readonly Table[], run: Circumstances): string {
  const processors = cpus();
  const machine = [
    `${processors[0]?.model.trim() || "unknown CPU"}, ${processors.length} cores`,
    `${Math.round(totalmem() / 1e9)} GB of memory`,
    `Node ${process.versions.node}`,
    `PostgreSQL ${run.postgresVersion} on loopback, fsync on`,
    `${new Date().toISOString().slice(0, 10)}, load average before the run ${run.load.toFixed(1)}`,
  ];
  const text = [
    "# Benchmarks",
    "",
    "Written by the command below. Single runs: expect ±15 %, more where the machine does other work.",
    "The savers are measured one after another in the same run, so ratios travel better than figures.",
    "",
    "```sh",
    run.command,
    "```",
    "",
    `Machine: ${machine.join("; ")}.`,
    "",
    `The conversations are ${run.conversations} ones.`,
    "",
    ...tables.flatMap((table) => [formatTable(table), ""]),
    BY_HAND,
  ].join("\n");
  mkdirSync(new URL(".", FILE), { recursive: true });
  writeFileSync(FILE, text + notesByHand());
  return "docs/benchmarks.md";
}

function notesByHand(): string {
  if (!existsSync(FILE)) return "\n";
  const text = readFileSync(FILE, "utf8");
  const start = text.indexOf(BY_HAND);
  return start < 0 ? "\n" : text.slice(start + BY_HAND.length);
}
