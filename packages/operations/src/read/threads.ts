import { z } from "zod";
import { columns } from "../render/columns.ts";
import { agoText } from "../render/units.ts";
import { fields, flag, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { pair, pairs, tagsOf } from "../table/pairs.ts";

/** Lists threads. */
export const threads = operation({
  name: "threads",
  group: "look",
  effect: "read",
  summary: "List threads, most recently written first; all pages at once in the order of their last writes.",
  examples: ["stratigraph threads", "stratigraph threads --filter user=anna -n 10"],
  input: z.object({
    filter: texts(
      "key=value that the newest checkpoint's metadata must have. A value that is JSON counts as such.",
      pair,
    ),
    tag: texts("key=value of a tag that the threads must carry.", pair),
    order: z
      .enum(["newest", "oldest"])
      .default("newest")
      .describe(
        "Most or least recently written first. A thread that is written to between two pages moves to the newest: with newest first it is missed, with oldest first it comes again. All pages at once come oldest first.",
      ),
    evicted: flag("Only threads of which only the head is kept here."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    items: z.array(
      z.object({
        thread: z.string().describe("The id."),
        checkpoint: z.string().optional().describe("The head of the root namespace."),
        writtenAt: z.iso.datetime().describe("When it was last written, to the minute or better."),
        evicted: z.boolean().describe("Only its heads are here."),
      }),
    ),
    cursor: z.string().optional().describe("Where the next page begins."),
  }),
  whole: { order: "oldest" },
  async run({ filter, tag, order, evicted, limit, cursor }, context) {
    const saver = await context.saver();
    const page = await saver.listThreads({
      order,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
      ...(filter.length === 0 ? {} : { filter: pairs(filter, jsonOr) }),
      ...(tag.length === 0 ? {} : { tag: tagsOf(tag) }),
    });
    const items = page.threads
      .filter((thread) => !evicted || thread.evicted)
      .map((thread) => ({
        thread: thread.threadId,
        ...(thread.head === undefined ? {} : { checkpoint: thread.head }),
        writtenAt: new Date(thread.writtenAtMs).toISOString(),
        evicted: thread.evicted,
      }));
    return { items, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) };
  },
  *render({ items, cursor }) {
    if (items.length === 0 && cursor === undefined) {
      yield "No threads.";
      return;
    }
    const now = Date.now();
    const rows = items.map(({ thread, checkpoint, writtenAt, evicted }) => [
      thread,
      agoText(now - Date.parse(writtenAt)),
      checkpoint ?? "",
      evicted ? "evicted" : "",
    ]);
    yield* columns([["THREAD", "WRITTEN", "HEAD", ""], ...rows]);
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
});

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
