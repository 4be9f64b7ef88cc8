import type { CallRequest } from "../calls/resolve.ts";
import { canonical } from "../identity/canonical.ts";
import { fingerprintOf } from "../identity/fingerprint.ts";
import type { Calls } from "../log/calls.ts";
import { isOpen, type CallState } from "../log/callState.ts";
import type { Effects } from "../log/entry.ts";
import { shared } from "../shared.ts";
import type { JournalLog, NewEvent } from "../log/journalLog.ts";
import { compensationPrefix, ownPrefix } from "../log/ownCalls.ts";
import type { JournalParts } from "../parts.ts";
import { transactionEnded } from "./errors.ts";
import { recordTools, returnsOf } from "./takesCalls.ts";

/** How a transaction ends. */
export type Ending = "commit" | "rollback";

/** How far a transaction got. */
export type TransactionStatus = "open" | "committing" | "committed" | "rolling back";

/** A call that isn't made by a graph, and its arguments as canonical JSON. */
export interface OwnCall {
  readonly request: CallRequest;
  readonly argsText: string;
}

/** Transactions that this process is ending now. */
const endingNow = shared("ending", () => new Set<string>());

/**
 * The journal's record of a transaction. Its beginning, its commit or rollback, and each compensation are calls in the journal of its
 * thread: so a decision holds for every process, and the trail shows it.
 */
export class TransactionRecord {
  readonly #parts: JournalParts;
  readonly #log: JournalLog;
  /** The thread that was forked for the transaction. */
  readonly threadId: string;
  /** The thread that the transaction works in. */
  readonly transaction: string;

  constructor(parts: JournalParts, threadId: string, transaction: string) {
    this.#parts = parts;
    this.#log = parts.of(threadId).log;
    this.threadId = threadId;
    this.transaction = transaction;
  }

  /** Records that this process begins the transaction. */
  async begin(): Promise<void> {
    await this.#log.change((calls) => ({ events: [this.#claim(calls, this.#whole)], answer: undefined }));
  }

  /** How far the transaction got, and whether the process that began it is still working on it. */
  async status(): Promise<{ status: TransactionStatus; alive: boolean }> {
    const calls = await this.#log.refresh();
    const commit = calls.get(this.#ending("commit").request.call)?.status;
    const rolledBack = calls.get(this.#ending("rollback").request.call) !== undefined;
    const alive = await this.#isAlive(calls, calls.get(this.#whole.request.call));
    if (rolledBack) return { status: "rolling back", alive };
    if (commit === "succeeded") return { status: "committed", alive };
    return { status: commit === "claimed" ? "committing" : "open", alive };
  }

  /**
   * Ends the transaction by `work`. Nobody else ends it meanwhile, and no other ending follows.
   * @param undecided whether an error that `work` threw means that the transaction is still open
   * @throws StratigraphError "TRANSACTION_ENDED"; what `work` throws
   */
  async end<T>(ending: Ending, work: () => Promise<T>, undecided: (error: unknown) => boolean): Promise<T> {
    const { threadId, transaction } = this;
    if (endingNow.has(transaction))
      throw transactionEnded(threadId, transaction, "this process is ending it already");
    endingNow.add(transaction);
    try {
      return await this.#parts.session.during(async () => {
        const claim = await this.#decide(ending);
        try {
          const done = await work();
          await this.#close(ending, claim, true);
          return done;
        } catch (error) {
          if (undecided(error)) await this.#close(ending, claim, false);
          throw error;
        }
      });
    } finally {
      endingNow.delete(transaction);
    }
  }

  /** The calls that tools made in the transaction and that may have changed something, last success first. */
  async calls(since = 0): Promise<CallState[]> {
    const calls = await this.#log.refresh();
    const made = [...calls.all()].filter(
      (state) =>
        state.where.thread === this.transaction &&
        state.effects !== "none" &&
        !state.tool.startsWith(ownPrefix) &&
        (state.status === "succeeded" || isOpen(state)) &&
        (state.claim?.seq ?? 0) > since,
    );
    const orderOf = ({ result, claim }: CallState): number => result?.seq ?? claim?.seq ?? 0;
    return made.sort((one, other) => orderOf(other) - orderOf(one));
  }

  /** The current position in the journal. */
  async position(): Promise<number> {
    return (await this.#log.refresh()).seq;
  }

  /** The call that undoes another one. Each success of a call has one of its own. */
  compensationOf({ call, tool, claim, effects }: CallState): OwnCall {
    return this.#own(`${compensationPrefix}${tool}`, { call, claim: claim?.seq ?? 0 }, effects, call);
  }

  /** A return to a savepoint, as a call: an interrupted return is recognised by it. */
  returnTo(checkpoint: string, at: number): OwnCall {
    const { transaction } = this;
    return this.#own(recordTools.savepoint, { transaction, checkpoint, at }, "idempotent");
  }

  get #whole(): OwnCall {
    return this.#own(recordTools.whole, { transaction: this.transaction }, "idempotent");
  }

  #ending(ending: Ending): OwnCall {
    return this.#own(recordTools[ending], { transaction: this.transaction }, "idempotent");
  }

  #own(tool: string, args: object, effects: Effects, previous = ""): OwnCall {
    const argsText = canonical(args);
    const call = fingerprintOf({ tool, version: null, args, previous, nth: 0 });
    const argsHash = this.#parts.sealing.hash(argsText);
    const where = { thread: this.transaction };
    return { request: { call, tool, effects, previous, nth: 0, argsHash, where }, argsText };
  }

  #claim(calls: Calls, { request, argsText }: OwnCall): NewEvent {
    const attempt = (calls.get(request.call)?.attempts ?? 0) + 1;
    return {
      event: { type: "claimed", ...request, attempt, key: request.call },
      payload: { args: argsText },
      author: this.#parts.authorOf(undefined),
    };
  }

  /** Takes the right to end the transaction in this way. @returns the number of the claim */
  async #decide(ending: Ending): Promise<number> {
    const seen = await this.#log.refresh();
    // Processes found dead are remembered, so that the decision below needn't wait.
    for (const one of ["commit", "rollback"] as const)
      await this.#isAlive(seen, seen.get(this.#ending(one).request.call));
    return await this.#log.change((calls, seq) => {
      const why = this.#refusal(calls, ending);
      if (why !== undefined) throw transactionEnded(this.threadId, this.transaction, why);
      return { events: [this.#claim(calls, this.#ending(ending))], answer: seq };
    });
  }

  /** Why the transaction can't be ended in this way; undefined if it can. */
  #refusal(calls: Calls, ending: Ending): string | undefined {
    if (calls.get(this.#whole.request.call) === undefined)
      return (
        "its beginning isn't in this journal, as the thread was deleted since, so nobody knows what it called. Look that up where its " +
        `tools' calls went, then delete the thread ${JSON.stringify(this.transaction)}`
      );
    const commit = calls.get(this.#ending("commit").request.call);
    const rollback = calls.get(this.#ending("rollback").request.call);
    if (this.#isHeld(commit) || this.#isHeld(rollback)) return "another process is ending it now";
    if (ending === "commit") {
      if (rollback !== undefined) return "it is being rolled back, so only rollback() is left";
      const returning = returnsOf(calls, this.transaction).some(({ status }) => status !== "succeeded");
      return returning ? "its return to a savepoint was interrupted, so only rollback() is left" : undefined;
    }
    if (commit?.status === "succeeded") return "it was committed; undo() takes its state back";
    if (commit?.status === "claimed")
      return "its commit began, and it isn't known how that ended: commit() finds out";
    return undefined;
  }

  #isHeld(state: CallState | undefined): boolean {
    if (state?.status !== "claimed" || state.claim === undefined) return false;
    const { own, dead } = this.#parts.session;
    return !own.has(state.claim.session) && !dead.has(state.claim.session);
  }

  async #isAlive(calls: Calls, state: CallState | undefined): Promise<boolean> {
    if (state?.status !== "claimed" || state.claim === undefined) return false;
    const { session } = state.claim;
    return await this.#parts.session.isAlive(session, calls.session(session));
  }

  /** Records how an ending went. */
  async #close(ending: Ending, claim: number, done: boolean): Promise<void> {
    await this.#log.change((calls) => {
      const { call } = this.#ending(ending).request;
      const state = calls.get(call);
      if (state?.status !== "claimed" || state.claim?.seq !== claim) return { events: [], answer: undefined };
      const outcome = (of: string, at: number, isDone: boolean): NewEvent => ({
        event: isDone
          ? { type: "succeeded", call: of, claim: at, resultHash: "", kept: false, ms: 0 }
          : { type: "failed", call: of, claim: at, error: notDone, kept: false },
      });
      const whole = calls.get(this.#whole.request.call);
      const ended =
        done && whole?.status === "claimed" && whole.claim !== undefined
          ? [outcome(whole.call, whole.claim.seq, ending === "commit")]
          : [];
      return { events: [outcome(call, claim, done), ...ended], answer: undefined };
    });
  }
}

const notDone = { name: "NotCommitted", message: "the transaction changed nothing" };
