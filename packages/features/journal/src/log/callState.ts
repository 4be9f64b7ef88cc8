import type { Digest } from "../identity/fingerprint.ts";
import type { ApprovedEvent, Effects, Interrupts, KeptError, Where } from "./entry.ts";

/** The state of a call. */
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
  /** The places where a call that code named was made, or answered with its recorded result; absent for others. */
  readonly visits?: readonly Where[] | undefined;
  readonly status: "claimed" | "succeeded" | "failed" | "suspended" | "unknown" | "denied" | "repeats";
  /**
   * Fingerprint of the call that it repeats, whose outcome wasn't known. For a call that was repeated with its idempotency key: the
   * repetition, which showed its outcome.
   */
  readonly repeats?: Digest | undefined;
  /** How often it was claimed. */
  readonly attempts: number;
  /** Idempotency key; absent for calls without claims. */
  readonly key?: string | undefined;
  /** The last claim: the number of its entry, who took it, and when. */
  readonly claim?: { readonly seq: number; readonly session: string; readonly at: string } | undefined;
  /** The entry that holds the result of a success, and why it isn't kept. */
  readonly result?:
    | {
        readonly seq: number;
        readonly hash: string;
        readonly kept: boolean;
        readonly notKept?: string | undefined;
      }
    | undefined;
  /** A person's approval: its arguments, the policy's reason, the thread, and when it expires. */
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

/** Whether it is known that a call happened whose status is "unknown": its result was asked for, and isn't kept. */
export function lacksResult({ status, result }: Pick<CallState, "status" | "result">): boolean {
  return status === "unknown" && result !== undefined;
}

/** Whether the outcome of a call isn't known, or not yet known. */
export function isOpen({ status }: Pick<CallState, "status">): boolean {
  return status === "unknown" || status === "claimed";
}
