import { formatPath } from "../values/formatPath.ts";
import type { TierSaver } from "@stratigraph/core";
import type { Address } from "@stratigraph/core/tier";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { parsePath, wrongPath } from "../values/path.ts";
import { Redaction } from "../values/redaction.ts";
import { State } from "../values/state.ts";
import { valueLines } from "../values/text.ts";
import { valueView, type ValueView } from "../values/view.ts";
import { BlamedValues } from "./blamedValues.ts";
import { changeLines, differences } from "./changes.ts";
import { lastChange } from "./lastChange.ts";
import { nodesBetween, writersOf } from "./nodes.ts";
import { Records } from "./records.ts";

const entry = z.object({
  checkpoint: z.string(),
  ts: z.string().describe("ISO 8601."),
  step: z.number().optional(),
  source: z.string().optional(),
  nodes: z
    .array(z.string())
    .describe("The nodes that ran between its parent and it; of these, those that wrote the channel."),
  run: z.string().optional(),
});

type Entry = z.output<typeof entry>;

/** Reports who last changed a value. */
export const blame = operation({
  name: "blame",
  group: "look",
  effect: "read",
  summary: "Tell which checkpoint, node and run last changed a value, and when it was last different.",
  examples: ["stratigraph blame ada messages[3].content", "stratigraph blame ada@step:12 facts.city"],
  args: ["at", "path"],
  input: z.object({
    at: fields.at,
    path: z.string().min(1).describe("A channel, or a part of its value: messages[3].content."),
    namespace: fields.namespace,
    checkpoint: fields.checkpoint,
    exact: flag(
      "Compare every version. Otherwise few are read, and a value that changed and changed back in between may be overlooked.",
    ),
  }),
  output: z.object({
    thread: z.string(),
    namespace: z.string(),
    path: z.string(),
    id: z
      .string()
      .optional()
      .describe("The id of the list item that was followed, at whatever position it was."),
    value: valueView,
    rebuilt: z
      .boolean()
      .describe(
        "Of a DeltaChannel: put together from writes without its reducer, so it is an approximation.",
      ),
    changed: entry.describe("The checkpoint that made the value what it is."),
    before: entry
      .extend({ value: valueView.optional().describe("Absent where there was none.") })
      .optional()
      .describe("The checkpoint where it was last different. Absent where it never was."),
    changes: differences.shape.changes
      .optional()
      .describe(
        "What differs between the value before and this one, as in `diff`; empty if it is redacted. Absent if one of them isn't there or isn't JSON.",
      ),
    omitted: differences.shape.omitted.optional(),
    complete: z
      .boolean()
      .describe(
        "False: older checkpoints were removed, or are in an archive that isn't open, so it may have had this value before.",
      ),
    searched: z.object({
      checkpoints: z.number().describe("How many checkpoints were searched, without reading values."),
      versions: z.number().describe("How many versions of the channel these had."),
      read: z.number().describe("How many versions were read."),
    }),
  }),
  async run({ at, path, namespace, checkpoint, exact }, context) {
    const saver = await context.saver();
    const point = await resolvePoint(saver, { at, namespace, checkpoint });
    const [channel, ...inside] = parsePath(path);
    if (typeof channel !== "string") throw wrongPath(path, "Begin it with a channel: messages[3].content.");
    const start = await State.read(saver, point);
    const values = new BlamedValues(saver, start, channel, new Redaction(context.redact));
    const { steps, id, rebuilt } = await values.follow(inside, path);
    const now = (await values.at(point))!;
    const same = async (other: Address): Promise<boolean> => (await values.at(other))?.digest === now.digest;
    const found = await lastChange(saver, point, { channel, same, exact, signal: context.signal });
    const records = new Records(saver, point);
    const other = found.before === undefined ? undefined : { ...point, checkpointId: found.before };
    const different = other === undefined ? undefined : await values.at(other);
    const changes = other === undefined ? undefined : await values.changes(other, point);
    return {
      thread: point.threadId,
      namespace,
      path: formatPath([channel, ...steps.map(({ shown }) => shown)]),
      ...(id === undefined ? {} : { id }),
      value: now.view,
      rebuilt,
      changed: await entryOf(saver, records, found.changed, channel),
      ...(found.before === undefined
        ? {}
        : {
            before: {
              ...(await entryOf(saver, records, found.before, channel)),
              ...(different === undefined ? {} : { value: different.view }),
            },
          }),
      ...changes,
      complete: found.complete,
      searched: { checkpoints: found.checkpoints, versions: found.versions, read: values.read },
    };
  },
  *render({ path, id, value, rebuilt, changed, before, changes, omitted = 0, complete, searched }) {
    yield `${shown(path)}${id === undefined ? "" : `  #${shown(id)}`}`;
    for (const line of linesOf(value)) yield `  ${line}`;
    yield "";
    yield* columns([
      ["changed by", ...cells(changed)],
      ...(before === undefined ? [] : [["before", ...cells(before)]]),
    ]);
    if (changes?.length === 0) yield "  (what differs is redacted)";
    else if (changes !== undefined) yield* changeLines(path, "changed", { changes, omitted });
    else if (before?.value !== undefined) for (const line of linesOf(before.value)) yield `  ${line}`;
    if (before !== undefined && before.value === undefined) yield "  (there was none)";
    if (rebuilt) yield "The values were rebuilt from writes without the channel's reducer.";
    if (!complete)
      yield "Older checkpoints were removed, or are in an archive that isn't open: it may have had this value before.";
    const { checkpoints, versions, read } = searched;
    yield "";
    yield `Read ${read} of ${versions} versions in ${checkpoints} checkpoints.`;
  },
});

function linesOf(view: ValueView): Iterable<string> {
  return view.value === undefined ? [`(${view.type}, ${view.bytes} bytes)`] : valueLines(view.value);
}

function cells({ checkpoint, ts, step, source = "", nodes, run }: Entry): string[] {
  return [
    checkpoint,
    `step ${step ?? "?"}`,
    nodes.length === 0 ? source : nodes.join(", "),
    `${timeText(Date.now() - Date.parse(ts))} ago`,
    run === undefined ? "" : `run ${run}`,
  ];
}

async function entryOf(
  saver: TierSaver,
  records: Records,
  checkpointId: string,
  channel: string,
): Promise<Entry> {
  const opened = (await records.find(checkpointId))!;
  const { record, body, metadata } = opened;
  const parent = record.parentId === undefined ? undefined : await records.find(record.parentId);
  const ran = parent === undefined ? [] : await nodesBetween(saver, parent, opened);
  const wrote = parent === undefined ? undefined : await writersOf(saver, parent, channel);
  const nodes = wrote === undefined ? ran : ran.filter((node) => wrote.includes(node));
  const { step, source } = metadata;
  return {
    checkpoint: checkpointId,
    ts: body.header.ts,
    nodes: nodes.length === 0 ? ran : nodes,
    ...(typeof step === "number" ? { step } : {}),
    ...(typeof source === "string" ? { source } : {}),
    ...(record.runId === undefined ? {} : { run: record.runId }),
  };
}
