import type { ForkOptions } from "@stratigraph/branch";
import { beforeMessage } from "@stratigraph/branch/internal";
import { InvalidOptionError } from "@stratigraph/core";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { State } from "../values/state.ts";
import { valueView } from "../values/view.ts";
import type { Complete } from "./complete.ts";
import { changeLines, plannedEdit } from "./plannedEdit.ts";
import { editedForks, freeName, nextInFork, nextOf, type WantedFork } from "./whatIf.ts";

/** Makes threads that continue from a checkpoint. */
export const fork = operation({
  name: "fork",
  group: "change",
  effect: "write",
  summary: "Make a new thread that continues from any checkpoint, edited or not. The source stays unchanged.",
  args: ["at", "to"],
  examples: [
    "stratigraph fork ada ada-copy",
    "stratigraph fork ada@head~3 retry",
    "stratigraph fork ada@step:12 --count 5",
    "stratigraph fork ada ada-edited --message msg-1",
    "stratigraph fork ada@head~1 --what-if --channel title --value '\"Trip to Bern\"'",
  ],
  input: z.object({
    at: fields.at,
    to: texts("Ids of the new threads. Default: a random UUID."),
    count: z.coerce
      .number()
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe("How many threads with random ids, in the place of `to`."),
    whatIf: flag("Name the new thread after its source: ada/what-if-1, or the next number that is free."),
    message: z
      .string()
      .min(1)
      .optional()
      .describe("The id of a message: begin just before it first stands in the state."),
    history: z
      .enum(["needed", "full"])
      .default("needed")
      .describe("needed: what the new thread needs to stand alone. full: all ancestors, too."),
    calls: z
      .enum(["inherit", "none"])
      .default("inherit")
      .describe("inherit: recorded tool calls aren't made again. none: the new thread makes its own."),
    channel: z.string().min(1).optional().describe("A channel to set in the new thread, as `set` does."),
    value: z
      .string()
      .meta({ fromFile: true })
      .optional()
      .describe("Its new value, in the serializer's JSON, as `stratigraph show` prints it."),
    path: z.string().optional().describe("Only this part of the value: [3].content, .user.name."),
    create: flag("Also set a channel that the checkpoint doesn't have."),
    asNode: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Continue as if this node had just run: the nodes after it run next. Default: the nodes that were due.",
      ),
    graph: z
      .string()
      .optional()
      .describe("The graph of the config, which `asNode` needs. Default: the only one."),
    namespace: fields.namespace,
    checkpoint: fields.checkpoint,
    dryRun: flag("Only tell what the new thread would be like."),
  }),
  output: z.object({
    from: z.object({
      thread: z.string(),
      namespace: z.string(),
      checkpoint: z.string(),
      wasHead: z.boolean().describe("Whether it was the head when the fork was made."),
    }),
    items: z
      .array(
        z.object({
          thread: z.string(),
          checkpoints: z.number().describe("How many were copied, with the events of inherited tool calls."),
          bytes: z.number().describe("How many bytes were written, without what the storage adds."),
        }),
      )
      .describe("Empty in a dry run."),
    name: z.string().optional().describe("In a dry run, the name that a what-if would get."),
    edit: z
      .object({
        channel: z.string(),
        path: z.string().optional(),
        before: valueView.optional(),
        after: valueView,
      })
      .optional()
      .describe("What was set, or would be."),
    next: z.array(z.string()).describe("Nodes that run next in the new thread."),
  }),
  async run(input, context) {
    const {
      to,
      count,
      whatIf,
      message,
      history,
      calls,
      channel,
      value,
      path,
      create,
      asNode,
      graph,
      dryRun,
    } = input;
    refuseContrary(input);
    const saver = await context.saver();
    const named = await resolvePoint(saver, input);
    const point = message === undefined ? named : await beforeMessage(saver, named, message);
    const state = await State.read(saver, point);
    const edit =
      channel === undefined || value === undefined
        ? undefined
        : await plannedEdit(context, state, { channel, value, path, graph, create });
    const options: Omit<Complete<ForkOptions>, "to" | "message"> = { history, calls };
    const wanted: WantedFork = {
      point,
      to: whatIf ? "what-if" : to.length > 0 ? to : (count ?? 1),
      options,
      values: edit === undefined ? {} : { [channel!]: edit.next },
      as: asNode === undefined ? undefined : { node: asNode, graph: await context.graph(graph) },
    };
    const forks = dryRun ? [] : await editedForks(saver, wanted);
    const { before, after } = edit ?? {};
    return {
      from: {
        thread: point.threadId,
        namespace: point.namespace,
        checkpoint: point.checkpointId,
        wasHead: forks[0]?.origin.wasHead ?? state.point.head === point.checkpointId,
      },
      items: forks.map(({ threadId, checkpoints, bytes }) => ({ thread: threadId, checkpoints, bytes })),
      ...(dryRun && whatIf ? { name: await freeName(saver, point.threadId) } : {}),
      ...(after === undefined
        ? {}
        : {
            edit: {
              channel: channel!,
              ...(path === undefined ? {} : { path }),
              ...(before === undefined ? {} : { before }),
              after,
            },
          }),
      next: forks[0] === undefined ? await nextInFork(saver, wanted) : await nextOf(saver, forks[0].threadId),
    };
  },
  *render({ from, items, name, edit, next }) {
    const rows = items.map(({ thread, checkpoints, bytes }) => [
      thread,
      String(checkpoints),
      bytesText(bytes),
    ]);
    if (items.length > 0) yield* columns([["NEW THREAD", "CHECKPOINTS", "SIZE"], ...rows], [1, 2]);
    else yield `Nothing was made.${name === undefined ? "" : ` The thread would be ${shown(name)}.`}`;
    const where = from.namespace === "" ? "" : `, namespace ${shown(from.namespace)}`;
    const head = from.wasHead ? " (its head)" : "";
    yield `From ${shown(from.thread)}${where} at ${shown(from.checkpoint)}${head}.`;
    if (edit !== undefined) {
      yield `With ${shown(edit.channel + (edit.path ?? ""))} set:`;
      yield* changeLines(edit);
    }
    if (next.length > 0) yield `Next: ${next.map(shown).join(", ")}`;
  },
});

/** @throws InvalidOptionError if fields don't go together */
function refuseContrary(input: {
  readonly to: readonly string[];
  readonly count?: number | undefined;
  readonly whatIf: boolean;
  readonly channel?: string | undefined;
  readonly value?: string | undefined;
  readonly path?: string | undefined;
  readonly namespace: string;
  readonly asNode?: string | undefined;
}): void {
  const { to, count, whatIf, channel, value, path, namespace, asNode } = input;
  if (to.length > 0 && count !== undefined)
    throw new InvalidOptionError("count", String(count), "Name the new threads, or say how many; not both.");
  if (whatIf && (to.length > 0 || count !== undefined))
    throw new InvalidOptionError("whatIf", "a name beside it", "Leave out `to` and `count`, or `whatIf`.");
  if ((channel === undefined) !== (value === undefined) || (path !== undefined && channel === undefined))
    throw new InvalidOptionError(
      channel === undefined ? "channel" : "value",
      "nothing",
      "Pass `channel` and `value` together.",
    );
  if (namespace !== "" && (channel !== undefined || asNode !== undefined))
    throw new InvalidOptionError(
      "namespace",
      namespace,
      "Only the root's channels can be set. Fork, and `set` the rest.",
    );
}
