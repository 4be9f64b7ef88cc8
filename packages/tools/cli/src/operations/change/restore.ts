import { z } from "zod";
import { fields, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { pair } from "../table/pairs.ts";
import { archiverOf } from "./archiverOf.ts";
import { eachThread } from "./eachThread.ts";
import { MovedThreads, movedOutput, renderMoved } from "./movedThreads.ts";
import { selectedThreads, wayOf } from "./selectedThreads.ts";

/** Brings threads back from the archive. */
export const restore = operation({
  name: "restore",
  group: "storage",
  effect: "write",
  summary: "Bring archived threads back to the warm tier, with all of their checkpoints.",
  args: ["thread"],
  examples: ["stratigraph restore ada", "stratigraph restore --tag user=anna"],
  input: z.object({
    thread: texts("Ids of threads, taken literally."),
    tag: texts("key=value of a tag: threads that carry all of these.", pair),
    cursor: fields.cursor,
  }),
  output: movedOutput,
  async run({ cursor, ...selection }, context) {
    const saver = await context.saver();
    const archiver = archiverOf(saver.tier);
    const way = wayOf(selection, "restore", ["thread", "tag"]);
    const threads = selectedThreads(saver, selection, { way, cursor, skipArchived: false });
    const moving = new MovedThreads();
    const walked = await eachThread(context, threads, cursor, ({ threadId }) =>
      moving.move(threadId, async () => {
        const moved = await archiver.restoreThread(threadId);
        if (moved === undefined) return { note: "nothing to restore: it isn't archived, or not there" };
        return { moved, ...(moved.checkpoints > 0 ? {} : { note: "all of it was restored before" }) };
      }),
    );
    return { dryRun: false, ...moving.total, ...walked, items: [...walked.items] };
  },
  render: (output) => renderMoved(output, "Restored"),
  found: ({ failed }) => failed > 0,
});
