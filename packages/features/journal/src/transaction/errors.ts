import { StratigraphError } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import type { MergePlan } from "@stratigraph/branch";
import type { RollbackReport } from "./report.ts";

/**
 * A transaction's thread has changed since the transaction began. If `plan` is set, a merge needs answers and the transaction is still open;
 * otherwise it was rolled back, and `report` says with what result.
 */
export class TransactionConflictError extends StratigraphError {
  readonly plan: MergePlan | undefined;
  readonly report: RollbackReport | undefined;

  constructor(
    threadId: string,
    transaction: string,
    { plan, report, cause }: { plan?: MergePlan; report?: RollbackReport; cause?: unknown },
  ) {
    const next =
      plan === undefined
        ? `Nothing was committed, and it was rolled back.${report === undefined ? "" : notUndone(report)} Run it again, or pass onConflict: "retry" or "merge".`
        : `Nothing was committed, and it is still open: pass the answers to applyMerge(graph, error.plan, answers), then commit it by transactions().`;
    super(
      "TRANSACTION_CONFLICT",
      `Thread ${JSON.stringify(threadId)} has changed since a transaction on it began. ${next}`,
      { threadId, transaction, ...(plan === undefined ? {} : { plan }), ...(report && { report }) },
      cause,
    );
    this.name = "TransactionConflictError";
    this.plan = plan;
    this.report = report;
  }
}

/** The work of a transaction threw the `cause`. `report` says which of its calls were undone, and which weren't. */
export class RolledBackError extends StratigraphError {
  readonly report: RollbackReport;

  constructor(threadId: string, transaction: string, report: RollbackReport, cause: unknown) {
    const why = messageOf(cause);
    super(
      "ROLLED_BACK",
      `A transaction on thread ${JSON.stringify(threadId)} was rolled back, because its work failed: ${why}.${notUndone(report)}`,
      { threadId, transaction, report },
      cause,
    );
    this.name = "RolledBackError";
    this.report = report;
  }
}

function notUndone({ kept }: RollbackReport): string {
  if (kept.length === 0) return "";
  return ` Not undone: ${kept.map(({ tool, why }) => `${tool} (${why})`).join(", ")}.`;
}

/** A transaction takes no more calls. */
export function callRefused(threadId: string, transaction: string, why: string): StratigraphError {
  return new StratigraphError(
    "TRANSACTION_ENDED",
    `The transaction ${JSON.stringify(transaction)} on thread ${JSON.stringify(threadId)} takes no more calls: ${why}. Nothing was called.`,
    { threadId, transaction, why },
  );
}

/** A transaction can't be ended in the way that was asked for. */
export function transactionEnded(threadId: string, transaction: string, why: string): StratigraphError {
  return new StratigraphError(
    "TRANSACTION_ENDED",
    `The transaction ${JSON.stringify(transaction)} on thread ${JSON.stringify(threadId)} can't be ended in this way: ${why}.`,
    { threadId, transaction, why },
  );
}
