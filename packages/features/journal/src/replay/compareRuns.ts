import type { CallState } from "../log/callState.ts";
import { shown, type RecordedCall, type Recording } from "./recording.ts";

/** How many pairs of calls are compared at most to find the best alignment; longer runs are aligned by their places. */
const mostPairs = 4_000_000;

/** A call of one of two compared runs. */
export interface ComparedCall {
  readonly tool: string;
  readonly args: unknown;
  readonly outcome: CallState["status"];
  /** Tokens used for a recorded model's answer; 0 for other calls. */
  readonly tokens: number;
  /** How long it ran, in milliseconds; 0 if that isn't known. */
  readonly ms: number;
}

/** Two calls side by side, or one that the other run doesn't have. */
export interface ComparedRow {
  /** "same": equal tool, arguments and outcome; "changed": the same tool in the same place, with other arguments or another outcome. */
  readonly kind: "same" | "changed" | "only left" | "only right";
  readonly left?: ComparedCall | undefined;
  readonly right?: ComparedCall | undefined;
}

/** Two runs side by side. */
export interface RunComparison {
  readonly rows: readonly ComparedRow[];
  readonly left: RunTotals;
  readonly right: RunTotals;
}

/** Sums over the calls of a run. Tokens are those of recorded model answers. */
export interface RunTotals {
  readonly calls: number;
  readonly tokens: number;
  readonly ms: number;
}

/** Compares the calls of two recordings, in their order. */
export async function compareRuns(left: Recording, right: Recording): Promise<RunComparison> {
  const [a, b] = await Promise.all([comparedCalls(left), comparedCalls(right)]);
  return { rows: aligned(a, b), left: totals(a), right: totals(b) };
}

async function comparedCalls(recording: Recording): Promise<ComparedCall[]> {
  return await Promise.all(
    recording
      .all()
      .toSorted((a, b) => a.seq - b.seq)
      .map(async (call) => ({
        ...shown(call),
        outcome: call.state.status,
        tokens: await tokensOf(recording, call),
        ms: call.ms ?? 0,
      })),
  );
}

async function tokensOf(recording: Recording, call: RecordedCall): Promise<number> {
  const result = await recording.resultOf(call);
  const value = result?.kind === "value" ? result.value : undefined;
  const { usage_metadata: usage } = Object(value) as { usage_metadata?: { total_tokens?: unknown } };
  return typeof usage?.total_tokens === "number" ? usage.total_tokens : 0;
}

function totals(calls: readonly ComparedCall[]): RunTotals {
  const sum = (field: "tokens" | "ms"): number => calls.reduce((total, call) => total + call[field], 0);
  return { calls: calls.length, tokens: sum("tokens"), ms: sum("ms") };
}

/** Pairs equal calls, as many as possible, and then the calls between them. */
function aligned(a: readonly ComparedCall[], b: readonly ComparedCall[]): ComparedRow[] {
  const keys = (calls: readonly ComparedCall[]): string[] =>
    calls.map(({ tool, args, outcome }) => JSON.stringify([tool, args, outcome]));
  const matches = longestCommon(keys(a), keys(b));
  const rows: ComparedRow[] = [];
  let [atA, atB] = [0, 0];
  for (const [nextA, nextB] of [...matches, [a.length, b.length] as const]) {
    rows.push(...between(a.slice(atA, nextA), b.slice(atB, nextB)));
    if (nextA < a.length && nextB < b.length) rows.push({ kind: "same", left: a[nextA], right: b[nextB] });
    [atA, atB] = [nextA + 1, nextB + 1];
  }
  return rows;
}

function between(a: readonly ComparedCall[], b: readonly ComparedCall[]): ComparedRow[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, n): ComparedRow[] => {
    const [left, right] = [a[n], b[n]];
    if (left !== undefined && right?.tool === left.tool) return [{ kind: "changed", left, right }];
    return [
      ...(left === undefined ? [] : [{ kind: "only left" as const, left }]),
      ...(right === undefined ? [] : [{ kind: "only right" as const, right }]),
    ];
  }).flat();
}

/** Positions of a longest common subsequence. */
function longestCommon(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  if (a.length * b.length > mostPairs) return a.flatMap((key, n) => (key === b[n] ? [[n, n] as const] : []));
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let n = a.length - 1; n >= 0; n -= 1)
    for (let m = b.length - 1; m >= 0; m -= 1)
      lengths[n * width + m] =
        a[n] === b[m]
          ? lengths[(n + 1) * width + m + 1]! + 1
          : Math.max(lengths[(n + 1) * width + m]!, lengths[n * width + m + 1]!);
  const pairs: (readonly [number, number])[] = [];
  for (let [n, m] = [0, 0]; n < a.length && m < b.length;) {
    if (a[n] === b[m]) pairs.push([n++, m++]);
    else if (lengths[(n + 1) * width + m]! >= lengths[n * width + m + 1]!) n += 1;
    else m += 1;
  }
  return pairs;
}
