import { RESUME } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, NotFoundError } from "@stratigraph/core";
import { configOf } from "@stratigraph/core/internal";
import type { Journal } from "@stratigraph/journal";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { edited } from "../values/edit.ts";
import { Redaction } from "../values/redaction.ts";
import { journalThread, openJournal } from "./openJournal.ts";
import { openQuestions, type OpenQuestion } from "./openQuestions.ts";
import { pendingQuestions } from "./pendingQuestions.ts";

/** The task under which LangGraph stores an answer that doesn't name an interrupt. */
const noTask = "00000000-0000-0000-0000-000000000000";

const answers = ["happened", "not-happened", "allow", "deny"] as const;

/** Answers a question. */
export const answer = operation({
  name: "answer",
  group: "change",
  effect: "write",
  summary:
    "Answer a question about a call: whether it happened, or whether it may run. Then continue the run.",
  args: ["thread", "call", "answer", "count"],
  examples: [
    "stratigraph answer ada 3f9c0a happened --result '\"receipt 7\"' --author ops",
    "stratigraph answer ada 3f9c0a not-happened --author ops",
    "stratigraph answer ada 3f9c0a happened 25 --author ops",
  ],
  input: z.object({
    thread: fields.thread,
    call: z
      .string()
      .min(6)
      .describe("The call's fingerprint, or at least its first 6 characters: questions shows it."),
    answer: z
      .enum(answers)
      .describe(
        "happened: the call happened, and isn't repeated. not-happened: it certainly didn't happen, and may run again. allow or deny: for a call that a policy asks about.",
      ),
    count: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe("Of equal calls of parallel tasks: how many of them happened. The others certainly didn't."),
    result: z
      .string()
      .meta({ fromFile: true })
      .optional()
      .describe(
        'The result of a call that happened, as JSON of the serde: "receipt 7" in quotes. Default: nothing.',
      ),
    reason: z
      .string()
      .max(2000)
      .optional()
      .describe("Why a call is allowed or denied: the model is told why it was denied."),
    author: z.string().min(1).max(200).describe("Who answers, for the trail."),
    dryRun: fields.dryRun,
  }),
  output: z.object({
    thread: z.string(),
    call: z.string().describe("The whole fingerprint."),
    tool: z.string(),
    kind: z.enum(["ambiguous", "approval"]),
    answer: z.enum(answers),
    author: z.string(),
    applied: z.boolean().describe("False in a dry run."),
    does: z.string().describe("What the answer does, in a sentence."),
  }),
  async run({ thread, call, answer: given, count, result, reason, author, dryRun }, context) {
    const journal = await openJournal(context);
    const threadId = await journalThread(journal, thread);
    const found = questionOf(await openQuestions(journal, threadId, new Redaction([])), call, threadId);
    const question = count === undefined ? ofOne(found, call) : found;
    const { tool, kind, call: fingerprint } = question;
    checkAnswer(question, given, { count, result, reason });
    const told = { thread: threadId, call: fingerprint, tool, kind, answer: given, author };
    const value =
      result === undefined ? undefined : await edited(journal.checkpointer, undefined, [], result);
    if (!dryRun) {
      if (kind === "ambiguous") {
        // It doesn't matter which of equal calls happened.
        for (const [n, each] of (question.calls ?? [fingerprint]).entries()) {
          const happened = given === "happened" && n < (count ?? 1);
          await journal.resolve(each, {
            threadId,
            happened,
            author,
            ...(happened ? { result: value } : {}),
          });
        }
      } else await storeAnswer(journal, question, { allow: given === "allow", reason, author });
    }
    return { ...told, applied: !dryRun, does: whatItDoes(question, given) };
  },
  *render({ thread, tool, call, answer: given, author, applied, does }) {
    yield `${applied ? "Answered" : "Would answer"} for ${shown(tool)} ${call.slice(0, 12)} of ${shown(thread)}: ${given}, says ${shown(author)}.`;
    yield does;
  },
});

function questionOf(open: readonly OpenQuestion[], given: string, thread: string): OpenQuestion {
  const found = open.filter(
    ({ call, calls = [], answered }) => !answered && [call, ...calls].some((each) => each.startsWith(given)),
  );
  const [question] = found;
  if (question !== undefined && (found.length === 1 || question.call === given)) return question;
  if (found.length > 1)
    throw new InvalidOptionError(
      "call",
      given,
      `${found.length} questions are about calls that begin so. Write more characters.`,
    );
  throw new NotFoundError(
    `Thread ${JSON.stringify(thread)} has no open question about a call ${JSON.stringify(given)}: it was answered, or its process is still running it. "stratigraph questions" lists the open ones, "stratigraph calls" shows what became of the others.`,
    { threadId: thread, call: given },
  );
}

/** Whoever has the whole fingerprint of one of equal calls, as the inspector and clients do, answers for that one. */
function ofOne(question: OpenQuestion, given: string): OpenQuestion {
  return question.calls?.includes(given) === true ? { ...question, call: given, calls: undefined } : question;
}

function checkAnswer(
  { kind, happened, calls }: OpenQuestion,
  given: (typeof answers)[number],
  {
    count,
    result,
    reason,
  }: {
    readonly count: number | undefined;
    readonly result: string | undefined;
    readonly reason: string | undefined;
  },
): void {
  const isApproval = given === "allow" || given === "deny";
  if (kind === "approval" && !isApproval)
    throw new InvalidOptionError(
      "answer",
      given,
      "A policy asks whether this call may run: answer allow or deny.",
    );
  if (kind === "ambiguous" && isApproval)
    throw new InvalidOptionError(
      "answer",
      given,
      "This call was begun, and nobody knows whether it happened: answer happened or not-happened.",
    );
  if (happened === true && given === "not-happened")
    throw new InvalidOptionError(
      "answer",
      given,
      "It is recorded that this call happened, and its result isn't kept: answer happened, with its result.",
    );
  const most = given === "happened" ? calls?.length : undefined;
  if (most === undefined ? count !== undefined : count === undefined || count > most)
    throw new InvalidOptionError(
      "count",
      count,
      most === undefined
        ? "Only of equal calls of parallel tasks a number happened: leave it out."
        : `Say how many of the ${most} equal calls happened: happened 1 to happened ${most}, or not-happened for none.`,
    );
  if (happened === true && most !== count)
    throw new InvalidOptionError("count", count, `It is recorded that all ${most} calls happened.`);
  if (result !== undefined && given !== "happened")
    throw new InvalidOptionError(
      "result",
      "a result",
      "Only a call that happened has a result: leave it out.",
    );
  if (reason !== undefined && kind === "ambiguous")
    throw new InvalidOptionError(
      "reason",
      "a reason",
      "The trail keeps a reason only for allow and deny: leave it out.",
    );
}

/**
 * Stores an answer where LangGraph itself would store it first. A run that is continued without an answer of its own takes it from
 * there.
 */
async function storeAnswer(
  journal: Journal,
  { thread, call }: OpenQuestion,
  {
    allow,
    reason,
    author,
  }: { readonly allow: boolean; readonly reason: string | undefined; readonly author: string },
): Promise<void> {
  const saver = journal.checkpointer;
  const pending = await pendingQuestions(saver, thread);
  const asked = pending.find(({ question }) => question.kind === "approval" && question.call === call);
  if (asked === undefined || asked.isAnswered)
    throw new NotFoundError("The question was answered meanwhile, or the run went on.", {
      threadId: thread,
      call,
    });
  // LangGraph keeps only one such answer: a second one would replace it.
  const other = pending.find(({ isAnswered }) => isAnswered);
  if (other !== undefined)
    throw new InvalidOptionError(
      "call",
      call.slice(0, 12),
      `The answer about ${other.question.call.slice(0, 12)} hasn't been used yet: continue the run first.`,
    );
  const resume = { id: asked.question.id, allow, author, ...(reason === undefined ? {} : { reason }) };
  const at = { threadId: thread, namespace: "", checkpointId: asked.checkpoint };
  await saver.putWrites(configOf(at), [[RESUME, resume]], noTask);
}

function whatItDoes({ asked }: OpenQuestion, given: (typeof answers)[number]): string {
  const goesOn = asked
    ? " The graph waits: continue the run with graph.invoke(null, …)."
    : " Run the agent again to go on.";
  switch (given) {
    case "happened":
      return `The call isn't made again: whoever makes it is given this result.${goesOn}`;
    case "not-happened":
      return `If the call is made again, it runs again, with the same idempotency key.${goesOn}`;
    case "allow":
      return `The call runs once.${goesOn}`;
    case "deny":
      return `The call doesn't run, and the model is told why.${goesOn}`;
  }
}
