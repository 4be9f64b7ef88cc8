import { fingerprintOf, type Digest } from "../identity/fingerprint.ts";
import type { Calls } from "../log/calls.ts";
import type { Where } from "../log/entry.ts";
import { ownPrefix } from "../log/ownCalls.ts";

/** Beginning of the ids of transactions' threads. */
export const transactionPrefix = "transaction-";

/** The tools under whose names the record of a transaction is in the journal. */
export const recordTools = {
  whole: `${ownPrefix}transaction`,
  savepoint: `${ownPrefix}savepoint`,
  commit: `${ownPrefix}commit`,
  rollback: `${ownPrefix}rollback`,
} as const;

const form = new RegExp(`^${transactionPrefix}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`);

export function isTransaction(threadId: string): boolean {
  return form.test(threadId);
}

/** The call that records a transaction's beginning, commit or rollback. */
export function recordedBy(
  tool: (typeof recordTools)["whole" | "commit" | "rollback"],
  transaction: string,
): Digest {
  return fingerprintOf({ tool, version: null, args: { transaction }, previous: "", nth: 0 });
}

/** The returns of a transaction to its savepoints. */
export function returnsOf(calls: Calls, transaction: string) {
  return [...calls.all()].filter(
    ({ tool, where }) => tool === recordTools.savepoint && where.thread === transaction,
  );
}

/**
 * Why a place may make no call, as its transaction doesn't take any more; undefined if it may. Something of a run may work on after the run
 * was rejected, stopped or given up: what it would pay, no rollback would undo.
 */
export function whyRefused(calls: Calls, { thread }: Where): string | undefined {
  if (thread === undefined || !isTransaction(thread)) return undefined;
  const { commit, rollback } = recordTools;
  if (calls.get(recordedBy(recordTools.whole, thread)) === undefined)
    return "its beginning isn't in this journal: the thread was deleted since, or the run uses another journal";
  if (calls.get(recordedBy(rollback, thread)) !== undefined) return "it is being rolled back";
  const status = calls.get(recordedBy(commit, thread))?.status;
  if (status === "claimed" || status === "succeeded") return "it is being committed";
  const isReturning = returnsOf(calls, thread).some(({ status: returned }) => returned !== "succeeded");
  return isReturning ? "it is returning to a savepoint" : undefined;
}
