import { MemoryTier } from "@stratigraph/core";
import { TierStack, memory } from "@stratigraph/tiered";
import { generateTrace, type TraceShape } from "../traffic/generateTrace.ts";
import { policyOf, type PolicyName } from "../traffic/policies.ts";
import { readTrace, type ThreadUse } from "../traffic/trace.ts";
import { writeCheckpoint } from "../traffic/writeCheckpoint.ts";

/** How long copies stay in one replay. */
export interface Replayed {
  readonly policy: PolicyName;
  readonly ttlMs: number;
}

/** Input of the job. */
export interface ReplayInput {
  /** A file with a trace, or what to generate. */
  readonly trace: string | TraceShape;
  readonly replays: readonly Replayed[];
}

/** What one policy did with a trace, after its first third, in which it may learn. */
export interface ReplayResult extends Replayed {
  /** Reads that weren't scans, and those of them whose bytes came from the hot tier. */
  readonly reads: number;
  readonly hits: number;
  /** Size of the hot tier over time: megabytes times hours. */
  readonly megabyteHours: number;
}

/** The hot tier forgets when it is called, and a busy one always is: so it is called at least this often. */
const heartbeatMs = 10_000;

/** Replays a trace through stacks with one policy after another. The tiers are real ones in memory; their clock is the trace's. */
export async function job({ trace, replays }: ReplayInput): Promise<ReplayResult[]> {
  const uses = typeof trace === "string" ? readTrace(trace) : generateTrace(trace);
  const results: ReplayResult[] = [];
  for (const each of replays) results.push(await replay(uses, each));
  return results;
}

async function replay(uses: readonly ThreadUse[], { policy: name, ttlMs }: Replayed): Promise<ReplayResult> {
  let nowMs = 0;
  const clock = (): number => nowMs;
  const hot = memory({ maxSize: "8gb", forgetAfter: `${ttlMs}ms`, clock });
  const stack = new TierStack({
    hot,
    warm: new MemoryTier(clock),
    adaptiveTtl: name === "adaptive",
    clock,
  });
  const policy = policyOf(name, ttlMs, uses);
  if (policy !== undefined) hot.chooseTtl((thread) => policy.ttlMsOf(thread), ttlMs);
  const heads = new Map<string, number>();
  const learnedMs = (uses.at(-1)?.atMs ?? 0) / 3;
  let [reads, hits, byteMs] = [0, 0, 0];
  const passUntil = async (atMs: number): Promise<void> => {
    while (nowMs < atMs) {
      const fromMs = nowMs;
      nowMs = Math.min(atMs, hot.size > 0 ? nowMs + heartbeatMs : atMs);
      byteMs += hot.size * Math.max(0, nowMs - Math.max(fromMs, learnedMs));
      await hot.peek({ threadId: "nobody's", namespace: "" });
    }
  };
  for (const use of uses) {
    await passUntil(use.atMs);
    policy?.used(use);
    const { hits: before } = stack.counters[0]!;
    if (use.use === "write") await writeCheckpoint(stack, use, heads);
    else await stack.read({ threadId: use.thread, namespace: "" });
    await stack.idle();
    if (use.use === "write" || use.scan === true || nowMs < learnedMs || !heads.has(use.thread)) continue;
    reads += 1;
    hits += stack.counters[0]!.hits - before;
  }
  await stack.end();
  return { policy: name, ttlMs, reads, hits, megabyteHours: byteMs / 1e6 / 3_600_000 };
}
