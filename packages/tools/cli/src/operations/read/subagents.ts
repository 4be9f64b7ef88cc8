import { InvalidAddressError, NotFoundError, type TierSaver } from "@stratigraph/core";
import { decodeCursor, encodeCursor, refusePart } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { z } from "zod";
import { shown, table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { waitsText } from "../render/words.ts";
import { resolveThread } from "../table/address.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { hasCut } from "../values/cut.ts";
import { Redaction } from "../values/redaction.ts";
import { clipped, valueLines } from "../values/text.ts";
import { valueView, viewOf } from "../values/view.ts";
import { partNote } from "./archivedPart.ts";
import { lastSaid } from "./excerpts.ts";
import type { ListedHead } from "./records.ts";
import { conversation, subgraphHeads, Subgraphs, subgraphsFrom, type Subgraph } from "./subgraphs.ts";
import { waits, waitsAt } from "./waitsAt.ts";

/** How many subagents are looked through at most for one that is named by its agent or call. */
const mostLookedAt = 1000;

/** What operations tell of a subgraph. */
export const subagent = z.object({
  namespace: z.string().describe("Where its checkpoints are: the namespace that history and show take."),
  agent: z
    .string()
    .describe("Its name, as far as it can be told; otherwise that of the node or tool that ran it."),
  node: z.string().describe("The node that ran it."),
  call: z
    .object({ id: z.string().optional(), name: z.string() })
    .optional()
    .describe("The tool call that it was run for, if that can be told."),
  parent: z
    .object({ namespace: z.string(), checkpoint: z.string().optional() })
    .describe("The graph that ran it, and the checkpoint from which the step began."),
  checkpoint: z.string().describe("Its head."),
  step: z.number().optional(),
  ts: z.string().describe("When its head was made, ISO 8601."),
  waits,
  says: z
    .object({ by: z.string(), text: z.string() })
    .optional()
    .describe("Its last message that has a text: its beginning."),
});

type Subagent = z.output<typeof subagent>;

/** Lists subagents, and shows the transcript of one. */
export const subagents = operation({
  name: "subagents",
  group: "look",
  effect: "read",
  summary:
    "List a thread's subagents and other subgraphs, with the tool calls that they were run for, or show the messages of one.",
  examples: ["stratigraph subagents ada", "stratigraph subagents ada --one researcher"],
  args: ["thread"],
  input: z.object({
    thread: fields.thread,
    one: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Only this one, with its messages: the id of the tool call that it was run for, its name, its namespace, or the beginning of that.",
      ),
    maxBytes: maxBytes("How much of the messages to show in all, in bytes. Longer ones are cut."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    thread: z.string(),
    items: z.array(subagent).describe("Those written last come first."),
    messages: valueView
      .optional()
      .describe(`Of the one that was named: the channel "${conversation}" at its head, if it has one.`),
    note: z.string().optional().describe("If a part of the thread is in an archive that isn't open."),
    cursor: z.string().optional().describe("Where the next page begins."),
  }),
  async run({ thread, one, maxBytes, limit, cursor }, context) {
    const saver = await context.saver();
    const threadId = await resolveThread(saver, thread);
    const heads = await subgraphHeads(saver, threadId);
    const reading = new Subgraphs(saver, new Redaction(context.redact));
    if (one !== undefined) {
      const found = await oneOf(saver, reading, heads, threadId, one, context.signal);
      const { messages } = found;
      const view =
        messages === undefined
          ? {}
          : {
              messages: viewOf(
                { type: "json", bytes: sizeOf(messages), found: { value: messages, path: [], from: 0 } },
                maxBytes,
              ),
            };
      return { thread: threadId, items: [await subagentOf(saver, found)], ...view };
    }
    const after = cursor === undefined ? undefined : afterOf(cursor);
    if (heads.length === 0) await refusePart(saver.tier, { threadId });
    const note = after === undefined ? await partNote(saver.tier, threadId) : undefined;
    const left = heads.filter(({ record }) => after === undefined || isBehind(record, after));
    const page = left.slice(0, limit);
    const items: Subagent[] = [];
    for (const each of await reading.read(page, context.signal)) items.push(await subagentOf(saver, each));
    const last = page.at(-1)?.record;
    const next =
      last !== undefined && left.length > page.length
        ? { cursor: encodeCursor({ before: last.checkpointId, namespace: last.namespace } satisfies Place) }
        : {};
    return { thread: threadId, items, ...(note === undefined ? {} : { note }), ...next };
  },
  *render({ thread, items, messages, note, cursor }) {
    if (items.length === 0) {
      yield "No subgraph of the thread stored anything.";
      return;
    }
    if (note !== undefined) yield note;
    yield* subagentLines(items);
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
    if (messages === undefined) {
      if (items.length > 0)
        yield `Its messages: stratigraph subagents ${shown(thread)} --one NAME, call or namespace.`;
      return;
    }
    yield "";
    yield* valueLines(messages.value);
    const [{ namespace }] = items as [Subagent];
    if (hasCut(messages.value))
      yield `Texts with … were cut. All of it: --max-bytes. A part: stratigraph show ${shown(thread)} --namespace '${shown(namespace)}' --channel ${conversation} with --path.`;
  },
});

/** Subagents as lines of a table. */
export function* subagentLines(items: readonly Subagent[]): Iterable<string> {
  const now = Date.now();
  const rows = items.map(({ agent, call, namespace, step, ts, waits, says }) => [
    agent,
    call === undefined ? "" : [call.name, call.id ?? ""].join(" ").trim(),
    namespace,
    step === undefined ? "?" : String(step),
    `${timeText(now - Date.parse(ts))} ago`,
    waits === undefined ? "" : waits === "interrupt" ? waitsText : "failed",
    says === undefined ? "" : clipped(`${says.by}: ${says.text}`, 60),
  ]);
  yield* table(["AGENT", "CALL", "NAMESPACE", ">STEP", ">WRITTEN", "", "SAID LAST"], rows);
}

/** The subgraphs that the step after a checkpoint ran. */
export async function subagentsFrom(
  saver: TierSaver,
  at: Address,
  redaction: Redaction,
): Promise<Subagent[]> {
  const ran = await subgraphsFrom(saver, at, redaction);
  return await Promise.all(ran.map((each) => subagentOf(saver, each)));
}

async function subagentOf(
  saver: TierSaver,
  { namespace, agent, node, call, parent, head, messages }: Subgraph,
): Promise<Subagent> {
  const { step } = head.metadata;
  const says = lastSaid(messages);
  return {
    namespace,
    agent,
    node,
    ...(call === undefined ? {} : { call }),
    parent,
    checkpoint: head.record.checkpointId,
    ...(typeof step === "number" ? { step } : {}),
    ts: head.body.header.ts,
    ...(await waitsAt(saver, head)),
    ...(says === undefined ? {} : { says }),
  };
}

/** @throws NotFoundError; InvalidAddressError if several are meant */
async function oneOf(
  saver: TierSaver,
  reading: Subgraphs,
  heads: readonly ListedHead[],
  threadId: string,
  one: string,
  signal: AbortSignal | undefined,
): Promise<Subgraph> {
  const exact = heads.filter(({ record }) => record.namespace === one);
  const begun = exact.length > 0 ? exact : heads.filter(({ record }) => record.namespace.startsWith(one));
  // A namespace is known without reading; a name such as "tools" may begin many of them, and be one's own.
  if (begun.length === 1) return (await reading.read(begun, signal))[0]!;
  const all = await reading.read(heads.slice(0, mostLookedAt), signal);
  const ofCall = all.filter(({ call }) => call?.id === one);
  const ofAgent = ofCall.length > 0 ? ofCall : all.filter(({ agent }) => agent === one);
  const found = ofAgent.length > 0 ? ofAgent : all.filter(({ namespace }) => namespace.startsWith(one));
  if (found.length === 1) return found[0]!;
  if (found.length === 0) await refusePart(saver.tier, { threadId });
  if (found.length === 0)
    throw new NotFoundError(
      `Thread ${JSON.stringify(threadId)} has no subagent ${JSON.stringify(one)}. "stratigraph subagents" lists them.`,
      { threadId },
    );
  const examples = found.slice(0, 3).map(({ call, namespace }) => call?.id ?? namespace);
  throw new InvalidAddressError(
    "subagent",
    `${JSON.stringify(one)}, which ${found.length} have`,
    `Name the call or the namespace of one: ${examples.join(", ")}${found.length > 3 ? ", …" : ""}.`,
  );
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The last one of a page. Two heads may have ids of the same moment. */
interface Place {
  readonly before: string;
  readonly namespace: string;
}

function isBehind({ checkpointId, namespace }: ListedHead["record"], after: Place): boolean {
  return checkpointId < after.before || (checkpointId === after.before && namespace > after.namespace);
}

function afterOf(cursor: string): Place {
  const isPlace = (value: unknown): value is Place => {
    const { before, namespace } = Object(value) as Partial<Place>;
    return typeof before === "string" && typeof namespace === "string";
  };
  return decodeCursor(cursor, isPlace, "Pass the cursor of the previous page unchanged.");
}
