import type { Digest } from "../identity/fingerprint.ts";
import type { Place } from "../langgraph/place.ts";
import type { Where } from "../log/entry.ts";
import type { CallOptions } from "../options.ts";
import type { Answers, Question } from "./questions.ts";
import type { CallRequest } from "./resolve.ts";
import type { KeptResult } from "./results.ts";

/** The graph around a call, reduced to what the protocol needs. */
export interface CallSite {
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined;
  readonly author?: string | undefined;
  /** Names the task in which the call is made, if there is one. */
  readonly task?: string | undefined;
  /** The namespace by which a Command addresses that task. */
  readonly namespace?: string | undefined;
  /** Asks a person by an interrupt. Absent outside graphs. */
  readonly asking?: Asking | undefined;
  /** How many interrupts of the call's work were answered. */
  readonly interrupts?: (() => number) | undefined;
  /** Skips answers to interrupts of a tool that doesn't run again. */
  readonly passOver?: ((times: number) => void) | undefined;
  /** Waits until the checkpoint that issued the call is stored. Absent if none issued it. @throws if it can't be stored */
  readonly waitForIssuer?:
    | ((signal: AbortSignal | undefined, timeoutMs: number) => Promise<void>)
    | undefined;
  /** Finds out how places relate to that of the call. Absent outside graphs. */
  readonly place?: Pick<Place, "relationOf" | "behindEdits"> | undefined;
  /**
   * Whether a person spoke, or gave an input, between an earlier equal call and this one: then this one is no second try of it. Absent for
   * calls that code named.
   */
  readonly isOfLaterTurn?: ((there: Where) => Promise<boolean>) | undefined;
  /** Checks whether the thread that made the call still exists. Absent outside graphs. @throws ThreadDeletedError */
  readonly mayBegin?: (() => Promise<void>) | undefined;
  /** Whether its transaction went back behind the run that makes it. Absent outside graphs. */
  readonly isGivenUp?: (() => boolean) | undefined;
}

/** How a person is asked. */
export interface Asking {
  /** The answers that were given to interrupts of the run. */
  readonly answers: Answers;
  /** Stops the graph with a question. @throws LangGraph's interrupt */
  readonly ask: (question: Question) => never;
  /** Stops the task: another one of its step asks. @throws LangGraph's interrupt, without a question */
  readonly leave: () => never;
  /** Those of some tasks of the step that haven't ended. */
  readonly openOf: (tasks: readonly (string | undefined)[]) => Promise<readonly (string | undefined)[]>;
}

/** A call to make. {@link CallRunner} says what it is made from, and what becomes of it. */
export interface PlannedCall {
  readonly request: CallRequest;
  /** Canonical JSON of the arguments. */
  readonly argsText: string;
  readonly site: CallSite;
  readonly options: CallOptions;
  /** Called with the call's fingerprint, once it is known. */
  readonly onFound?: ((call: Digest) => void) | undefined;
  /** Whether an error says that a tool rejected its arguments, and so didn't act. */
  readonly refused?: ((error: unknown) => Promise<boolean>) | undefined;
  /** It is a call of an earlier turn, repeated to find out what became of it: nobody makes it again after an interrupt. */
  readonly settles?: true | undefined;
  /** What it returned isn't needed, and needn't be kept. */
  readonly needsNoResult?: boolean | undefined;
  /** The policy isn't asked: the call undoes what it had allowed. */
  readonly unjudged?: boolean | undefined;
}

/** The outcome of a call. */
export type CallOutcome =
  | { readonly kind: "ran"; readonly value: unknown }
  | { readonly kind: "recorded"; readonly result: KeptResult }
  | { readonly kind: "denied"; readonly reason: string };
