import { sha256, type Digest } from "../identity/fingerprint.ts";
import { canonical } from "../identity/canonical.ts";
import type { Where } from "../log/entry.ts";
import type { Reconciled } from "../options.ts";

/** A policy wants a person to allow a call. Answer: {@link ApprovalAnswer}. */
export interface ApprovalQuestion {
  readonly kind: "approval";
  /** Names the question. An answer counts only with it. */
  readonly id: string;
  /** The call's fingerprint. */
  readonly call: Digest;
  readonly tool: string;
  readonly args: unknown;
  readonly reason: string;
  /** What was wrong with the previous answer, if there was one. */
  readonly refused?: string | undefined;
}

/** Nobody knows whether a call happened, or what a call returned that happened. Answer: {@link AmbiguousAnswer}. */
export interface AmbiguousQuestion {
  readonly kind: "ambiguous";
  /** Names the question. An answer counts only with it. */
  readonly id: string;
  /** The call's fingerprint. */
  readonly call: Digest;
  readonly tool: string;
  readonly args: unknown;
  /** When it was claimed, in ISO 8601. */
  readonly claimedAt?: string | undefined;
  readonly where: Where;
  /** Why nobody knows it; for a call that happened, why its result isn't kept. */
  readonly why: string;
  /** The call happened, and its result is asked for. */
  readonly happened?: true | undefined;
  /** How many equal calls of parallel tasks it is about. Absent for one call. */
  readonly equal?: number | undefined;
  /** What was wrong with the previous answer, if there was one. */
  readonly refused?: string | undefined;
}

/** What an interrupt of the journal asks. */
export type Question = ApprovalQuestion | AmbiguousQuestion;

/** The answer to an {@link ApprovalQuestion}: `new Command({ resume: { id: question.id, allow: true } })`. */
export interface ApprovalAnswer {
  readonly id: string;
  readonly allow: boolean;
  readonly reason?: string | undefined;
  /** Who answers, for the trail. Default: the author of the call. */
  readonly author?: string | undefined;
}

/**
 * The answer to an {@link AmbiguousQuestion}: `new Command({ resume: { id: question.id, happened: true, result } })`, or
 * `happened: false`. To a question about equal calls, how many of them happened: `happened: 25, results`.
 */
export type AmbiguousAnswer = (
  | NonNullable<Reconciled>
  /** `results`: one for each that happened; or one `result` for all. */
  | {
      readonly happened: number;
      readonly results?: readonly unknown[] | undefined;
      readonly result?: unknown;
    }
) & {
  readonly id: string;
  /** Who answers, for the trail. Default: the author of the call. */
  readonly author?: string | undefined;
};

/** Longest name of a person that is kept, in UTF-16 units. */
const longestAuthor = 200;

/** How the names of questions begin; distinguishes answers to them from answers to other interrupts. */
const prefix = "call-question-";

/**
 * Names a question. LangGraph gives an answer that names no interrupt to the next question as well, when the run is continued without an
 * answer, and before 1.7 all questions of a task have one id; so each answer has to say which question it is for.
 * @param parts the data that distinguishes the question from others
 */
export function questionId(...parts: readonly unknown[]): string {
  return `${prefix}${sha256(canonical(["question/1", ...parts])).slice(0, 32)}`;
}

/** The id of the question that a value given to an interrupt answers; undefined if it doesn't answer one of the journal's questions. */
export function answeredQuestion(value: unknown): string | undefined {
  const { id } = Object(value) as { id?: unknown };
  return typeof id === "string" && id.startsWith(prefix) ? id : undefined;
}

/** The journal's question in the value of an interrupt; undefined for other interrupts. */
export function questionIn(value: unknown): Question | undefined {
  const { id, kind } = Object(value) as { id?: unknown; kind?: unknown };
  const isOurs = typeof id === "string" && id.startsWith(prefix);
  return isOurs && (kind === "approval" || kind === "ambiguous") ? (value as Question) : undefined;
}

/** JSON Schema of the answer to a question: LangGraph stores it with the question, and whoever asks a person shows it as a form. */
export function answerSchema(question: Question): object {
  const { kind, id } = question;
  const text = (title: string, description: string) => ({ type: "string", title, description });
  const parts =
    kind === "approval"
      ? {
          allow: { type: "boolean", title: "May it run?" },
          reason: text("Why", "The model is told why a call is denied."),
        }
      : {
          happened:
            question.happened === true
              ? { const: question.equal ?? true, title: "It happened" }
              : question.equal === undefined
                ? { type: "boolean", title: "Did it happen?" }
                : {
                    type: "integer",
                    minimum: 0,
                    maximum: question.equal,
                    title: `How many of the ${question.equal} happened?`,
                  },
          result: { title: "Result", description: "Of a call that happened." },
        };
  return {
    type: "object",
    properties: {
      id: { const: id, title: "Question" },
      ...parts,
      author: { ...text("Your name", "Who answers, for the trail."), maxLength: longestAuthor },
    },
    required: ["id", kind === "approval" ? "allow" : "happened"],
  };
}

/** The answers that were given to interrupts, as far as the journal's questions need them. */
export interface Answers {
  /** Takes the answer to a question, if there is one. @param isForOthers others that ask the same need it, too */
  take(id: string, isForOthers: boolean): unknown;
  /** A value that nobody took yet and that doesn't name a question. */
  readonly unnamed: unknown;
}

/** Reads the answer to a question. If the given answer is wrong, says why. */
export function readAnswer(
  question: ApprovalQuestion,
  answers: Answers,
): { readonly answer: ApprovalAnswer } | { readonly refused: string | undefined };
export function readAnswer(
  question: AmbiguousQuestion,
  answers: Answers,
): { readonly answer: AmbiguousAnswer } | { readonly refused: string | undefined };
export function readAnswer(question: Question, answers: Answers): { answer: unknown } | { refused: unknown } {
  const { id } = question;
  const given = answers.take(id, question.kind === "ambiguous" && question.equal !== undefined);
  const fields = Object(given) as Record<string, unknown>;
  const author = textOf(fields["author"])?.toWellFormed().slice(0, longestAuthor);
  if (question.kind === "approval") {
    const { allow, reason } = fields;
    if (typeof allow === "boolean") return { answer: { id, allow, reason: textOf(reason), author } };
  } else {
    const { happened, result, results } = fields;
    if (question.equal !== undefined) {
      const most = question.equal;
      // "true" may be meant for one of them, or for all.
      const isCount =
        typeof happened === "number" && Number.isSafeInteger(happened) && happened >= 0 && happened <= most;
      const isMeant = isCount && (question.happened !== true || happened === most);
      const areResults = results === undefined || (Array.isArray(results) && results.length === happened);
      if (isMeant && areResults) return { answer: { id, happened, result, results, author } };
    } else if (happened === false && question.happened !== true)
      return { answer: { id, happened: false, author } };
    else if (happened === true) return { answer: { id, happened: true, result, author } };
  }
  const wanted =
    question.kind === "approval"
      ? `{ id: "${id}", allow: true or false, reason? }`
      : question.happened === true
        ? question.equal === undefined
          ? `{ id: "${id}", happened: true, result }: it is recorded that the call happened`
          : `{ id: "${id}", happened: ${question.equal}, results: [one for each] }: it is recorded that all of them happened`
        : question.equal !== undefined
          ? `{ id: "${id}", happened: how many of the ${question.equal} happened, results: [one for each of those]? }`
          : `{ id: "${id}", happened: true, result } or { id: "${id}", happened: false }`;
  if (given !== undefined) return { refused: `The answer to this question has to be ${wanted}.` };
  const unnamed = Object(answers.unnamed) as Record<string, unknown>;
  const said = unnamed[question.kind === "approval" ? "allow" : "happened"];
  const meantForUs = typeof said === "boolean" || (typeof said === "number" && question.kind === "ambiguous");
  return {
    refused: meantForUs ? `An answer has to name the question that it is for: ${wanted}.` : undefined,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
