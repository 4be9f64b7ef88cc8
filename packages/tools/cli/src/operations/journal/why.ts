import { NotFoundError } from "@stratigraph/core";
import type { ExplainedCall, Journal, Provenance, SeenMessage } from "@stratigraph/journal";
import { z } from "zod";
import { shown, table } from "../render/columns.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { equalShare } from "../values/cut.ts";
import { Redaction } from "../values/redaction.ts";
import { inlineText, valueLines } from "../values/text.ts";
import { jsonOf, valueView, viewOf, type ValueView } from "../values/view.ts";
import { entryFields, entryOf } from "./callItem.ts";
import { callOf, shownValues } from "./callValues.ts";
import { messageAsking, newestMessage } from "./messageAsking.ts";
import { journalThread, openJournal } from "./openJournal.ts";

/** The least that a message or value gets of `maxBytes`. */
const leastBytes = 400;

const message = z.object({
  id: z.string().optional(),
  type: z.string().describe("human, ai, tool, system, …"),
  toolCallId: z.string().optional().describe("Of a tool's message: the call that it answers."),
  view: valueView,
});

const explained = z.object({
  toolCallId: z.string().optional().describe("The id that the model gave it."),
  message: z.string().optional().describe("The message that asked for it."),
  tool: z.string(),
  args: valueView.optional(),
  result: valueView
    .optional()
    .describe("The content of the message that answered it. Absent where none did yet."),
  calls: z
    .array(z.string())
    .describe(
      "Fingerprints of the recorded calls that it corresponds to. None: it wasn't made through the journal.",
    ),
  foundBy: z
    .enum(["id", "content", "nothing"])
    .describe("content: found by tool and arguments, so these may belong to an equal call elsewhere."),
  checkpoints: z.array(z.string()).describe("The checkpoints whose next steps made it."),
  entries: z.array(entryFields).describe("Decisions and outcomes, oldest first."),
});

const place = z.object({ namespace: z.string(), checkpoint: z.string() });

/** Reports where a message comes from. */
export const why = operation({
  name: "why",
  group: "look",
  effect: "read",
  summary:
    "Tell what a model had seen when it made a message: inputs, calls, results and decisions, with checkpoints.",
  args: ["thread", "message"],
  examples: ["stratigraph why ada", "stratigraph why ada msg-7"],
  input: z.object({
    thread: fields.thread,
    message: z.string().optional().describe("The id of a message. Default: the newest message of a model."),
    call: z
      .string()
      .min(6)
      .optional()
      .describe(
        "Instead of a message: a call, by its fingerprint or the beginning of it. The message that asked for it is taken.",
      ),
    maxBytes: maxBytes("How much of messages and values to show in all, in bytes. What is longer is cut."),
  }),
  output: z.object({
    thread: z.string(),
    message,
    made: place.describe("The first checkpoint that has the message."),
    from: place.optional().describe("The checkpoint whose state the model was given."),
    source: z
      .string()
      .describe("loop: a step made it. input: the run's input. update or fork: somebody put it there."),
    inputs: z.array(message).describe("The part of what the model was given that came from outside."),
    context: z.number().describe("How many messages the model was given in all."),
    calls: z.array(explained).describe("The calls that earlier messages asked for, with their outcomes."),
    asks: z.array(explained).describe("The calls that this message asks for."),
  }),
  async run({ thread, message: given, call, maxBytes }, context) {
    const journal = await openJournal(context);
    const threadId = await journalThread(journal, thread);
    const messageId = given ?? (await chosenMessage(journal, threadId, call));
    const found = await journal.why(threadId, { messageId });
    const redaction = new Redaction(context.redact);
    const { inputs, calls, asks } = found;
    const share = equalShare(maxBytes, 1 + inputs.length + calls.length + asks.length, leastBytes);
    const shownMessage = async (seen: SeenMessage) => await messageOf(journal, seen, redaction, share);
    const shownCall = async (each: ExplainedCall) => await explainedOf(journal, each, redaction, share);
    return {
      thread: threadId,
      message: await shownMessage(found.message),
      made: placeOf(found.checkpoint),
      ...(found.from === undefined ? {} : { from: placeOf(found.from) }),
      source: found.source,
      inputs: await Promise.all(inputs.map(shownMessage)),
      context: found.context.length,
      calls: await Promise.all(calls.map(shownCall)),
      asks: await Promise.all(asks.map(shownCall)),
    };
  },
  *render({ message: said, made, from, source, inputs, context, calls, asks }) {
    yield* valueLines(said.view.value);
    yield `first in checkpoint ${made.checkpoint}, made by ${source === "loop" ? "a step of the graph" : source}`;
    if (from !== undefined)
      yield `from the state at ${from.checkpoint}, with ${context === 1 ? "1 message" : `${context} messages`}`;
    if (inputs.length > 0) {
      yield "";
      yield "WHAT CAME FROM OUTSIDE";
      for (const { view } of inputs) for (const line of valueLines(view.value)) yield `  ${line}`;
    }
    yield* explainedLines("CALLS BEFORE IT", calls);
    yield* explainedLines("CALLS THAT IT ASKS FOR", asks);
    yield "";
    yield "This is what the model had seen, and not why it chose as it did: nobody can tell that.";
  },
});

function* explainedLines(heading: string, calls: readonly z.output<typeof explained>[]): Generator<string> {
  if (calls.length === 0) return;
  yield "";
  yield heading;
  for (const { tool, args, result, calls: found, foundBy, entries } of calls) {
    yield `  ${shown(tool)}(${args === undefined ? "" : inlineText(args.value)})${result === undefined ? "" : ` → ${inlineText(result.value)}`}`;
    if (found.length === 0) yield "    The journal has no such call.";
    else if (foundBy === "content")
      yield "    Found by tool and arguments: it may be an equal call elsewhere.";
    for (const line of table(
      ["", "", "", ""],
      entries.map(({ seq, at, text, author = "" }) => [`    ${seq}`, at, text, author]),
    ))
      if (line !== "") yield line;
  }
}

async function chosenMessage(journal: Journal, threadId: string, call: string | undefined): Promise<string> {
  if (call === undefined) {
    const newest = await newestMessage(journal.checkpointer, threadId);
    if (newest !== undefined) return newest;
    throw new NotFoundError(
      `The state of thread ${JSON.stringify(threadId)} has no message of a model that has an id. Name a message: "stratigraph show" shows their ids.`,
      { threadId },
    );
  }
  const { where, fingerprint } = callOf(await journal.calls(threadId), call, threadId);
  const asking = await messageAsking(journal.checkpointer, threadId, where);
  if (asking !== undefined) return asking;
  throw new NotFoundError(
    `No message of thread ${JSON.stringify(threadId)} asks for the call ${fingerprint.slice(0, 12)}: it was made by code, or the checkpoint that has the message was pruned.`,
    { threadId, call: fingerprint },
  );
}

async function messageOf(
  journal: Journal,
  seen: SeenMessage,
  redaction: Redaction,
  maxBytes: number,
): Promise<z.output<typeof message>> {
  const { id, tool_call_id: toolCallId } = seen;
  return {
    ...(id === undefined ? {} : { id }),
    type: seen.getType(),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    view: await viewOfMessage(journal, seen, redaction, maxBytes),
  };
}

async function viewOfMessage(
  journal: Journal,
  seen: SeenMessage,
  redaction: Redaction,
  maxBytes: number,
): Promise<ValueView> {
  const [type, bytes] = await journal.checkpointer.serde.dumpsTyped(seen);
  const json = jsonOf([type, bytes]);
  if (json === undefined) return { type, bytes: bytes.length };
  const value = redaction.isActive ? redaction.message(json.value) : json.value;
  return viewOf({ type, bytes: bytes.length, found: { value, path: [], from: 0 } }, maxBytes);
}

async function explainedOf(
  journal: Journal,
  { toolCallId, messageId, tool, args, result, fingerprints, foundBy, checkpoints, decisions }: ExplainedCall,
  redaction: Redaction,
  maxBytes: number,
): Promise<z.output<typeof explained>> {
  return {
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(messageId === undefined ? {} : { message: messageId }),
    tool,
    ...(await shownValues(journal.checkpointer, { tool, args, result }, { redaction, maxBytes })),
    calls: [...fingerprints],
    foundBy,
    checkpoints: [...checkpoints],
    entries: decisions.map(({ at, ...entry }) =>
      entryOf({ ...entry, at: at.toISOString() }, redaction.isActive),
    ),
  };
}

function placeOf({ configurable }: Provenance["checkpoint"]): z.output<typeof place> {
  return { namespace: configurable.checkpoint_ns, checkpoint: configurable.checkpoint_id };
}
