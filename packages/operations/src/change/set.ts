import { edit } from "@stratigraph/branch";
import { didYouMean, NotFoundError } from "@stratigraph/core";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { edited } from "../values/edit.ts";
import { parsePath } from "../values/path.ts";
import { Redaction } from "../values/redaction.ts";
import { State } from "../values/state.ts";
import { valueLines } from "../values/text.ts";
import { shownValue, valueView, viewOf } from "../values/view.ts";

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
  async run({ at, channel, value, path, create, namespace, checkpoint, dryRun }, context) {
    const saver = await context.saver();
    const state = await State.read(saver, await resolvePoint(saver, { at, namespace, checkpoint }));
    const { threadId, checkpointId: from } = state.point.at;
    const before = await state.channel(channel);
    if (before === undefined && !create) throw noChannel(state, channel);
    const where = parsePath(path ?? "");
    const next = await edited(saver, before?.stored, where, value);
    const redaction = new Redaction(context.redact);
    const view = (typed: readonly [string, Uint8Array]) => {
      const found = shownValue(channel, typed, redaction, where);
      return found === undefined ? undefined : viewOf(found, shownBytes);
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
      `${meant ?? `It has ${known.join(", ")}.`} Pass create to set it nevertheless.`,
    { ...state.point.at, channel },
  );
}
