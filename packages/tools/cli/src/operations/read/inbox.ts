import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import { StratigraphError, type ThreadInfo, type TierSaver } from "@stratigraph/core";
import { inParallel, refusePart, taskStates } from "@stratigraph/core/internal";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { commandText } from "../render/commandText.ts";
import { agoText } from "../render/units.ts";
import { fields, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { pair, tagsOf } from "../table/pairs.ts";
import { contentOf } from "../values/records.ts";
import { Redaction } from "../values/redaction.ts";
import { shownValue } from "../values/view.ts";
import { DamagedThreads } from "./damagedThreads.ts";
import { questionText } from "./excerpts.ts";
import { nodeOfPath } from "./taskPaths.ts";
import { listedCheckpoint } from "./records.ts";

/** How many threads are read at the same time. */
const together = 8;

const item = z.object({
  thread: z.string(),
  checkpoint: z.string().describe("The head, which the answer is for."),
  since: z.iso
    .datetime()
    .describe("When the thread was last written, to the minute or better: it has waited since then."),
  questions: z
    .array(
      z.object({
        by: z.string().optional().describe("The node that asks, where it is known."),
        text: z.string().describe("The beginning of the question, on one line."),
      }),
    )
    .describe("What is asked. Empty if it can't be read."),
  error: z.string().optional().describe("Why it can't be read: verify tells more."),
});

type Item = z.output<typeof item>;

/** Lists the threads that wait for a person. */
export const inbox = operation({
  name: "inbox",
  group: "look",
  effect: "read",
  summary:
    "List the threads that wait for a person's answer, longest first, with their questions. Archived threads stay archived.",
  examples: ["stratigraph inbox", "stratigraph inbox --tag team=travel"],
  input: z.object({
    tag: texts("key=value of a tag that the threads must carry.", pair),
    order: z
      .enum(["oldest", "newest"])
      .default("oldest")
      .describe("Those that have waited longest first, or those that began to wait last."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    items: z.array(item),
    note: z.string().optional().describe("That threads were left out, and why."),
    cursor: z.string().optional().describe("Where the next page begins."),
  }),
  whole: { order: "oldest" },
  async run({ tag, order, limit, cursor }, context) {
    const saver = await context.saver();
    const redaction = new Redaction(context.redact);
    const damaged = new DamagedThreads();
    const page = await saver.listThreads({
      status: "waiting",
      onDamaged: damaged.onDamaged,
      order,
      limit,
      ...(tag.length === 0 ? {} : { tag: tagsOf(tag) }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const items: (Item | undefined)[] = [];
    const look = async ([n, thread]: [number, ThreadInfo]) => {
      items[n] = await lookAt(saver, thread, redaction);
    };
    await inParallel([...page.threads.entries()], together, look, context.signal);
    const note = damaged.note();
    return {
      items: items.filter((each) => each !== undefined),
      ...(note === undefined ? {} : { note }),
      ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
    };
  },
  *render({ items, note, cursor }) {
    const now = Date.now();
    for (const { thread, since, questions, error } of items) {
      yield `${shown(thread)}  waits ${agoText(now - Date.parse(since))}`;
      for (const { by = "a task", text } of questions) yield `  ${shown(by)} asks: ${shown(text)}`;
      if (error !== undefined) yield `  ${shown(error)}`;
      else yield `  ${commandText("run", [thread], "--resume …")}`;
    }
    if (items.length === 0 && cursor === undefined) yield "No thread waits for an answer.";
    if (note !== undefined) yield note;
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
  found: ({ items }) => items.length > 0,
});

/** Undefined if the thread no longer waits: it was answered after it was listed. */
async function lookAt(
  saver: TierSaver,
  { threadId, head, writtenAtMs }: ThreadInfo,
  redaction: Redaction,
): Promise<Item | undefined> {
  if (head === undefined) return undefined;
  const about = { thread: threadId, checkpoint: head, since: new Date(writtenAtMs).toISOString() };
  try {
    const questions = await questionsAt(saver, threadId, head, redaction);
    return questions.length === 0 ? undefined : { ...about, questions };
  } catch (error) {
    // One damaged thread mustn't keep the others from being listed.
    if (!StratigraphError.is(error) || error.retryable) throw error;
    return { ...about, questions: [], error: error.message };
  }
}

/** The questions at a head that wait for an answer. */
async function questionsAt(
  saver: TierSaver,
  threadId: string,
  checkpointId: string,
  redaction: Redaction,
): Promise<Item["questions"]> {
  const stored = await listedCheckpoint(saver, { threadId, namespace: "", checkpointId });
  if (stored === undefined) await refusePart(saver.tier, { threadId, namespace: "", checkpointId });
  if (stored === undefined) return [];
  const { record, writes, blobs } = stored;
  const { waiting } = await taskStates(saver, { record, writes });
  const questions: Item["questions"] = [];
  for (const { channel, taskId, taskPath, value } of await saver.coder.writes.unrevived(record, writes)) {
    if (channel !== INTERRUPT || !waiting.has(taskId)) continue;
    const typed = await saver.coder.serialized(record, channel, value, blobs);
    const content = contentOf(shownValue(channel, typed, redaction)?.found?.value);
    const by = nodeOfPath(taskPath);
    // From LangGraph 1.7 on, a task writes all its questions as one list.
    for (const asked of Array.isArray(content) ? (content as unknown[]) : [content])
      questions.push({ text: questionText(asked, redaction.isActive), ...(by === undefined ? {} : { by }) });
  }
  return questions;
}
