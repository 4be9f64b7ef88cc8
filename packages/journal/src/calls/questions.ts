import type { Where } from "../log/entry.ts";
import type { Reconciled } from "../options.ts";

/** A policy wants a person to allow a call. Answer: {@link ApprovalAnswer}. */
export interface ApprovalQuestion {
  readonly kind: "approval";
  /** The call's fingerprint. */
  readonly call: string;
  readonly tool: string;
  readonly args: unknown;
  readonly reason: string;
}

/** Nobody knows whether a call happened. Answer: {@link AmbiguousAnswer}. */
export interface AmbiguousQuestion {
  readonly kind: "ambiguous";
  /** The call's fingerprint. */
  readonly call: string;
  readonly tool: string;
  readonly args: unknown;
  /** When it was claimed, in ISO 8601. */
  readonly claimedAt?: string | undefined;
  readonly where: Where;
  readonly why: string;
}

/** What an interrupt of the journal asks. */
export type Question = ApprovalQuestion | AmbiguousQuestion;

/** The answer to an {@link ApprovalQuestion}. With `call`, it counts only for the question with that fingerprint. */
export interface ApprovalAnswer {
  readonly allow: boolean;
  readonly reason?: string | undefined;
  readonly call?: string | undefined;
}

/** The answer to an {@link AmbiguousQuestion}. With `call`, it counts only for the question with that fingerprint. */
export type AmbiguousAnswer = NonNullable<Reconciled> & { readonly call?: string | undefined };

/** How often a question is put again at most in one run of a task, where an answer doesn't fit it. */
const mostTimes = 100;

export function answerOf(question: ApprovalQuestion, ask: (question: Question) => unknown): ApprovalAnswer;
export function answerOf(question: AmbiguousQuestion, ask: (question: Question) => unknown): AmbiguousAnswer;
/** Asks until an answer fits the question. One that doesn't is passed over, so that the graph stops and asks again. */
export function answerOf(
  question: Question,
  ask: (question: Question) => unknown,
): ApprovalAnswer | AmbiguousAnswer {
  for (let times = 0; times < mostTimes; times += 1) {
    const answer = Object(ask(question)) as Record<string, unknown>;
    if (answer["call"] !== undefined && answer["call"] !== question.call) continue;
    if (question.kind === "approval" && typeof answer["allow"] === "boolean") {
      const { reason } = answer;
      return { allow: answer["allow"], reason: typeof reason === "string" ? reason : undefined };
    }
    if (question.kind === "ambiguous" && answer["happened"] === false) return { happened: false };
    if (question.kind === "ambiguous" && answer["happened"] === true)
      return { happened: true, result: answer["result"] };
  }
  throw new Error(
    `${mostTimes} answers in a row didn't fit the question about the call of ${question.tool}.`,
  );
}
