import { readFileSync } from "node:fs";

/**
 * One use of a thread, as a hot tier sees it. A trace is a list of them, oldest first; in a file, one JSON object per line.
 * Such a file can be written by an application: subscribe to the diagnostics channel "stratigraph", and write a line for each "call" event of the
 * hot tier whose method is "read" (a read) or "append" (a write).
 */
export interface ThreadUse {
  /** Milliseconds since the trace began. */
  readonly atMs: number;
  readonly thread: string;
  readonly use: "read" | "write";
  /** Bytes that a write adds to the thread; 0 for a read. */
  readonly bytes: number;
  /** True where a job reads every thread once: such reads are replayed, but don't count as hits. */
  readonly scan?: true | undefined;
}

/** Reads a trace. @throws Error naming the line that isn't one use, or is older than the one before */
export function readTrace(file: string): ThreadUse[] {
  const uses: ThreadUse[] = [];
  for (const [n, line] of readFileSync(file, "utf8").split("\n").entries()) {
    if (line.trim() === "") continue;
    const use = JSON.parse(line) as ThreadUse;
    const isUse =
      typeof use.thread === "string" &&
      (use.use === "read" || use.use === "write") &&
      Number.isFinite(use.atMs) &&
      use.bytes >= 0;
    if (!isUse || use.atMs < (uses.at(-1)?.atMs ?? 0))
      throw new Error(
        `${file}, line ${n + 1}: expected a use, not older than the one before, found ${line.slice(0, 80)}`,
      );
    uses.push(use);
  }
  return uses;
}
