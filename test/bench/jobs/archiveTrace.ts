import { AdaptiveTtl } from "../../../packages/engine/tiered/src/adaptive/adaptiveTtl.ts";
import { generateTrace, type TraceShape } from "../traffic/generateTrace.ts";
import type { ThreadUse } from "../traffic/trace.ts";

/** One way to archive. */
export interface ArchivePolicy {
  /** "fixed" is what archiveAfter does: it goes by writes. "adaptive" isn't an option of a stack. */
  readonly policy: "fixed" | "adaptive";
  readonly archiveAfterMs: number;
  readonly restoreOn: "read" | "write";
}

/** Input of the job. */
export interface ArchiveTraceInput {
  readonly trace: TraceShape;
  readonly policies: readonly ArchivePolicy[];
}

/** What one policy did with a trace after its first third. */
export interface ArchiveTraceResult extends ArchivePolicy {
  /** Size of the warm tier over time: megabytes times days. */
  readonly megabyteDays: number;
  /** Reads that weren't scans, and how many of them had to wait for the archive. */
  readonly reads: number;
  readonly coldReads: number;
  /** How often a thread was brought back. */
  readonly restores: number;
}

/** Follows a trace by arithmetic, without tiers: what stays in the warm tier, and what is read from the archive. */
export function job({ trace, policies }: ArchiveTraceInput): ArchiveTraceResult[] {
  const uses = generateTrace(trace);
  return policies.map((policy) => follow(uses, policy));
}

/** A thread, as it was after its last use. */
interface Followed {
  bytes: number;
  atMs: number;
  /** When it is archived, unless it is used before. */
  untilMs: number;
}

function follow(uses: readonly ThreadUse[], policy: ArchivePolicy): ArchiveTraceResult {
  let nowMs = 0;
  const adaptive = new AdaptiveTtl(policy.archiveAfterMs, () => nowMs);
  const threads = new Map<string, Followed>();
  const endMs = uses.at(-1)?.atMs ?? 0;
  const learnedMs = endMs / 3;
  let [byteMs, reads, coldReads, restores] = [0, 0, 0, 0];
  const stayed = ({ bytes, atMs, untilMs }: Followed): number =>
    bytes * Math.max(0, Math.min(nowMs, untilMs) - Math.max(atMs, learnedMs));
  for (const { thread, use, bytes, atMs, scan } of uses) {
    nowMs = atMs;
    const known = threads.get(thread);
    if (known === undefined && use === "read") continue;
    const followed = known ?? { bytes: 0, atMs, untilMs: Number.POSITIVE_INFINITY };
    threads.set(thread, followed);
    byteMs += stayed(followed);
    const isCold = atMs > followed.untilMs;
    const isCounted = atMs >= learnedMs;
    if (isCounted && use === "read" && scan !== true) reads += 1;
    if (isCounted && use === "read" && scan !== true && isCold) coldReads += 1;
    const isWarmNow = !isCold || use === "write" || policy.restoreOn === "read";
    if (isCounted && isCold && isWarmNow) restores += 1;
    followed.bytes += bytes;
    followed.atMs = atMs;
    adaptive.used(thread, use, bytes);
    adaptive.sized(thread, followed.bytes);
    if (policy.policy === "adaptive" && isWarmNow) followed.untilMs = atMs + adaptive.ttlMsOf(thread);
    // Writing counts, and so does restoring. Reading what is in the warm tier doesn't.
    if (policy.policy === "fixed" && isWarmNow && (use === "write" || isCold))
      followed.untilMs = atMs + policy.archiveAfterMs;
  }
  nowMs = endMs;
  for (const followed of threads.values()) byteMs += stayed(followed);
  return { ...policy, megabyteDays: byteMs / 1e6 / 86_400_000, reads, coldReads, restores };
}
