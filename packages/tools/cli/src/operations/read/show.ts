import { TASKS } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { bytesText, timeText } from "../render/units.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag, maxBytes, mostBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { hasCut, shares } from "../values/cut.ts";
import { parsePath, wrongPath } from "../values/path.ts";
import { Redaction } from "../values/redaction.ts";
import { State } from "../values/state.ts";
import { clipped, inlineText, valueLines } from "../values/text.ts";
import { parsedValue, partOf, shownValue, valueView, viewOf, type Shown } from "../values/view.ts";
import type { ParsedValues } from "../values/parsedValues.ts";
import { shownVersion } from "./records.ts";
import { dueNodesOf } from "./nextNodes.ts";
import { subagent, subagentLines, subagentsFrom } from "./subagents.ts";
import { waits, waitsAt } from "./waitsAt.ts";
import { shownWrites, taskWrite, type ShownWrite } from "./shownWrites.ts";

/** Each value gets at least this much of `maxBytes`, in bytes, so that it can be recognised. */
const leastBytes = 200;

/** Control channels whose values only say what runs next. */
const saysWhatIsNext = /^(branch|join):/;

const isoTime = z.string().describe("ISO 8601.");

const output = z.object({
  thread: z.string(),
  namespace: z.string(),
  checkpoint: z.string(),
  parent: z.string().optional().describe("The checkpoint it was made from."),
  head: z.boolean().describe("Whether it is the head of its namespace."),
  lostTo: z.string().optional().describe("The head that it lost a race to."),
  run: z.string().optional().describe("The run that wrote it."),
  stateVersion: z
    .number()
    .optional()
    .describe(
      "The version of the application's state that it was written under, unless it is 1. Values are shown as they are stored.",
    ),
  ts: isoTime,
  step: z.number().optional(),
  source: z.string().optional(),
  next: z.array(z.string()).describe("Nodes that are due, as far as it can be told without the graph."),
  waits,
  questions: z.number().optional().describe("How many questions wait for an answer."),
  metadata: valueView,
  channels: z.array(
    z.object({
      channel: z.string(),
      version: z.union([z.string(), z.number()]).optional(),
      rebuilt: z
        .boolean()
        .describe(
          "Of a DeltaChannel: put together from writes without its reducer, so it is an approximation.",
        ),
      ...valueView.shape,
    }),
  ),
  writes: z.array(taskWrite).describe("Pending writes: what tasks of the next step wrote so far."),
  subagents: z
    .array(subagent)
    .optional()
    .describe("The subgraphs that the next step ran, if asked for: see the operation subagents."),
});

type Output = z.output<typeof output>;

/** Shows the state at a checkpoint. */
export const show = operation({
  name: "show",
  group: "look",
  effect: "read",
  summary: "Show the state at a checkpoint: values, pending writes, interrupts and what runs next.",
  examples: [
    "stratigraph show ada",
    "stratigraph show ada@head~3",
    "stratigraph show ada --channel messages --path [3].content",
  ],
  args: ["at"],
  input: z.object({
    at: fields.at,
    namespace: fields.namespace,
    checkpoint: fields.checkpoint,
    channel: z.string().optional().describe("Only this channel."),
    path: z
      .string()
      .optional()
      .describe(
        "Only this part of the channel's value: [3].content, [-1], [10:20], .user.name. Needs channel.",
      ),
    subagents: flag("Also tell which subgraphs the next step ran: subagents, for example."),
    maxBytes: maxBytes(
      "How much of the values to show in all, in bytes. What is longer is cut, in equal shares.",
    ),
  }),
  output,
  async run({ at, namespace, checkpoint, channel, path, subagents, maxBytes }, context) {
    if (path !== undefined && channel === undefined) throw wrongPath(path, "Name the channel, too.");
    const saver = await context.saver();
    const redaction = new Redaction(context.redact);
    const state = await State.read(saver, await resolvePoint(saver, { at, namespace, checkpoint }));
    const { point } = state;
    const { record } = point.stored;
    const { step, source } = point.metadata;
    const where = { only: channel, path, redaction, parsed: context.parsed };
    const shownChannels = await channelsOf(state, where);
    const all = await shownWrites(saver, state.point, redaction);
    const pending = channel === undefined ? all : [];
    const stopped = await waitsAt(saver, { ...point.stored, head: point.head });
    const metadata = shownValue("metadata", point.body.metadata, redaction)!;
    const sizes = [...shownChannels, ...pending, { shown: metadata }].map(({ shown }) => shown.bytes);
    const given = shares(sizes, maxBytes).map((bytes) => Math.max(leastBytes, bytes));
    const view = (shown: Shown, n: number) => viewOf(shown, sizes[n]! <= given[n]! ? Infinity : given[n]!);
    return {
      thread: point.at.threadId,
      namespace: point.at.namespace,
      checkpoint: point.at.checkpointId,
      parent: record.parentId,
      head: point.head === point.at.checkpointId,
      lostTo: record.lostTo,
      run: record.runId,
      ...shownVersion(point.body),
      ts: point.body.header.ts,
      step,
      source,
      next: await nextOf(state, all),
      ...stopped,
      ...(stopped.waits === "interrupt" ? { questions: questionsIn(all) } : {}),
      metadata: view(metadata, sizes.length - 1),
      channels: shownChannels.map(({ shown, ...rest }, n) => ({ ...rest, ...view(shown, n) })),
      writes: pending.map(({ task, node, outcome, kind, channel, shown }, n) => ({
        task,
        node,
        outcome,
        kind,
        channel,
        ...view(shown, shownChannels.length + n),
      })),
      ...(subagents ? { subagents: await subagentsFrom(saver, point.at, redaction) } : {}),
    };
  },
  *render(found) {
    yield* headLines(found);
    const { channels, writes } = found;
    yield* valuesOf(found);
    if (found.subagents !== undefined && found.subagents.length > 0) {
      yield "";
      yield "THE NEXT STEP RAN";
      yield* subagentLines(found.subagents);
    }
    const all = [...channels, ...writes, found.metadata];
    if (!all.some(({ value }) => hasCut(value))) return;
    const bytes = all.reduce((sum, each) => sum + each.bytes, 0);
    yield "";
    yield `Values with … were cut. To see all of it: --max-bytes ${Math.min(mostBytes, Math.ceil(bytes / 1000) * 1000)}. A part: --channel with --path.`;
  },
});

function* valuesOf({ channels, writes }: Output): Generator<string> {
  for (const { channel, bytes, type, rebuilt, value, sha256 } of channels.filter(isTold)) {
    yield "";
    yield `${shown(channel)}  ${bytesText(bytes)}${rebuilt ? ", rebuilt from writes without its reducer" : ""}`;
    for (const line of value === undefined ? [opaqueText(type, sha256)] : valueLines(value))
      yield `  ${line}`;
  }
  if (writes.length === 0) return;
  yield "";
  yield "PENDING WRITES";
  yield* columns(
    writes.map(({ task, node, kind, channel, type, value, sha256 }) => [
      `  ${node ?? task.slice(0, 8)}`,
      kind === "write" ? channel : kind,
      clipped(value === undefined ? opaqueText(type, sha256) : inlineText(value), 100),
    ]),
  );
}

function* headLines({
  thread,
  namespace,
  checkpoint,
  head,
  lostTo,
  parent,
  ...rest
}: Output): Generator<string> {
  const { ts, step, source, run, stateVersion, next, waits, questions, metadata, writes } = rest;
  const state = head ? "head" : lostTo === undefined ? "" : `side branch, lost to ${lostTo}`;
  const failed = writes
    .filter(({ kind, outcome }) => kind === "error" && outcome === "failed")
    .map(({ node, task }) => node ?? task);
  const rows = [
    ["thread", thread],
    ["namespace", namespace],
    ["checkpoint", [checkpoint, state].filter((text) => text !== "").join("  ")],
    ["parent", parent ?? "none"],
    ["step", `${step ?? "?"}  ${source ?? ""}`],
    ["time", `${timeText(Date.now() - Date.parse(ts))} ago  ${ts}`],
    ["run", run ?? ""],
    ["version", stateVersion === undefined ? "" : `${stateVersion} of the state; values are as stored`],
    ["next", next.length === 0 ? "nothing" : next.join(", ")],
    [
      "waits",
      waits === "interrupt"
        ? `for an answer to ${questions === 1 ? "an interrupt" : `${questions} interrupts`}`
        : "",
    ],
    ["failed", failed.join(", ")],
    ["metadata", inlineText(metadata.value)],
  ];
  yield* columns(rows.filter(([, text]) => text !== ""));
}

/** Whether a channel is worth showing: the channel of Sends isn't if it is empty. */
function isTold({ channel, value }: Output["channels"][number]): boolean {
  return !(channel === TASKS && Array.isArray(value) && value.length === 0);
}

function opaqueText(type: string, sha256: string | undefined): string {
  return `(${type}${sha256 === undefined ? "" : `, sha256 ${sha256.slice(0, 16)}…`})`;
}

interface ShownChannel {
  readonly channel: string;
  readonly version: string | number | undefined;
  readonly rebuilt: boolean;
  readonly shown: Shown;
}

interface Wanted {
  /** Only this channel. */
  readonly only: string | undefined;
  readonly path: string | undefined;
  readonly redaction: Redaction;
  /** Values that were parsed before. */
  readonly parsed: ParsedValues | undefined;
}

async function channelsOf(state: State, { only, path, redaction, parsed }: Wanted): Promise<ShownChannel[]> {
  const found: ShownChannel[] = [];
  const where = parsePath(path ?? "");
  const all = state.channels().filter((name) => !saysWhatIsNext.test(name));
  for (const channel of only === undefined ? all : [only]) {
    const entry = state.entry(channel);
    const name = entry?.hash === undefined ? undefined : `${channel} ${entry.hash}`;
    let value = name === undefined ? undefined : parsed?.get(name);
    let rebuilt = false;
    if (value === undefined) {
      const read = only === undefined ? await state.channel(channel) : await state.existing(channel);
      if (read === undefined) continue;
      rebuilt = read.rebuilt;
      value = parsedValue(channel, read.stored, redaction);
      if (name !== undefined) parsed?.set(name, value);
    }
    const part = partOf(value, where);
    if (part === undefined)
      throw wrongPath(path!, `It leads nowhere in the channel ${JSON.stringify(channel)}.`);
    found.push({ channel, version: entry?.version, rebuilt, shown: part });
  }
  return found;
}

/**
 * The nodes that are due. At the head, nodes whose tasks have ended are left out; at older checkpoints, the whole step is returned,
 * as `getStateHistory` does.
 */
async function nextOf(state: State, pending: readonly ShownWrite[]): Promise<string[]> {
  const { at, head } = state.point;
  const ended = pending.filter(({ outcome }) => head === at.checkpointId && outcome === "done");
  return await dueNodesOf(
    state,
    ended.map(({ path }) => path),
  );
}

/** From LangGraph 1.7 on, a task writes all its questions as one list. */
function questionsIn(writes: readonly ShownWrite[]): number {
  return writes
    .filter(({ kind, outcome }) => kind === "interrupt" && outcome === "interrupted")
    .flatMap(({ shown }) => shown.found?.value ?? null).length;
}
