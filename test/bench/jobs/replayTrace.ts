import { MemoryTier, type Tier } from "@stratigraph/core";
import { BoundedMemoryTier, TierStack } from "@stratigraph/tiered";
import { generateTrace, type ThreadUse, type TraceShape } from "../generateTrace.ts";

/** How long copies stay in one replay. */
export interface Replayed {
  readonly adaptiveTtl: boolean;
  readonly ttlMs: number;
}

/** Input of the job. */
export interface ReplayInput {
  readonly trace: TraceShape;
  readonly replays: readonly Replayed[];
}

/** What came of a replay, after its first third, in which a stack may learn. */
export interface ReplayResult extends Replayed {
  /** Reads that weren't scans, and those of them whose bytes came from the hot tier. */
  readonly reads: number;
  readonly hits: number;
  /** Size of the hot tier over time: megabytes times hours. */
  readonly megabyteHours: number;
}

/** The hot tier forgets when it is called, and a busy one always is: so it is called at least this often. */
const heartbeatMs = 10_000;
/** What a write adds to a thread, as was recorded: 3.4 kB a turn. */
const [recordBytes, valueBytes] = [600, 250].map((length) => Buffer.alloc(length));

/** Replays a trace through one stack after another. The tiers are real ones in memory; their clock is the trace's. */
export async function job({ trace, replays }: ReplayInput): Promise<ReplayResult[]> {
  const uses = generateTrace(trace);
  const results: ReplayResult[] = [];
  for (const each of replays) results.push(await replay(uses, each));
  return results;
}

async function replay(uses: readonly ThreadUse[], { adaptiveTtl, ttlMs }: Replayed): Promise<ReplayResult> {
  let nowMs = 0;
  const clock = (): number => nowMs;
  const hot = new BoundedMemoryTier({ maxSize: "8gb", forgetAfter: `${ttlMs}ms` }, clock);
  const stack = new TierStack({ hot, warm: new MemoryTier(clock), adaptiveTtl }, clock);
  /** How many checkpoints each thread has. */
  const heads = new Map<string, number>();
  const learnedMs = uses.at(-1)!.atMs / 3;
  let [reads, hits, byteMs] = [0, 0, 0];
  for (const { atMs, thread, use, scan } of uses) {
    while (nowMs < atMs) {
      const fromMs = nowMs;
      nowMs = Math.min(atMs, hot.size > 0 ? nowMs + heartbeatMs : atMs);
      byteMs += hot.size * Math.max(0, nowMs - Math.max(fromMs, learnedMs));
      await hot.peek({ threadId: "nobody's", namespace: "" });
    }
    const { hits: before } = stack.counters[0]!;
    if (use === "write") await writeCheckpoint(stack, thread, heads);
    else await stack.read({ threadId: thread, namespace: "" });
    await stack.idle();
    if (use === "write" || scan === true || nowMs < learnedMs || !heads.has(thread)) continue;
    reads += 1;
    hits += stack.counters[0]!.hits - before;
  }
  await stack.end();
  return { adaptiveTtl, ttlMs, reads, hits, megabyteHours: byteMs / 1e6 / 3_600_000 };
}

/** Appends a checkpoint with one value, a patch on the one before, so that reading it takes all bytes that were written. */
async function writeCheckpoint(tier: Tier, threadId: string, heads: Map<string, number>): Promise<void> {
  const n = (heads.get(threadId) ?? 0) + 1;
  heads.set(threadId, n);
  const [hash, before] = [n, n - 1].map((each) => each.toString(16).padStart(40, "0"));
  const record = {
    threadId,
    namespace: "",
    checkpointId: hash!,
    terms: [],
    blobs: [hash!],
    body: recordBytes!,
  };
  const blob = { hash: hash!, bytes: valueBytes! };
  await tier.append({
    threadId,
    records: [n === 1 ? record : { ...record, parentId: before! }],
    blobs: [n === 1 ? blob : { ...blob, base: before! }],
    heads: [{ namespace: "", to: hash!, expected: "any" }],
    onConflict: "refuse",
  });
}
