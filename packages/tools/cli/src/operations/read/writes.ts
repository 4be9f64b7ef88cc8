import { readPoint } from "@stratigraph/branch/internal";
import { StratigraphError } from "@stratigraph/core";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { outcomeText } from "../render/words.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { shares } from "../values/cut.ts";
import { Redaction } from "../values/redaction.ts";
import { clipped, inlineText } from "../values/text.ts";
import { viewOf } from "../values/view.ts";
import { shownWrites, taskOutcome, taskWrite, type ShownWrite } from "./shownWrites.ts";

/** Each value gets at least this share of `maxBytes`, in bytes, so that it can be recognised. */
const leastBytes = 200;

const task = z.object({
  task: z.string(),
  node: z.string().optional(),
  outcome: taskOutcome,
  writes: z.array(taskWrite.omit({ task: true, node: true, outcome: true })),
});

type Task = z.output<typeof task>;

/** Shows what each node wrote. */
export const writes = operation({
  name: "writes",
  group: "look",
  effect: "read",
  summary: "Show what each node wrote in the step that made a checkpoint, and in the step after it.",
  examples: ["stratigraph writes ada", "stratigraph writes ada@step:3"],
  args: ["at"],
  input: z.object({
    at: fields.at,
    namespace: fields.namespace,
    checkpoint: fields.checkpoint,
    maxBytes: maxBytes(
      "How much of the values to show in all, in bytes. What is longer is cut, in equal shares.",
    ),
  }),
  output: z.object({
    thread: z.string(),
    namespace: z.string(),
    checkpoint: z.string(),
    parent: z
      .string()
      .optional()
      .describe("The checkpoint from which it was made, and with which the writes of that step are stored."),
    parentIsHere: z
      .boolean()
      .describe("False: the parent was removed, and with it the writes that made the checkpoint."),
    note: z.string().optional().describe("If the parent is in an archive that isn't open."),
    made: z.array(task).describe("What the tasks of the step that made it wrote."),
    pending: z.array(task).describe("What tasks of the next step wrote so far."),
  }),
  async run({ at, namespace, checkpoint, maxBytes }, { saver: open, redact }) {
    const saver = await open();
    const redaction = new Redaction(redact);
    const point = await readPoint(saver, await resolvePoint(saver, { at, namespace, checkpoint }));
    const { parentId: parent } = point.stored.record;
    let why: string | undefined;
    const before =
      parent === undefined
        ? undefined
        : await readPoint(saver, { ...point.at, checkpointId: parent }).catch((error: unknown) => {
            if (StratigraphError.is(error, "NOT_FOUND")) return undefined;
            if (!StratigraphError.is(error, "EVICTED")) throw error;
            why = error.message;
            return undefined;
          });
    const made = before === undefined ? [] : await shownWrites(saver, before, redaction, point);
    const pending = await shownWrites(saver, point, redaction);
    const all = [...made, ...pending];
    const sizes = all.map(({ shown }) => shown.bytes);
    const given = shares(sizes, maxBytes).map((bytes) => Math.max(leastBytes, bytes));
    const budgets = new Map(all.map((write, n) => [write, sizes[n]! <= given[n]! ? Infinity : given[n]!]));
    return {
      thread: point.at.threadId,
      namespace: point.at.namespace,
      checkpoint: point.at.checkpointId,
      ...(parent === undefined ? {} : { parent }),
      parentIsHere: before !== undefined,
      ...(why === undefined ? {} : { note: why }),
      made: tasksOf(made, budgets),
      pending: tasksOf(pending, budgets),
    };
  },
  *render({ made, pending, parent, parentIsHere, note }) {
    if (parent === undefined) yield "It is the first checkpoint: no step made it.";
    else if (!parentIsHere)
      yield `Its parent ${parent} isn't here, so the writes of the step aren't, either.${note === undefined ? "" : ` ${note}`}`;
    else if (made.length === 0) yield "No task wrote anything in the step that made it.";
    else yield* section("MADE BY", made, (outcome) => (outcome === "interrupted" ? "asked" : outcome));
    if (pending.length === 0) return;
    yield "";
    yield* section("PENDING: THE NEXT STEP", pending);
  },
});

function tasksOf(found: readonly ShownWrite[], budgets: ReadonlyMap<ShownWrite, number>): Task[] {
  const tasks = new Map<string, Task>();
  for (const write of found) {
    const { task, node, outcome, kind, channel, shown } = write;
    const known = tasks.get(task) ?? {
      task,
      ...(node === undefined ? {} : { node }),
      outcome,
      writes: [],
    };
    known.writes.push({ kind, channel, ...viewOf(shown, budgets.get(write)!) });
    tasks.set(task, known);
  }
  return [...tasks.values()];
}

function* section(
  head: string,
  tasks: readonly Task[],
  textOf: (outcome: string) => string = outcomeText,
): Generator<string> {
  yield head;
  yield* columns(
    tasks.flatMap(({ task, node, outcome, writes }) =>
      writes.map(({ kind, channel, type, value }, n) => [
        n === 0 ? `  ${node ?? task.slice(0, 8)}` : "",
        n === 0 && outcome !== "done" ? textOf(outcome) : "",
        kind === "write" ? channel : kind,
        clipped(shown(value === undefined ? `(${type})` : inlineText(value)), 100),
      ]),
    ),
  );
}
