import type { Digest } from "../identity/fingerprint.ts";
import type { ApprovedEvent, Effects, Interrupts, KeptError, Where } from "./entry.ts";

/** What is known of a call. */
export interface CallState {
  readonly call: Digest;
  readonly tool: string;
  readonly argsHash: string;
  readonly effects: Effects;
  /** As in its entry. */
  readonly previous: string;
  readonly nth: number;
  readonly named?: true | undefined;
  readonly beside?: number | undefined;
  readonly where: Where;
  /** Where a call that code named was made, and given again; absent for others. */
  readonly visits?: readonly Where[] | undefined;
  readonly status: "claimed" | "succeeded" | "failed" | "suspended" | "unknown" | "denied" | "repeats";
  /**
   * Fingerprint of the call that it repeats, whose outcome wasn't known. Of a call that was repeated with its idempotency key: the one that
   * told its outcome.
   */
  readonly repeats?: Digest | undefined;
  /** How often it was claimed. */
  readonly attempts: number;
  /** Idempotency key; absent for calls without claims. */
  readonly key?: string | undefined;
  /** The last claim: number of its entry, and who took it, when. */
  readonly claim?: { readonly seq: number; readonly session: string; readonly at: string } | undefined;
  /** Where the result of a success stands. */
  readonly result?: { readonly seq: number; readonly hash: string; readonly kept: boolean } | undefined;
  /** That a person allowed it: with which arguments, for which reason of the policy, in which thread, and until when. */
  readonly approved?: Approval | undefined;
  /** Who denied it last. */
  readonly deniedBy?: "policy" | "person" | undefined;
  /** Interrupts of its tool that were answered before it succeeded. */
  readonly interrupts?: Interrupts | undefined;
  readonly error?: KeptError | undefined;
}

/** An answer of a person who allowed a call. */
export interface Approval extends Pick<ApprovedEvent, "reason" | "thread" | "until" | "argsHash"> {
  /** Number of its entry. */
  readonly seq: number;
}

/** Whether nobody knows, or knows yet, what became of a call. */
export function isOpen({ status }: Pick<CallState, "status">): boolean {
  return status === "unknown" || status === "claimed";
}
