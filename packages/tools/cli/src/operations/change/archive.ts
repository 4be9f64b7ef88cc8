import { z } from "zod";
import { duration, fields, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { pair } from "../table/pairs.ts";
import { archiverOf } from "./archiverOf.ts";
import { eachThread } from "./eachThread.ts";
import { MovedThreads, movedOutput, renderMoved } from "./movedThreads.ts";
import { selectedThreads, wayOf } from "./selectedThreads.ts";

/** Moves threads to the archive. */
export const archive = operation({
  name: "archive",
  group: "storage",
  effect: "write",
  summary: "Move threads to the cold tier now. They stay readable, and come back when they are used.",
  args: ["thread"],
  examples: [
    "stratigraph archive ada --dry-run",
    "stratigraph archive ada bob",
    "stratigraph archive --older-than 30d",
  ],
  input: z.object({
    thread: texts("Ids of threads, taken literally."),
    tag: texts("key=value of a tag: threads that carry all of these.", pair),
    olderThan: duration("Threads that weren't written to for this long, such as 30d.").optional(),
    dryRun: fields.dryRun,
    cursor: fields.cursor,
  }),
  output: movedOutput,
  async run({ dryRun, cursor, ...selection }, context) {
    const saver = await context.saver();
    const archiver = archiverOf(saver.tier);
    const { blobs } = saver.coder;
    const way = wayOf(selection, "archive", ["thread", "tag", "olderThan"]);
    const threads = selectedThreads(saver, selection, { way, cursor, skipArchived: true });
    const moving = new MovedThreads();
    const walked = await eachThread(context, threads, cursor, ({ threadId, damaged }) =>
      moving.move(threadId, async () => {
        if (damaged !== undefined) throw damaged;
        const moved = await archiver.archiveThread(threadId, (hash, found) => blobs.payload(hash, found), {
          dryRun,
        });
        if (moved === undefined) return { note: "nothing to archive: it is archived already, or not there" };
        return {
          moved,
          ...(moved.done || dryRun
            ? {}
            : { note: "it wasn't archived, because it was written to meanwhile" }),
        };
      }),
    );
    return { dryRun, ...moving.total, ...walked, items: [...walked.items] };
  },
  render: (output) => renderMoved(output, output.dryRun ? "Would archive" : "Archived"),
  found: ({ failed }) => failed > 0,
});
