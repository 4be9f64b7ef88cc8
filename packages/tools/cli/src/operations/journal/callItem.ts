import type { Entry, RecordedCall } from "@stratigraph/journal";
import { z } from "zod";
import { redactedText } from "../values/redaction.ts";
import { valueView } from "../values/view.ts";
import type { CallValues } from "./callValues.ts";

/** Where in a graph a call was made. */
export const whereFields = z.object({
  thread: z.string().optional().describe("The thread whose run made it, where that isn't the journal's own."),
  checkpoint: z.string().optional().describe("The checkpoint of the root graph from which the step began."),
  namespace: z.string().optional(),
  issuer: z.string().optional().describe("The checkpoint in that namespace."),
  task: z.string().optional(),
  node: z.string().optional(),
  step: z.number().optional(),
  run: z.string().optional(),
  toolCallId: z.string().optional().describe("The id that the model gave it."),
});

/** An entry of a journal, about a call. */
export const entryFields = z.object({
  seq: z.number().describe("Its number in the journal."),
  at: z.string().describe("ISO 8601, by the clock of the process that wrote it."),
  type: z.string().describe("claimed, succeeded, failed, denied, approved, resolved, …"),
  author: z.string().optional().describe("Who wrote it, as the application or the operator says."),
  by: z.string().optional().describe("Who decided: policy, person, operator or reconcile."),
  text: z.string().describe("What it says, for people."),
});

export const callStatuses = [
  "succeeded",
  "failed",
  "denied",
  "unresolved",
  "running",
  "claimed",
  "waiting",
  "repeats",
] as const;

/** A call as operations return it. */
export const callItem = z.object({
  call: z.string().describe("Its fingerprint: names it in the thread."),
  tool: z.string(),
  effects: z.enum(["none", "idempotent", "once"]).describe("What a repetition would do."),
  status: z
    .enum(callStatuses)
    .describe(
      "unresolved: nobody knows whether it happened. claimed: it began, and from here nobody can tell whether its process is alive. waiting: it waits for an answer, or hasn't begun. repeats: it counts as a repetition of another.",
    ),
  repeats: z.string().optional().describe("The call that it is a repetition of."),
  attempts: z.number().describe("How often it was begun."),
  replays: z.number().describe("How often its recorded result was given instead of running it again."),
  begun: z.string().optional().describe("When the first entry about it was written, ISO 8601."),
  ended: z.string().optional().describe("When its outcome was recorded."),
  ms: z.number().optional().describe("How long the tool ran."),
  key: z.string().describe("The idempotency key that services are given."),
  where: whereFields,
  error: z.string().optional(),
  args: valueView.optional().describe("Absent where they were erased or cut off."),
  result: valueView.optional().describe("Absent if there is none, or if it wasn't kept or was erased."),
  notKept: z
    .string()
    .optional()
    .describe("Why the result of a call that happened isn't kept: a repetition asks a person for it."),
  entries: z.array(entryFields).describe("What the journal says of it, oldest first."),
});

/** See {@link callItem}. */
export type CallItem = z.output<typeof callItem>;

const outcomes: ReadonlySet<string> = new Set([
  "succeeded",
  "failed",
  "read",
  "unknown",
  "denied",
  "resolved",
]);

/** A recorded call without its values, for people and programs. @param hidesErrors whether texts of errors may hold what is redacted */
export function callItemOf(call: RecordedCall, values: CallValues, hidesErrors: boolean): CallItem {
  const { fingerprint, tool, effects, where, repeats, attempts, returned, ms, error, entries, notKept } =
    call;
  const ended = entries.findLast(({ event }) => outcomes.has(event.type));
  const [begun] = entries;
  return {
    call: fingerprint,
    tool,
    effects,
    status: statusOf(call),
    ...(repeats === undefined ? {} : { repeats }),
    attempts,
    replays: returned,
    ...(begun === undefined ? {} : { begun: begun.at }),
    ...(ended === undefined ? {} : { ended: ended.at }),
    ...(ms === undefined ? {} : { ms }),
    key: call.idempotencyKey,
    where: { ...where },
    ...(error === undefined ? {} : { error: hidesErrors ? redactedText : `${error.name}: ${error.message}` }),
    ...(notKept === undefined ? {} : { notKept: hidesErrors ? redactedText : notKept }),
    ...values,
    entries: entries.map((entry) => entryOf(entry, hidesErrors)),
  };
}

/** The status of a call, in one word. */
export function statusOf({
  status,
  unresolved,
}: Pick<RecordedCall, "status" | "unresolved">): CallItem["status"] {
  if (status === "suspended") return "waiting";
  if (status !== "claimed" && status !== "unknown") return status;
  return unresolved === undefined ? "claimed" : unresolved ? "unresolved" : "running";
}

/** An entry as operations return it. */
export function entryOf(
  { seq, at, author, event }: Omit<Entry, "v" | "hash" | "prev" | "session">,
  hidesErrors: boolean,
): z.output<typeof entryFields> {
  return {
    seq,
    at,
    type: event.type,
    ...(author === undefined ? {} : { author }),
    ...("by" in event ? { by: event.by } : {}),
    text: entryText(event, hidesErrors),
  };
}

function entryText(event: Entry["event"], hidesErrors: boolean): string {
  const said = (text: string | undefined): string =>
    text === undefined || text === "" ? "" : hidesErrors ? `: ${redactedText}` : `: ${text}`;
  switch (event.type) {
    case "session":
      return `process ${event.pid} begins to make calls`;
    case "claimed":
      return event.attempt === 1 ? "claimed, about to run" : `claimed again, attempt ${event.attempt}`;
    case "succeeded":
      return `happened, in ${event.ms} ms${event.kept ? "" : `; the result wasn't kept${said(event.notKept)}`}`;
    case "read":
      return event.error === undefined
        ? `ran, in ${event.ms} ms${event.kept ? "" : `; the result wasn't kept${said(event.notKept)}`}`
        : `ran, and failed${said(event.error.message)}`;
    case "failed":
      return `certainly didn't happen${said(event.error.message)}`;
    case "unknown":
      if (event.reason === "not kept")
        return `its result was asked for, and isn't kept${said(event.error?.message)}`;
      return `nobody knows whether it happened (${event.reason})${said(event.error?.message)}`;
    case "suspended":
      return "stopped with a question of its own, before it acted";
    case "denied":
      return `refused by ${event.by === "policy" ? "the policy" : "a person"}${said(event.reason)}`;
    case "approved":
      return `allowed by a person${said(event.said)}; the policy asked${said(event.reason)}`;
    case "resolved":
      return `${event.happened ? "found to have happened" : "found not to have happened"}, by ${event.by === "reconcile" ? "the tool's reconciler" : event.by === "person" ? "a person's answer" : "an operator"}`;
    case "repeats":
      return `counts as a repetition of ${event.of.slice(0, 12)}`;
    case "late":
      return `a process that counted as dead finished after all: it ${event.outcome}`;
    case "returned":
      return "its recorded result was given again";
    case "forgotten":
      return `may run again${said(event.reason)}`;
    case "erased":
      return `arguments and results up to entry ${event.upTo} were erased`;
    case "folded":
      return "the state that follows from the entries was stored, so that the journal opens faster";
    case "cut":
      return `entries up to ${event.last} were cut off`;
    case "note":
      return `${event.about}${said(event.text)}`;
  }
}
