import { merge, promote, type MergeableGraph, type Strategies } from "@stratigraph/branch";
import { advance } from "@stratigraph/branch/internal";
import { StratigraphError } from "@stratigraph/core";
import { RunsUnderWay } from "@stratigraph/core/internal";
import type { JournalParts } from "../parts.ts";
import { compensate, describedCall } from "./compensate.ts";
import { TransactionConflictError, transactionEnded } from "./errors.ts";
import type { RollbackReport, TransactionCall } from "./report.ts";
import { TransactionRecord, type TransactionStatus } from "./transactionRecord.ts";

/** How often a merge is tried if the thread goes on meanwhile. */
const mergeAttempts = 5;

/** How a commit merges if the thread went on since the transaction began. Default: TransactionConflictError. */
export interface MergeOnConflict {
  /** The graph whose channels say how values are merged. */
  readonly graph: MergeableGraph;
  /** How to settle channels that both sides changed, as for `merge()` of `@stratigraph/branch`. */
  readonly strategy?: Strategies | undefined;
}

/** How a transaction was committed: "unchanged" if it changed nothing, or its changes were in the thread already. */
export type Committed = "fast-forward" | "merged" | "unchanged";

/** A place in a transaction to return to. */
export interface Savepoint {
  readonly checkpointId: string;
  /**
   * Takes the transaction's state back to this place, and undoes the calls that were made since, the last one first. May be called again.
   * @throws errors of the storage; the transaction can then only be rolled back as a whole
   */
  rollback(): Promise<RollbackReport>;
}

/** A transaction that hasn't ended, of this process or of any other. */
export class OpenTransaction {
  /** The thread that the transaction works in. */
  readonly threadId: string;
  /** The thread that was forked for it. */
  readonly of: string;
  readonly #parts: JournalParts;
  readonly #record: TransactionRecord;

  constructor(parts: JournalParts, of: string, threadId: string) {
    this.#parts = parts;
    this.of = of;
    this.threadId = threadId;
    this.#record = new TransactionRecord(parts, of, threadId);
  }

  /** Records that this process begins it. */
  async begin(): Promise<void> {
    await this.#record.begin();
  }

  /** How far it got, and whether the process that began it is still working on it: if so, leave it alone. */
  async status(): Promise<{ status: TransactionStatus; alive: boolean }> {
    return await this.#record.status();
  }

  /** The calls that were made in it and may have changed something outside, last success first. */
  async calls(): Promise<TransactionCall[]> {
    const states = await this.#record.calls();
    return await Promise.all(states.map((state) => describedCall(this.#parts, this.of, state)));
  }

  /** Remembers the transaction's current state, to return to it. */
  async savepoint(): Promise<Savepoint> {
    const { checkpointer } = this.#parts;
    await RunsUnderWay.of(checkpointer.tier).othersEnded({}, this.threadId);
    const { head } = await checkpointer.tier.peek({ threadId: this.threadId, namespace: "" });
    const since = await this.#record.position();
    const checkpointId = head!;
    return { checkpointId, rollback: () => this.#return(checkpointId, since) };
  }

  /**
   * Moves the thread's head to the transaction's, if it is still where the transaction began, and drops the transaction's thread.
   * @param onConflict how to merge if the thread went on
   * @throws TransactionConflictError: nothing was committed, and the transaction is open; StratigraphError "TRANSACTION_ENDED" if it is
   * being rolled back; errors of the storage: call it again
   */
  async commit(onConflict?: MergeOnConflict): Promise<Committed> {
    const { of, threadId } = this;
    if ((await this.#parts.checkpointer.tier.peek({ threadId, namespace: "" })).head === undefined)
      throw transactionEnded(of, threadId, "its own thread was deleted; rollback() undoes its calls");
    const done = await this.#record.end(
      "commit",
      () => this.#commit(onConflict),
      (error) => error instanceof TransactionConflictError,
    );
    await this.#drop();
    return done;
  }

  /**
   * Undoes the transaction's calls whose tools have `compensate`, the last one first, and drops its thread. If the outcome of a call or of
   * its compensation isn't known, the thread is kept, so that calling this again tries the rest.
   * @throws StratigraphError "TRANSACTION_ENDED" if it was committed; errors of the storage: call it again
   */
  async rollback(): Promise<RollbackReport> {
    const report = await this.#record.end(
      "rollback",
      () => compensate(this.#parts, this.#record),
      () => false,
    );
    if (report.kept.every(({ why }) => why === "no compensation")) await this.#drop();
    return report;
  }

  async #commit(onConflict: MergeOnConflict | undefined): Promise<Committed> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (onConflict !== undefined) return await this.#merge(onConflict);
        const { status } = await advance(this.#parts.checkpointer, this.of, this.threadId);
        return status === "already-merged" ? "unchanged" : status;
      } catch (error) {
        if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
        // A call that the thread recorded meanwhile is no conflict, nor is a conflict that a merge settles.
        const { head } = await this.#parts.checkpointer.tier.peek({ threadId: this.of, namespace: "" });
        const moved = onConflict === undefined && head !== (error.data["expected"] as string[])[0];
        if (moved || attempt >= mergeAttempts)
          throw new TransactionConflictError(this.of, this.threadId, { cause: error });
      }
    }
  }

  async #merge({ graph, strategy }: MergeOnConflict): Promise<Committed> {
    const merged = await merge(graph, this.of, this.threadId, { strategy });
    if (merged.status === "conflict")
      throw new TransactionConflictError(this.of, this.threadId, { plan: merged.plan });
    if (merged.status === "already-merged") return "unchanged";
    return merged.status === "fast-forward" ? "fast-forward" : "merged";
  }

  async #return(checkpointId: string, since: number): Promise<RollbackReport> {
    const { checkpointer } = this.#parts;
    const { runner } = this.#parts.of(this.of);
    const call = this.#record.returnTo(checkpointId, await this.#record.position());
    let report: RollbackReport = { undone: [], kept: [] };
    await runner.call({ ...call, site: {}, options: {}, unjudged: true }, async () => {
      RunsUnderWay.of(checkpointer.tier).givesUp(this.threadId);
      await promote(checkpointer, { threadId: this.threadId, checkpointId });
      report = await compensate(this.#parts, this.#record, since);
    });
    return report;
  }

  async #drop(): Promise<void> {
    await this.#parts.checkpointer.deleteThread(this.threadId);
  }
}
