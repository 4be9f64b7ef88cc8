import type { Duration } from "@stratigraph/core";
import type { Effects, Where } from "./log/entry.ts";
import type { SignOptions } from "./log/sealing.ts";

/** A call that is about to run, as the policy sees it. Frozen. */
export interface PolicyCall {
  readonly tool: string;
  /** The arguments as the caller gave them. The call runs with these, even if the caller changes its own object meanwhile. */
  readonly args: unknown;
  readonly effects: Effects;
  readonly threadId: string;
  readonly author?: string | undefined;
  readonly where: Where;
}

/**
 * What a policy answers: true runs the call, false or `deny` refuses it, `ask` asks a person by an interrupt of the graph. Anything else
 * refuses it. A person's approval holds for this call in this thread, as long as the policy asks for the same reason, and for `validFor` at
 * most; default: always.
 */
export type PolicyAnswer =
  | boolean
  | { readonly deny: string }
  | { readonly ask: string; readonly validFor?: Duration | undefined };

/** Decides on a call before anything runs. One that throws, or doesn't answer in time, refuses the call. */
export type Policy = (call: PolicyCall) => PolicyAnswer | Promise<PolicyAnswer>;

/** A call whose outcome nobody knows. */
export interface UnknownCall {
  readonly fingerprint: string;
  readonly tool: string;
  readonly args: unknown;
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly claimedAt: Date;
  readonly where: Where;
}

/**
 * A reconciler's answer: the call happened, with the result that it would have returned; it certainly didn't happen; or undefined if the
 * reconciler doesn't know either.
 */
export type Reconciled<R = unknown> =
  | { readonly happened: true; readonly result: R }
  | { readonly happened: false }
  | undefined;

/**
 * How calls of a tool are treated.
 * @throws InvalidOptionError, from the functions that take them: `journal.tools()`, `journal.run()`, `batch()`
 */
export interface CallOptions {
  /**
   * What a repetition would do. Default for `journal.run` and `batch`: "once". For a tool it is required: what an MCP server says about its
   * own tools is a proposal, which the error names, and doesn't count.
   */
  readonly effects?: Effects | undefined;
  /** Part of the calls' identity: if it changes, they are new calls. Default: none. */
  readonly version?: string | undefined;
  /**
   * Whether an error proves that nothing happened. If the function throws, the error proves nothing. Default: errors of the tool's schema,
   * and errors with `certain: true`.
   */
  readonly certain?: ((error: unknown) => boolean) | undefined;
  /**
   * Asks the service that the tool calls about a call whose outcome is unknown. If it throws, takes longer than `policyTimeout` or returns
   * anything else, that is traced and counts as undefined. Default: a person is asked.
   */
  readonly reconcile?: ((call: UnknownCall) => Reconciled | Promise<Reconciled>) | undefined;
  /**
   * Undoes a call that happened, when a transaction is rolled back. A later process that didn't make the call uses the function that it has
   * for the tool's name, so the function must need only the call's result and arguments. If a model called the tool, the result is the
   * content of the tool's message. It is called once; `currentCall()` has an idempotency key for it. Default: the call can't be undone.
   */
  readonly compensate?: ((result: unknown, args: unknown) => unknown) | undefined;
}

/** How calls of a tool are treated: what a repetition would do, alone or with other options. */
export type ToolOptions =
  | NonNullable<CallOptions["effects"]>
  | (CallOptions &
      Required<Pick<CallOptions, "effects">> & {
        /**
         * What the tool was called before, its oldest name last: a call that was made under that name is the same call. Its own name says that
         * it had no `version` before; `{ name, version }` says which one it had, if it wasn't the one that it has now. Default: nothing else.
         */
        readonly formerly?: FormerName | readonly FormerName[] | undefined;
      });

/** A name that a tool had before, alone or with the version that it had. */
export type FormerName = string | { readonly name: string; readonly version?: string | undefined };

/** Options of {@link createJournal}. */
export interface JournalOptions {
  /** Decides which calls may run. Default: all. */
  readonly policy?: Policy | undefined;
  /** How long the policy, and a reconciler, may take. Default "5s". */
  readonly policyTimeout?: Duration | undefined;
  /** Signs entries by HMAC-SHA-256, so that nobody without the key can forge the chain. Default: SHA-256. */
  readonly sign?: SignOptions | undefined;
  /** Who makes the calls, for the trail: a name, or a function that gets it from a run's config; 200 characters are kept. Default: none. */
  readonly author?: string | ((config: unknown) => string | undefined) | undefined;
  /**
   * How long a call waits for another process that runs it. It waits as long, but at most 30 s, for the checkpoint that issued it. Default
   * "10m".
   */
  readonly waitFor?: Duration | undefined;
}
