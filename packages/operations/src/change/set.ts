import { edit } from "@stratigraph/branch";
import { configOf, didYouMean, NotFoundError, type Typed } from "@stratigraph/core";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { resolvePoint } from "../table/address.ts";
import type { Context } from "../table/context.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { edited } from "../values/edit.ts";
import { parsePath } from "../values/path.ts";
import { Redaction } from "../values/redaction.ts";
import { State } from "../values/state.ts";
import { valueLines } from "../values/text.ts";
import { shownValue, valueView, viewOf, type ValueView } from "../values/view.ts";

/** How much of the value before and after is shown, in bytes each. */
const shownBytes = 2000;

/** Sets a channel by hand. */
export const set = operation({
  name: "set",
  group: "change",
  effect: "write",
  summary: "Set a channel at the head of a thread, or a part of its value: writes a new checkpoint.",
  examples: [
    "stratigraph set ada title '\"Trip to Rome\"'",
    "stratigraph set ada messages '\"Hello again\"' --path [3].content",
  ],
  args: ["at", "channel", "value"],
  input: z.object({
    at: fields.at.describe(
      "A thread, or its head by name: the edit is refused where that isn't the head any more.",
    ),
    channel: z.string().min(1).describe("The channel."),
    value: z
      .string()
      .meta({ fromFile: true })
      .describe(
        'The new value, as JSON of the serde as show prints it: a text in quotes, a message as {"lc":1,…}.',
      ),
    path: z.string().optional().describe("Only this part of the value: [3].content, .user.name."),
    graph: z
      .string()
      .optional()
      .describe(
        "The graph of the config that rebuilds a DeltaChannel, of which a part is set. Default: the only one.",
      ),
    create: flag("Also a channel that the checkpoint doesn't have."),
    namespace: fields.namespace,
    checkpoint: fields.checkpoint,
    dryRun: fields.dryRun,
  }),
  output: z.object({
    thread: z.string(),
    namespace: z.string(),
    checkpoint: z.string().optional().describe("The new head. Absent in a dry run."),
    from: z.string().describe("The head before."),
    channel: z.string(),
    path: z.string().optional(),
    before: valueView.optional(),
    after: valueView,
  }),
  async run({ at, channel, value, path, graph, create, namespace, checkpoint, dryRun }, context) {
    const saver = await context.saver();
    const state = await State.read(saver, await resolvePoint(saver, { at, namespace, checkpoint }));
    const { threadId, checkpointId: from } = state.point.at;
    const found = await state.channel(channel);
    const before =
      found?.rebuilt === true && path !== undefined ? await rebuiltBy(context, graph, state, channel) : found;
    if (before === undefined && !create) throw noChannel(state, channel);
    const where = parsePath(path ?? "");
    const next = await edited(saver, before?.stored, where, value);
    const redaction = new Redaction(context.redact);
    const view = (typed: Typed): ValueView | undefined => {
      const part = shownValue(channel, typed, redaction, where);
      return part === undefined ? undefined : viewOf(part, shownBytes);
    };
    const written = dryRun ? undefined : await edit(saver, state.point.at, { [channel]: next });
    const old = before === undefined ? undefined : view(before.stored);
    return {
      thread: threadId,
      namespace,
      ...(written === undefined ? {} : { checkpoint: written.checkpointId }),
      from,
      channel,
      ...(path === undefined ? {} : { path }),
      ...(old === undefined ? {} : { before: old }),
      after: view(await saver.serde.dumpsTyped(next))!,
    };
  },
  *render({ thread, checkpoint, from, channel, path = "", before, after }) {
    yield checkpoint === undefined
      ? `Would set ${shown(channel + path)} of ${shown(thread)} at ${from}`
      : `Set ${shown(channel + path)} of ${shown(thread)}: ${from} → ${checkpoint}`;
    for (const [sign, view] of [
      ["-", before],
      ["+", after],
    ] as const)
      for (const line of view?.value === undefined ? [] : valueLines(view.value)) yield `  ${sign} ${line}`;
    if (checkpoint !== undefined) yield `"stratigraph undo" takes it back.`;
  },
});

function noChannel(state: State, channel: string): NotFoundError {
  const { threadId, checkpointId } = state.point.at;
  const known = state.channels();
  const meant = didYouMean(channel, known);
  return new NotFoundError(
    `Checkpoint ${checkpointId} of thread ${JSON.stringify(threadId)} has no value in the channel ${JSON.stringify(channel)}. ` +
      `${meant ?? `It has ${known.join(", ")}.`} Pass \`create\` to set it nevertheless.`,
    { ...state.point.at, channel },
  );
}

/**
 * The value of a DeltaChannel as the graph rebuilds it. Without its reducer the value is an approximation, which must not be stored.
 * @throws NotFoundError where there is no graph
 */
async function rebuiltBy(
  context: Context,
  name: string | undefined,
  state: State,
  channel: string,
): Promise<{ readonly stored: Typed }> {
  let graph;
  try {
    graph = await context.graph(name);
  } catch (cause) {
    throw new NotFoundError(
      `The channel ${JSON.stringify(channel)} is a DeltaChannel, whose value only the graph can tell: name the graph in the config (graphs), or set the whole value instead of a part. ` +
        (cause instanceof Error ? cause.message : ""),
      { channel },
    );
  }
  const { values } = (await graph.getState(configOf(state.point.at))) as unknown as {
    readonly values: Readonly<Record<string, unknown>>;
  };
  return { stored: await state.saver.serde.dumpsTyped(values[channel]) };
}
