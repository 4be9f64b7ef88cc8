import type { Journal, RecordedCall } from "@stratigraph/journal";
import { equalsOf } from "@stratigraph/journal/internal";
import { z } from "zod";
import { redactedText, type Redaction } from "../values/redaction.ts";
import { valueView } from "../values/view.ts";
import { whereFields } from "./callItem.ts";
import { callValues, shownValues } from "./callValues.ts";
import { pendingQuestions, type PendingQuestion } from "./pendingQuestions.ts";

/** How much of the arguments is shown with a question, in bytes. */
const argsBytes = 8000;

/** Something that a person must answer. */
export const openQuestion = z.object({
  thread: z.string(),
  call: z.string().describe("The fingerprint of the call, by which answer finds it."),
  calls: z
    .array(z.string())
    .optional()
    .describe(
      "All calls that it is about, if these are equal calls of parallel tasks: answer says how many of them happened.",
    ),
  kind: z
    .enum(["ambiguous", "approval"])
    .describe(
      "ambiguous: nobody knows whether the call happened, or what it returned. approval: a policy asks whether it may run.",
    ),
  happened: z
    .literal(true)
    .optional()
    .describe("It is recorded that the call happened, and its result isn't kept: only that is asked for."),
  tool: z.string(),
  effects: z.enum(["none", "idempotent", "once"]).optional(),
  args: valueView.optional().describe("Absent where they were erased."),
  why: z.string().describe("Why it is asked."),
  asked: z.boolean().describe("Whether the graph is stopped by it and waits."),
  answered: z
    .boolean()
    .describe(
      "An answer is stored, and the run uses it when it continues. The question isn't open any more.",
    ),
  interrupt: z
    .string()
    .optional()
    .describe("LangGraph's id of the interrupt, where the graph is stopped by it."),
  begun: z.string().optional().describe("When the call was begun last, ISO 8601."),
  attempts: z.number().optional(),
  key: z.string().optional().describe("The idempotency key, by which to look for the call at the service."),
  checkpoint: z.string().optional().describe("Where the graph waits, or else where the call was made."),
  where: whereFields.optional(),
});

/** See {@link openQuestion}. */
export type OpenQuestion = z.output<typeof openQuestion>;

/** The questions of a thread that a person must answer, and the answers that no run has taken yet. */
export async function openQuestions(
  journal: Journal,
  thread: string,
  redaction: Redaction,
): Promise<OpenQuestion[]> {
  const saver = journal.checkpointer;
  const asked = await pendingQuestions(saver, thread);
  const unresolved = (await journal.calls(thread)).filter((call) => call.unresolved === true);
  const found = await Promise.all(
    withEquals(unresolved).map((calls) => ambiguous(journal, thread, calls, asked, redaction)),
  );
  for (const { question, interrupt, checkpoint, isAnswered } of asked) {
    if (question.kind !== "approval") continue;
    const { call, tool, args, reason } = question;
    found.push({
      thread,
      call,
      kind: "approval",
      tool,
      ...(await shownValues(saver, { tool, args }, { redaction, maxBytes: argsBytes })),
      why: redaction.isActive ? redactedText : reason,
      asked: true,
      answered: isAnswered,
      ...(interrupt === undefined ? {} : { interrupt }),
      checkpoint,
    });
  }
  return found;
}

/** Calls, each with those that nobody can tell from it. */
function withEquals(calls: readonly RecordedCall[]): [RecordedCall, ...RecordedCall[]][] {
  const found: [RecordedCall, ...RecordedCall[]][] = [];
  const left = new Set(calls.map(openCall));
  for (const own of left) {
    const alike = equalsOf(
      [...left].filter(({ kind }) => kind !== undefined && kind === own.kind),
      own,
    );
    const [first = own, ...others] = alike.includes(own) ? alike : [own];
    for (const each of [first, ...others]) left.delete(each);
    found.push([first.call, ...others.map(({ call }) => call)]);
  }
  return found;
}

/** What tells a call from an equal one. */
function openCall(call: RecordedCall) {
  const claimed = call.entries.findLast(({ event }) => event.type === "claimed");
  const { event, seq = 0, session = "", at = "" } = claimed ?? {};
  return {
    call,
    where: call.where,
    status: call.status,
    claim: { seq, session, at },
    result: call.notKept === undefined ? undefined : { seq, hash: "", kept: false },
    kind: event?.type === "claimed" ? JSON.stringify([event.tool, event.argsHash]) : undefined,
  };
}

async function ambiguous(
  journal: Journal,
  thread: string,
  [call, ...others]: readonly [RecordedCall, ...RecordedCall[]],
  asked: readonly PendingQuestion[],
  redaction: Redaction,
): Promise<OpenQuestion> {
  const { fingerprint, tool, effects, attempts, error, where, idempotencyKey: key, notKept } = call;
  const calls = [fingerprint, ...others.map((other) => other.fingerprint)];
  const waiting = asked.find(
    ({ question }) => question.kind === "ambiguous" && calls.includes(question.call),
  );
  const begun = call.entries.findLast(({ event }) => event.type === "claimed")?.at;
  const checkpoint = waiting?.checkpoint ?? where.checkpoint;
  const died = "the process that made the call ended before its outcome was recorded";
  return {
    thread,
    call: fingerprint,
    ...(others.length === 0 ? {} : { calls }),
    kind: "ambiguous",
    tool,
    effects,
    ...(await callValues(journal.checkpointer, call, { redaction, maxBytes: argsBytes })),
    why: error === undefined ? died : redaction.isActive ? redactedText : error.message,
    asked: waiting !== undefined,
    answered: waiting?.isAnswered ?? false,
    ...(waiting?.interrupt === undefined ? {} : { interrupt: waiting.interrupt }),
    ...(begun === undefined ? {} : { begun }),
    attempts,
    key,
    ...(notKept === undefined ? {} : { happened: true as const }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    where: { ...where },
  };
}
