import type { ThreadInfo } from "@stratigraph/core";
import { timeOfId } from "@stratigraph/core/internal";
import { z } from "zod";
import { columns } from "../render/columns.ts";
import { agoText } from "../render/units.ts";
import { waitsText } from "../render/words.ts";
import { fields, flag, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { pair, pairs, tagsOf } from "../table/pairs.ts";
import { Redaction } from "../values/redaction.ts";
import { archivedText } from "./archivedPart.ts";
import { DamagedThreads } from "./damagedThreads.ts";
import { searchThreads } from "./searchThreads.ts";
import { detailsOf, threadDetails } from "./threadDetails.ts";

const noTag =
  "No threads with this tag. A thread is tagged when it is written, by an application that has the option threadTags.";

/** Lists threads. */
export const threads = operation({
  name: "threads",
  group: "look",
  effect: "read",
  summary: "List threads, most recently written first; all pages at once: least recently written first.",
  examples: [
    "stratigraph threads",
    "stratigraph threads --filter user=anna -n 10",
    "stratigraph threads --search ad",
  ],
  input: z.object({
    search: z
      .string()
      .optional()
      .describe(
        "Only threads whose ids contain this text, in any case. Goes through the list, so a tag is faster.",
      ),
    filter: texts(
      "key=value that the newest checkpoint's metadata must have. A value that is JSON counts as such.",
      pair,
    ),
    tag: texts("key=value of a tag that the threads must carry.", pair),
    status: z
      .enum(["waiting", "failed", "interrupted", "idle"])
      .optional()
      .describe(
        "Only threads that wait for a person's answer, of which a task failed, whose next step is due (cut off, or under way), or that have nothing to do.",
      ),
    order: z
      .enum(["newest", "oldest"])
      .default("newest")
      .describe(
        "Most or least recently written first. A thread that is written to between two pages becomes the newest one: with newest first it is missed, with oldest first it is listed again. All pages at once are listed oldest first.",
      ),
    evicted: flag("Only archived threads: only their heads are kept here."),
    details: flag("Also show what the heads say: step, interrupts, conflicts, origin. Reads each head."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    items: z.array(
      z.object({
        thread: z.string().describe("The id."),
        checkpoint: z.string().optional().describe("The head of the root namespace."),
        headless: z
          .literal(true)
          .optional()
          .describe("Its checkpoints are here, but its head is lost: verify tells more."),
        writtenAt: z.iso
          .datetime()
          .describe(
            "When it was last written, to the minute or better. Of an archived thread: when its head was made.",
          ),
        archivedAt: z.iso
          .datetime()
          .optional()
          .describe("When it was archived. In the list, archived threads stand where this puts them."),
        evicted: z.boolean().describe("It is archived: only its heads are here."),
        details: threadDetails.optional(),
      }),
    ),
    note: z
      .string()
      .optional()
      .describe("Why the list may be empty, if that isn't obvious, or that threads were left out, and why."),
    cursor: z.string().optional().describe("Where the next page begins."),
  }),
  whole: { order: "oldest" },
  async run({ search, filter, tag, status, order, evicted, details, limit, cursor }, context) {
    const saver = await context.saver();
    const damaged = new DamagedThreads();
    const asked = {
      order,
      limit,
      onDamaged: damaged.onDamaged,
      ...(cursor === undefined ? {} : { cursor }),
      ...(filter.length === 0 ? {} : { filter: pairs(filter, jsonOr) }),
      ...(tag.length === 0 ? {} : { tag: tagsOf(tag) }),
      ...(status === undefined ? {} : { status }),
    };
    const page =
      search === undefined || search === ""
        ? await saver.listThreads(asked)
        : await searchThreads(saver, search, asked, context.signal);
    const listed = page.threads.filter((thread) => !evicted || thread.evicted);
    const told = details ? await detailsOf(saver, listed, new Redaction(context.redact)) : undefined;
    const exact = listed.map((thread) => ({ ...thread, writtenAtMs: writtenMs(thread) }));
    const sign = order === "newest" ? -1 : 1;
    const listedMs = ({ archivedAtMs, writtenAtMs }: ThreadInfo): number => archivedAtMs ?? writtenAtMs;
    exact.sort((a, b) => sign * (listedMs(a) - listedMs(b)));
    const items = exact.map((thread) => {
      const own = told?.get(thread.threadId);
      return {
        thread: thread.threadId,
        ...(thread.head === undefined ? {} : { checkpoint: thread.head }),
        ...(thread.headless === true ? { headless: true as const } : {}),
        writtenAt: new Date(thread.writtenAtMs).toISOString(),
        ...(thread.archivedAtMs === undefined
          ? {}
          : { archivedAt: new Date(thread.archivedAtMs).toISOString() }),
        evicted: thread.evicted,
        ...(own === undefined ? {} : { details: own }),
      };
    });
    const isNone = items.length === 0 && page.cursor === undefined;
    const { skipped = 0 } = page;
    const leftOut = [skipped > 0 ? archivedText(skipped) : [], damaged.note() ?? []].flat().join(" ");
    const note = leftOut !== "" ? leftOut : isNone && tag.length > 0 ? noTag : undefined;
    return {
      items,
      ...(note === undefined ? {} : { note }),
      ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
    };
  },
  *render({ items, note, cursor }) {
    if (items.length === 0 && cursor === undefined) {
      yield note ?? "No threads.";
      return;
    }
    const now = Date.now();
    const rows = items.map(({ thread, checkpoint, headless, writtenAt, evicted, details }) => [
      thread,
      agoText(now - Date.parse(writtenAt)),
      checkpoint ?? "",
      [
        ...(evicted ? ["archived"] : []),
        ...(headless ? ["head lost: see verify"] : []),
        ...(details === undefined ? [] : notes(details)),
      ].join("; "),
    ]);
    yield* columns([["THREAD", "WRITTEN", "HEAD", ""], ...rows]);
    if (note !== undefined) yield note;
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
});

const minute = 60_000;

/**
 * When a thread was last written. If a tier knows only the minute, the head's id gives the exact time. If the head wasn't made in
 * that minute, as in a fork, the minute is returned.
 */
function writtenMs({ head = "", writtenAtMs }: ThreadInfo): number {
  const madeMs = timeOfId(head);
  const isInIt = madeMs !== undefined && madeMs > writtenAtMs && madeMs < writtenAtMs + minute;
  return isInIt && writtenAtMs % minute === 0 ? madeMs : writtenAtMs;
}

function notes({ step, waits, conflicts, origin, part, damaged }: z.output<typeof threadDetails>): string[] {
  return [
    ...(damaged === undefined ? [] : ["damaged"]),
    ...(part === undefined ? [] : ["a part is archived"]),
    ...(step === undefined ? [] : [`step ${step}`]),
    ...(waits === undefined ? [] : [waits === "interrupt" ? waitsText : "failed"]),
    ...(conflicts === 0 ? [] : [conflicts === 1 ? "1 conflict" : `${conflicts} conflicts`]),
    ...(origin === undefined ? [] : [`forked from ${origin.thread}`]),
  ];
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
