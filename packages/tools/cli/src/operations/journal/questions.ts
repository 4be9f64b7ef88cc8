import { decodeCursor, encodeCursor } from "@stratigraph/core/internal";
import type { Journal } from "@stratigraph/journal";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { commandText } from "../render/commandText.ts";
import { timeText } from "../render/units.ts";
import type { Context } from "../table/context.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { Redaction } from "../values/redaction.ts";
import { inlineText } from "../values/text.ts";
import { DamagedThreads, failure } from "../read/damagedThreads.ts";
import { journalThread, openJournal } from "./openJournal.ts";
import { openQuestion, openQuestions, type OpenQuestion } from "./openQuestions.ts";

/** How many threads are looked at for one page at most: most have no questions. */
const mostThreads = 1000;

/** How many threads are looked at at the same time. */
const together = 8;

/** Lists what a person must answer. */
export const questions = operation({
  name: "questions",
  group: "look",
  effect: "read",
  summary:
    "List what a person must answer: calls that may have happened, results that aren't kept, and calls that a policy asks about.",
  args: ["thread"],
  examples: ["stratigraph questions", "stratigraph questions ada"],
  input: z.object({
    thread: fields.thread.optional().describe("Only of this thread. Default: of all threads."),
    archived: flag("Also of archived threads, each of which is read from the archive."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    items: z.array(openQuestion),
    threads: z.number().describe("How many threads were looked at."),
    skipped: z.number().describe("How many archived or evicted threads were left out."),
    failed: z.array(failure).describe("Threads that could not be read, and why."),
    cursor: z.string().optional().describe("Where to go on: there may be more."),
  }),
  async run({ thread, archived, limit, cursor }, context) {
    const journal = await openJournal(context);
    const redaction = new Redaction(context.redact);
    if (thread === undefined)
      return await ofAllThreads(journal, context, redaction, { limit, archived, cursor });
    const items = await openQuestions(journal, await journalThread(journal, thread), redaction);
    return { items, threads: 1, skipped: 0, failed: [] };
  },
  *render({ items, threads, skipped, failed, cursor }) {
    for (const [n, item] of items.entries()) {
      if (n > 0) yield "";
      yield* questionLines(item);
    }
    if (items.length === 0)
      yield `No open questions in ${threads === 1 ? "1 thread" : `${threads} threads`}.`;
    for (const { thread, error } of failed) yield `NOT READ ${shown(thread)}: ${shown(error)}`;
    if (skipped > 0) yield `Archived threads that were left out: ${skipped}. Look into them with --archived.`;
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
  found: ({ items, failed }) => failed.length > 0 || items.some(({ answered }) => !answered),
});

function* questionLines({
  thread,
  call,
  kind,
  tool,
  args,
  why,
  happened,
  answered,
  asked,
  begun,
  key,
  calls,
}: OpenQuestion): Generator<string> {
  const argsText = args === undefined ? "(erased)" : inlineText(args.value);
  yield `${shown(thread)}  ${shown(tool)}  ${argsText}`;
  const asks =
    kind === "approval"
      ? "May it run?"
      : happened === true
        ? calls === undefined
          ? "It happened. What was its result?"
          : `These ${calls.length} equal calls happened. What was their result?`
        : calls === undefined
          ? "Did it happen?"
          : `How many of these ${calls.length} equal calls happened?`;
  yield `  ${asks} ${shown(why)}`;
  if (begun !== undefined) yield `  begun ${timeText(Date.now() - Date.parse(begun))} ago  ${begun}`;
  if (kind === "ambiguous" && key !== undefined && calls === undefined)
    yield `  idempotency key ${shown(key)}`;
  if (asked) yield "  The graph is stopped, and waits for the answer.";
  const answer =
    kind === "approval" ? ["allow"] : ["happened", ...(calls === undefined ? [] : [`${calls.length}`])];
  if (answered) yield "  Answered: the run uses the answer when it continues.";
  else yield `  ${commandText("answer", [thread, call.slice(0, 12), ...answer], "--author …")}`;
}

async function ofAllThreads(
  journal: Journal,
  context: Context,
  redaction: Redaction,
  { limit, archived, cursor }: { limit: number; archived: boolean; cursor: string | undefined },
): Promise<{
  items: OpenQuestion[];
  threads: number;
  skipped: number;
  failed: z.output<typeof failure>[];
  cursor?: string;
}> {
  const items: OpenQuestion[] = [];
  const damaged = new DamagedThreads();
  const { failures: failed, onDamaged } = damaged;
  let [threads, skipped] = [0, 0];
  let at = cursor === undefined ? undefined : placeOf(cursor);
  for (;;) {
    // A thread that is written to meanwhile moves to the end of this order. It may be listed twice, but is never missed.
    const listed = await journal.checkpointer.listThreads({
      order: "oldest",
      limit: together,
      cursor: at,
      onDamaged,
    });
    const some = listed.threads.filter(({ evicted }) => archived || !evicted);
    skipped += listed.threads.length - some.length;
    threads += some.length;
    for (const found of await Promise.all(
      some.map(({ threadId }) =>
        damaged.unless(threadId, [], () => openQuestions(journal, threadId, redaction)),
      ),
    ))
      items.push(...found);
    context.progress({ done: threads, unit: "threads", at: listed.threads.at(-1)?.threadId });
    if (listed.cursor === undefined) return { items, threads, skipped, failed };
    at = listed.cursor;
    if (threads + skipped >= mostThreads || items.length >= limit || context.signal.aborted)
      return { items, threads, skipped, failed, cursor: encodeCursor({ threads: at }) };
  }
}

function placeOf(cursor: string): string {
  const isPlace = (place: unknown): place is { threads: string } =>
    typeof (Object(place) as { threads?: unknown }).threads === "string";
  return decodeCursor(cursor, isPlace, "Pass the cursor of the previous page unchanged.").threads;
}
