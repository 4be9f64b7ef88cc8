import { edit } from "@stratigraph/branch";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { State } from "../values/state.ts";
import { valueView } from "../values/view.ts";
import { changeLines, plannedEdit } from "./plannedEdit.ts";

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
      "A thread, or the checkpoint that is its head: the edit is refused if that isn't the head any more.",
    ),
    channel: z.string().min(1).describe("The channel."),
    value: z
      .string()
      .meta({ fromFile: true })
      .describe(
        'The new value, in the serializer\'s JSON, as `stratigraph show` prints it: a text in quotes, a message as {"lc":1,…}.',
      ),
    path: z.string().optional().describe("Only this part of the value: [3].content, .user.name."),
    graph: z
      .string()
      .optional()
      .describe(
        "Needed to set a part of a DeltaChannel: the name of the graph, in the config file, that rebuilds the channel's value. Default: the only one.",
      ),
    create: flag("Also set a channel that the checkpoint doesn't have."),
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
    const { next, before, after } = await plannedEdit(context, state, {
      channel,
      value,
      path,
      graph,
      create,
    });
    const written = dryRun ? undefined : await edit(saver, state.point.at, { [channel]: next });
    return {
      thread: threadId,
      namespace,
      ...(written === undefined ? {} : { checkpoint: written.checkpointId }),
      from,
      channel,
      ...(path === undefined ? {} : { path }),
      ...(before === undefined ? {} : { before }),
      after,
    };
  },
  *render({ thread, checkpoint, from, channel, path = "", before, after }) {
    yield checkpoint === undefined
      ? `Would set ${shown(channel + path)} of ${shown(thread)} at ${from}`
      : `Set ${shown(channel + path)} of ${shown(thread)}: ${from} → ${checkpoint}`;
    yield* changeLines({ before, after });
    if (checkpoint !== undefined) yield `"stratigraph undo" takes it back.`;
  },
});
