import { NotFoundError, type Address, type TierSaver } from "@stratigraph/core";
import { createHash } from "node:crypto";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { formatPath, parsePath, wrongPath, type Path, type Segment } from "../values/path.ts";
import { contentOf, idOf } from "../values/records.ts";
import { redactedView } from "../values/redactedView.ts";
import { Redaction } from "../values/redaction.ts";
import { resolve } from "../values/resolve.ts";
import { State } from "../values/state.ts";
import { valueLines } from "../values/text.ts";
import { jsonOf, shownValue, valueView, viewOf, type ValueView } from "../values/view.ts";
import { lastChange } from "./lastChange.ts";
import { nodesBetween, writersOf } from "./nodes.ts";
import { Records } from "./records.ts";

/** How much of a value is shown, in bytes. */
const shownBytes = 4000;

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

/** Tells who last changed a value. */
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
    id: z.string().optional().describe("The item of a list that was followed by its id, wherever it stood."),
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
    complete: z
      .boolean()
      .describe("False: older checkpoints were removed, so it may have had this value before."),
    searched: z.object({
      checkpoints: z.number().describe("How many were gone through without reading values."),
      versions: z.number().describe("How many versions of the channel these had."),
      read: z.number().describe("How many versions were read."),
    }),
  }),
  async run({ at, path, namespace, checkpoint, exact }, context) {
    const saver = await context.saver();
    const point = await resolvePoint(saver, { at, namespace, checkpoint });
    const [channel, ...inside] = parsePath(path);
    if (typeof channel !== "string") throw wrongPath(path, "Begin it with a channel: messages[3].content.");
    const values = new Values(saver, channel, new Redaction(context.redact));
    const start = await State.read(saver, point);
    const { steps, id, rebuilt } = await values.follow(start, inside, path);
    const now = (await values.at(point))!;
    const same = async (other: Address): Promise<boolean> => (await values.at(other))?.digest === now.digest;
    const found = await lastChange(saver, point, { channel, same, exact, signal: context.signal });
    const records = new Records(saver, point);
    const different =
      found.before === undefined ? undefined : await values.at({ ...point, checkpointId: found.before });
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
      complete: found.complete,
      searched: { checkpoints: found.checkpoints, versions: found.versions, read: values.read },
    };
  },
  *render({ path, id, value, rebuilt, changed, before, complete, searched }) {
    yield `${shown(path)}${id === undefined ? "" : `  #${shown(id)}`}`;
    for (const line of linesOf(value)) yield `  ${line}`;
    yield "";
    yield* columns([
      ["changed by", ...cells(changed)],
      ...(before === undefined ? [] : [["before", ...cells(before)]]),
    ]);
    if (before?.value !== undefined) for (const line of linesOf(before.value)) yield `  ${line}`;
    if (before !== undefined && before.value === undefined) yield "  (there was none)";
    if (rebuilt) yield "The values were rebuilt from writes without the channel's reducer.";
    if (!complete) yield "Older checkpoints were removed: it may have had this value before.";
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

/** One step of the path that is followed: by its position, or to the item with an id. */
interface Step {
  readonly shown: Segment;
  readonly id: string | undefined;
}

interface Value {
  /** Equal where two values are. */
  readonly digest: string;
  readonly view: ValueView;
}

/** The value at a path, checkpoint by checkpoint. */
class Values {
  readonly #saver: TierSaver;
  readonly #channel: string;
  readonly #redaction: Redaction;
  #steps: readonly Step[] = [];
  readonly #found = new Map<string, Promise<Value | undefined>>();

  constructor(saver: TierSaver, channel: string, redaction: Redaction) {
    this.#saver = saver;
    this.#channel = channel;
    this.#redaction = redaction;
  }

  /** How many versions were read. */
  get read(): number {
    return this.#found.size;
  }

  /**
   * Settles what is followed: an index means the item that stands there now, by its id if it has one, because items before it may
   * come and go.
   */
  async follow(
    start: State,
    path: Path,
    given: string,
  ): Promise<{ steps: readonly Step[]; id: string | undefined; rebuilt: boolean }> {
    const { stored, rebuilt } = await start.existing(this.#channel);
    const steps: Step[] = [];
    let at = jsonOf(stored)?.value;
    for (const segment of path) {
      const found = resolve(at, [segment]);
      if (found === undefined || typeof segment === "object") throw nowhere(start, given);
      at = found.value;
      const isItem = typeof found.path[0] === "number";
      steps.push({ shown: found.path[0]!, id: isItem ? idOf(at) : undefined });
    }
    this.#steps = steps;
    const item = steps.findLastIndex(({ id }) => id !== undefined);
    const where = steps.slice(0, item + 1).map(({ shown }) => shown);
    const part = item === -1 ? undefined : shownValue(this.#channel, stored, this.#redaction, where);
    return { steps, id: idOf(part?.found?.value), rebuilt };
  }

  /** The value at a checkpoint; undefined where the path leads nowhere. Each checkpoint is read once. */
  async at(point: Address): Promise<Value | undefined> {
    const known = this.#found.get(point.checkpointId);
    if (known !== undefined) return await known;
    const reading = this.#readAt(point);
    this.#found.set(point.checkpointId, reading);
    return await reading;
  }

  async #readAt(point: Address): Promise<Value | undefined> {
    const state = await State.read(this.#saver, point);
    const found = await state.channel(this.#channel);
    if (found === undefined) return undefined;
    const json = jsonOf(found.stored);
    const path = json === undefined ? [] : this.#pathIn(json.value);
    const part = json === undefined || path === undefined ? undefined : resolve(json.value, path);
    if (path === undefined || (json !== undefined && part === undefined)) return undefined;
    const content = part === undefined ? found.stored[1] : JSON.stringify(part.value);
    const digest = createHash("sha256").update(content).digest("hex");
    const value = shownValue(this.#channel, found.stored, this.#redaction, path);
    return { digest, view: value === undefined ? redactedView(found.stored) : viewOf(value, shownBytes) };
  }

  #pathIn(json: unknown): Path | undefined {
    const path: Segment[] = [];
    let at = json;
    for (const { shown, id } of this.#steps) {
      const content = contentOf(at);
      const place =
        id === undefined || !Array.isArray(content) ? shown : content.findIndex((item) => idOf(item) === id);
      if (place === -1) return undefined;
      const found = resolve(at, [place]);
      if (found === undefined) return undefined;
      path.push(...found.path);
      at = found.value;
    }
    return path;
  }
}

function nowhere(start: State, path: string): NotFoundError {
  const { threadId, checkpointId } = start.point.at;
  return new NotFoundError(
    `At checkpoint ${checkpointId} of thread ${JSON.stringify(threadId)}, ${path} leads nowhere. "stratigraph show" shows what is there.`,
    { ...start.point.at, path },
  );
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
