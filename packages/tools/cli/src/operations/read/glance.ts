import { ERROR, INTERRUPT } from "@langchain/langgraph-checkpoint";
import { NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import {
  headlessOrEvicted,
  inParallel,
  isArchivedElsewhere,
  isControlChannel,
  isLangGraphChannel,
  refusePart,
  taskStates,
  type DecodedBody,
} from "@stratigraph/core/internal";
import { isReserved, type StoredCheckpoint } from "@stratigraph/core/tier";
import { z } from "zod";
import { columns } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { Redaction } from "../values/redaction.ts";
import { shownError } from "../values/shownError.ts";
import { jsonOf, shownValue } from "../values/view.ts";
import { errorText, lastSaid, questionText, stateText } from "./excerpts.ts";
import { nextNodes } from "./nextNodes.ts";
import { listedCheckpoint } from "./records.ts";
import { nodeOfPath } from "./taskPaths.ts";
import { waitsBy } from "./waitsAt.ts";
import { clipped } from "../values/text.ts";

/** How many threads may be asked for at most, and how many of them are read at the same time. */
const mostThreads = 50;
const together = 4;

/** How many checkpoints of a thread are counted at most, as each one's record is read. */
const mostCounted = 1000;

/** The channel that holds conversations by default. A longer one isn't read for its last message. */
const conversation = "messages";
const mostConversationBytes = 2_000_000;

/** How many values of a state without a conversation are shown at most, and how long each may be. */
const mostValues = 6;
const mostValueBytes = 2000;

const item = z.object({
  thread: z.string(),
  next: z.array(z.string()).describe("The nodes that are due."),
  says: z
    .object({
      kind: z.enum(["question", "error", "message", "state"]),
      by: z.string().optional().describe("The node that asks or failed, or who wrote the message."),
      text: z.string().describe("Its beginning, on one line."),
    })
    .optional()
    .describe(
      `What it waits for, why it failed, or its last message: that of the channel "${conversation}". Of a state without one, short values.`,
    ),
  checkpoints: z.number(),
  complete: z
    .boolean()
    .describe(
      `False: it has more than ${mostCounted} checkpoints, and these are counted; or others are in an archive that isn't open.`,
    ),
  bytes: z
    .number()
    .describe("Values, and the records and pending writes of the counted checkpoints, as stored."),
  error: z.string().optional().describe("Why it can't be read: verify tells more."),
});

type Item = z.output<typeof item>;

/** Shows at a glance what some threads are about. */
export const glance = operation({
  name: "glance",
  group: "look",
  effect: "read",
  summary:
    "Tell at a glance what threads wait for or said last, and how much they take. Archived threads stay archived.",
  examples: ["stratigraph glance ada bob"],
  args: ["threads"],
  input: z.object({
    threads: texts(`The ids of threads, ${mostThreads} at most.`).refine(
      (ids) => ids.length <= mostThreads,
      `name ${mostThreads} threads at most`,
    ),
  }),
  output: z.object({ items: z.array(item).describe("In the order in which they were named.") }),
  async run({ threads }, context) {
    const saver = await context.saver();
    const redaction = new Redaction(context.redact);
    const items: Item[] = [];
    const look = async ([n, thread]: [number, string]) => {
      items[n] = await lookAt(saver, thread, redaction);
    };
    await inParallel([...threads.entries()], together, look, context.signal);
    return { items: items.filter((each) => each !== undefined) };
  },
  *render({ items }) {
    if (items.length === 0) {
      yield "No threads to look at: name some.";
      return;
    }
    const rows = items.map(({ thread, checkpoints, complete, bytes, ...rest }) => [
      thread,
      `${checkpoints}${complete ? "" : "+"}`,
      bytesText(bytes),
      rest.error ?? clipped(toldOf(rest), 100),
    ]);
    yield* columns([["THREAD", "CHECKPOINTS", "BYTES", ""], ...rows]);
  },
  found: ({ items }) => items.some(({ error }) => error !== undefined),
});

function toldOf({ says, next }: Pick<Item, "says" | "next">): string {
  const isStopped = says?.kind === "question" || says?.kind === "error";
  const due = !isStopped && next.length > 0 ? `next: ${next.join(", ")}. ` : "";
  if (says === undefined) return due;
  const { kind, by = "a task", text } = says;
  if (kind === "state") return `${due}${text}`;
  const who = kind === "question" ? `${by} asks: ` : kind === "error" ? `${by} failed: ` : `${by}: `;
  return `${due}${who}${text}`;
}

async function lookAt(saver: TierSaver, thread: string, redaction: Redaction): Promise<Item> {
  try {
    const [size, about] = await Promise.all([sizeOf(saver, thread), aboutOf(saver, thread, redaction)]);
    return { thread, ...size, ...about };
  } catch (error) {
    // One damaged thread mustn't keep the others from being reported.
    if (!StratigraphError.is(error) || error.retryable) throw error;
    return { thread, next: [], checkpoints: 0, complete: false, bytes: 0, error: error.message };
  }
}

async function sizeOf(
  saver: TierSaver,
  threadId: string,
): Promise<Pick<Item, "checkpoints" | "complete" | "bytes">> {
  const blobs = await saver.tier.blobs(threadId);
  let bytes = blobs.reduce((sum, { size }) => sum + size, 0);
  let checkpoints = 0;
  for await (const { record, writes } of saver.tier.list({
    threadId,
    recordsOnly: true,
    limit: mostCounted + 1,
  })) {
    if (checkpoints === mostCounted) return { checkpoints, complete: false, bytes };
    bytes += record.body.length + writes.reduce((sum, { body }) => sum + body.length, 0);
    if (!isReserved(record.namespace)) checkpoints += 1;
  }
  return { checkpoints, complete: !(await isArchivedElsewhere(saver.tier, threadId)), bytes };
}

async function aboutOf(
  saver: TierSaver,
  threadId: string,
  redaction: Redaction,
): Promise<Pick<Item, "next" | "says">> {
  const { head, headless, revision } = await saver.tier.peek({ threadId, namespace: "" });
  if (revision === 0)
    throw new NotFoundError(`There is no thread ${JSON.stringify(threadId)}.`, { threadId });
  const root = { threadId, namespace: "" };
  if (headless === true) throw await headlessOrEvicted(saver.tier, root);
  if (head === undefined) return { next: [] };
  const stored = await listedCheckpoint(saver, { ...root, checkpointId: head });
  if (stored === undefined) await refusePart(saver.tier, { ...root, checkpointId: head });
  if (stored === undefined) return { next: [] };
  const body = await saver.coder.decodeBody(stored.record);
  const waits = await waitingFor(saver, stored, redaction);
  const next = await dueAt(saver, stored, body, waits.ended);
  const says = waits.says ?? (await content(saver, stored, body, redaction));
  return { next, ...(says === undefined ? {} : { says }) };
}

/** What keeps the next step from ending, and the paths of the tasks that have ended in it. */
async function waitingFor(
  saver: TierSaver,
  { record, writes, blobs }: StoredCheckpoint,
  redaction: Redaction,
): Promise<{ readonly says?: NonNullable<Item["says"]>; readonly ended: readonly string[] }> {
  const pending = await saver.coder.writes.unrevived(record, writes);
  const states = await taskStates(saver, { record, writes });
  const { outcomes } = states;
  const ended = pending.flatMap(({ taskId, taskPath }) =>
    outcomes.get(taskId) === "ended" ? [taskPath] : [],
  );
  const { waits } = waitsBy(states, { record, head: record.checkpointId });
  if (waits === undefined) return { ended };
  const [wanted, outcome] = waits === "interrupt" ? [INTERRUPT, "waiting"] : [ERROR, "failed"];
  const found: NonNullable<Item["says"]>[] = [];
  for (const { channel, taskId, taskPath, value } of pending) {
    if (channel !== wanted || outcomes.get(taskId) !== outcome) continue;
    const typed = await saver.coder.serialized(record, channel, value, blobs);
    const shown = waits === "error" ? shownError(typed, redaction) : shownValue(channel, typed, redaction);
    const json = shown?.found?.value;
    const by = nodeOfPath(taskPath);
    const told: Pick<NonNullable<Item["says"]>, "kind" | "text"> = waits === "interrupt"
      ? { kind: "question", text: questionText(json, redaction.isActive) }
      : { kind: "error", text: errorText(json) };
    found.push({ ...told, ...(by === undefined ? {} : { by }) });
  }
  // LangGraph stops the other tasks of a step when one fails. Their AbortErrors aren't the reason.
  const says = found.find(({ text }) => !text.startsWith("AbortError")) ?? found[0];
  return { ended, ...(says === undefined ? {} : { says }) };
}

async function dueAt(
  saver: TierSaver,
  { record, blobs }: StoredCheckpoint,
  { manifest }: DecodedBody,
  ended: readonly string[],
): Promise<string[]> {
  const control = new Map<string, unknown>();
  for (const { channel, value } of manifest.values())
    if (value !== undefined && isControlChannel(channel))
      control.set(channel, jsonOf(await saver.coder.serialized(record, channel, value, blobs))?.value);
  return nextNodes(control, ended);
}

/** The last message of the conversation; if there is none, the short values of the state. */
async function content(
  saver: TierSaver,
  { record, blobs }: StoredCheckpoint,
  { manifest }: DecodedBody,
  redaction: Redaction,
): Promise<Item["says"]> {
  const read = async (channel: string, mostBytes: number): Promise<unknown> => {
    const value = manifest.get(channel)?.value;
    const typed = value && (await saver.coder.serialized(record, channel, value, blobs));
    if (typed === undefined || typed[1].length > mostBytes) return undefined;
    return shownValue(channel, typed, redaction)?.found?.value;
  };
  const said = lastSaid(await read(conversation, mostConversationBytes));
  if (said !== undefined) return { kind: "message", ...said };
  const values: [string, unknown][] = [];
  for (const channel of [...manifest.keys()].sort()) {
    if (values.length === mostValues) break;
    const value = isLangGraphChannel(channel) ? undefined : await read(channel, mostValueBytes);
    if (value !== undefined) values.push([channel, value]);
  }
  return values.length === 0 ? undefined : { kind: "state", text: stateText(values) };
}
