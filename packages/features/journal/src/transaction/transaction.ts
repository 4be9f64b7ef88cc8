import { fork } from "@stratigraph/branch";
import { forksOf } from "@stratigraph/branch/internal";
import { InvalidOptionError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { checkOptions, validId } from "@stratigraph/core/internal";
import type { MergeableGraph, Strategies } from "@stratigraph/branch";
import { createJournal, type Journal } from "../journal.ts";
import { partsOf, type JournalParts } from "../parts.ts";
import { RolledBackError, TransactionConflictError } from "./errors.ts";
import { OpenTransaction, type Committed, type MergeOnConflict, type Savepoint } from "./openTransaction.ts";
import type { RollbackReport, TransactionCall } from "./report.ts";
import { isTransaction, recordTools, transactionPrefix } from "./takesCalls.ts";

/** Options of {@link transaction}. */
export interface TransactionOptions {
  /**
   * The journal whose tools the work uses: it undoes their calls at a rollback. Default: a journal without tools, so that calls are listed
   * and none is undone.
   */
  readonly journal?: Journal | undefined;
  /**
   * What happens if the thread went on meanwhile. "throw" (default): rolled back, TransactionConflictError. "retry": rolled back, and the
   * work runs again on the new head, unless a call can't be undone. "merge": the two are merged, which needs `graph`.
   */
  readonly onConflict?: "throw" | "retry" | "merge" | undefined;
  /** How often the work runs at most, for "retry". Default 3. */
  readonly attempts?: number | undefined;
  /** For "merge": the graph whose channels say how values are merged. */
  readonly graph?: MergeableGraph | undefined;
  /** For "merge": how to settle channels that both sides changed. */
  readonly strategy?: Strategies | undefined;
}

/** The argument of a transaction's work. */
export interface Transaction {
  /** The thread that the transaction works in: a fork of its target thread. */
  readonly threadId: string;
  /** The config for graphs: `graph.invoke(input, tx.config)`. Calls are recorded in the journal of the thread that was forked. */
  readonly config: { readonly configurable: { readonly thread_id: string; readonly journal: string } };
  /** 1 for the first run of the work. */
  readonly attempt: number;
  /** Remembers the transaction's current state, to return to it. */
  savepoint(): Promise<Savepoint>;
}

/** A transaction that was committed. */
export interface TransactionResult<T> {
  /** What the work returned. */
  readonly value: T;
  readonly status: Committed;
  /** How often the work ran. */
  readonly attempts: number;
  /** Calls of earlier attempts, which were undone. */
  readonly undone: readonly TransactionCall[];
}

/**
 * Runs work on a thread's state that is committed as a whole, or not at all. The work runs in a fork of the thread. When it ends, the
 * thread's head moves to the fork's by compare-and-set; when it throws, the fork is dropped, and calls that it made are undone by
 * `compensate` of their tools, the last one first. Calls that can't be undone are reported. {@link transactions} finds the transactions of
 * killed processes. For code that runs graphs, not for the nodes of one: in a node, a graph runs as part of the surrounding graph.
 *
 * @example
 * const { value } = await transaction(checkpointer, "ada", async (tx) => {
 *   const order = await graph.invoke({ messages: [new HumanMessage("book the trip")] }, tx.config);
 *   const hotel = await tx.savepoint();
 *   const full = await graph.invoke({ messages: [new HumanMessage("and a hotel")] }, tx.config);
 *   if (full.failed) await hotel.rollback();
 *   return order.price;
 * }, { journal, onConflict: "retry" });
 *
 * @param threadId a thread with checkpoints
 * @throws RolledBackError if the work throws; TransactionConflictError;
 * NotFoundError if the thread has no checkpoints; StratigraphError "TRANSACTION_ENDED" if another process ended it;
 * InvalidOptionError, InvalidAddressError; errors of the storage, after which {@link transactions} finds it
 */
export async function transaction<T>(
  checkpointer: TierSaver,
  threadId: string,
  work: (tx: Transaction) => T | Promise<T>,
  options: TransactionOptions = {},
): Promise<TransactionResult<T>> {
  const parts = checkedParts(checkpointer, threadId, work, options);
  const { onConflict = "throw", attempts = 3 } = options;
  const merging = mergingOf(options);
  const undone: TransactionCall[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const made = await parts.session.during(() => once(parts, threadId, attempt, work, merging));
    if ("value" in made) return { ...made, attempts: attempt, undone };
    const { report, transaction: id, cause } = made;
    const again = onConflict === "retry" && attempt < attempts && report.kept.length === 0;
    if (!again) throw new TransactionConflictError(threadId, id, { report, cause });
    undone.push(...report.undone);
  }
}

/**
 * The transactions on a thread that haven't ended: those of killed processes, and those under way (`status()` shows which). Each can be
 * committed or rolled back.
 *
 * @example
 * for (const tx of await transactions(checkpointer, "ada", { journal }))
 *   if (!(await tx.status()).alive) await tx.rollback();
 *
 * @param options the journal whose tools undo calls, with these tools already given to `journal.tools()`
 * @throws InvalidOptionError, InvalidAddressError; errors of the storage
 */
export async function transactions(
  checkpointer: TierSaver,
  threadId: string,
  options: Pick<TransactionOptions, "journal"> = {},
): Promise<OpenTransaction[]> {
  checkOptions<Pick<TransactionOptions, "journal">>("transactions", options, { journal: true });
  const parts = partsOn(checkpointer, options.journal);
  const refuse = (error: Error): never => {
    throw error;
  };
  const ids = new Set<string>();
  for await (const { threadId: id } of forksOf(checkpointer, validId("threadId", threadId), refuse))
    if (isTransaction(id)) ids.add(id);
  // If its thread was deleted, its calls are in the journal.
  for (const { tool, status, where } of (await parts.of(threadId).log.refresh()).all())
    if (tool === recordTools.whole && status === "claimed" && where.thread !== undefined)
      ids.add(where.thread);
  return [...ids].map((id) => new OpenTransaction(parts, threadId, id));
}

type Attempt<T> =
  | { readonly value: T; readonly status: Committed }
  | { readonly report: RollbackReport; readonly transaction: string; readonly cause: unknown };

async function once<T>(
  parts: JournalParts,
  threadId: string,
  attempt: number,
  work: (tx: Transaction) => T | Promise<T>,
  merging: MergeOnConflict | undefined,
): Promise<Attempt<T>> {
  const id = `${transactionPrefix}${crypto.randomUUID()}`;
  await fork(parts.checkpointer, threadId, { to: id, calls: "none" });
  const open = new OpenTransaction(parts, threadId, id);
  await open.begin();
  const config = { configurable: { thread_id: id, journal: threadId } };
  let value: T;
  try {
    value = await work({ threadId: id, config, attempt, savepoint: () => open.savepoint() });
  } catch (error) {
    throw new RolledBackError(threadId, id, await rolledBack(open, error), error);
  }
  try {
    return { value, status: await open.commit(merging) };
  } catch (error) {
    if (!(error instanceof TransactionConflictError) || error.plan !== undefined) throw error;
    return { report: await rolledBack(open, error), transaction: id, cause: error };
  }
}

/** Rolls back. If that is refused, the error's cause tells why it was tried. */
async function rolledBack(open: OpenTransaction, cause: unknown): Promise<RollbackReport> {
  try {
    return await open.rollback();
  } catch (error) {
    if (!StratigraphError.is(error, "TRANSACTION_ENDED")) throw error;
    throw new StratigraphError(error.code, error.message, error.data, cause);
  }
}

/** @throws InvalidOptionError, InvalidAddressError */
function checkedParts(
  checkpointer: TierSaver,
  threadId: string,
  work: unknown,
  options: TransactionOptions,
): JournalParts {
  checkOptions<TransactionOptions>("transaction", options, {
    journal: true,
    onConflict: true,
    attempts: true,
    graph: true,
    strategy: true,
  });
  validId("threadId", threadId);
  if (typeof work !== "function")
    throw new InvalidOptionError("work", work, "Pass the function that does the work: async (tx) => …");
  if (isTransaction(threadId))
    throw new InvalidOptionError(
      "threadId",
      threadId,
      "It is the thread of a transaction. Use tx.savepoint() inside one.",
    );
  const { journal, onConflict = "throw", attempts = 3, graph } = options;
  if (!["throw", "retry", "merge"].includes(onConflict))
    throw new InvalidOptionError("onConflict", onConflict, 'Use "throw", "retry" or "merge".');
  if (!Number.isSafeInteger(attempts) || attempts < 1)
    throw new InvalidOptionError("attempts", attempts, "Pass a whole number from 1.");
  if (onConflict === "merge" && graph === undefined)
    throw new InvalidOptionError("graph", graph, 'Pass the compiled graph: onConflict "merge" needs it.');
  return partsOn(checkpointer, journal);
}

/** The parts of a journal that a transaction uses. @throws InvalidOptionError */
function partsOn(checkpointer: TierSaver, journal: Journal | undefined): JournalParts {
  const parts = partsOf(journal ?? createJournal(checkpointer));
  if (parts.checkpointer !== checkpointer)
    throw new InvalidOptionError("journal", journal, "Pass a journal of the same checkpointer.");
  return parts;
}

function mergingOf({ onConflict, graph, strategy }: TransactionOptions): MergeOnConflict | undefined {
  return onConflict === "merge" && graph !== undefined ? { graph, strategy } : undefined;
}
