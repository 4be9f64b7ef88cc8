import { InvalidOptionError } from "@stratigraph/core";
import { decodeCursor, encodeCursor } from "@stratigraph/core/internal";
import type { RecordedCall } from "@stratigraph/journal";
import { z } from "zod";
import { shown, table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { equalShare } from "../values/cut.ts";
import { Redaction } from "../values/redaction.ts";
import { clipped, inlineText, valueLines } from "../values/text.ts";
import { callItem, callItemOf, callStatuses, statusOf, type CallItem } from "./callItem.ts";
import { callOf, callValues } from "./callValues.ts";
import { journalThread, openJournal } from "./openJournal.ts";

/** How many calls' values are read at the same time. */
const together = 8;

const time = (description: string) =>
  z.iso
    .datetime({ offset: true, error: "write a time as in ISO 8601: 2026-03-01T12:00:00Z" })
    .optional()
    .describe(description);

/** Lists the calls of a thread's journal. */
export const calls = operation({
  name: "calls",
  group: "look",
  effect: "read",
  summary:
    "List the calls that a thread's journal recorded: what was asked, how it was decided, what came of it.",
  args: ["thread"],
  examples: [
    "stratigraph calls ada",
    "stratigraph calls ada --tool pay --status unresolved",
    "stratigraph calls ada --since 2026-03-01T00:00:00Z -n 10",
  ],
  input: z.object({
    thread: fields.thread,
    call: z
      .string()
      .min(6)
      .optional()
      .describe("Only this call: its fingerprint, or at least its first 6 characters."),
    path: z
      .string()
      .optional()
      .describe("Only this part of the call's values: args.items[3], result[10:20]. Needs call."),
    tool: z.string().optional().describe("Only calls of this tool."),
    status: z.enum(callStatuses).optional().describe("Only calls with this status."),
    since: time("Only calls first made at this time or later."),
    until: time("Only calls first made before this time."),
    order: z.enum(["newest", "oldest"]).default("newest").describe("Last or first made first."),
    maxBytes: maxBytes("How much of arguments and results to show in all, in bytes."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    thread: z.string(),
    items: z.array(callItem),
    total: z.number().describe("How many calls the journal has, whatever was asked for."),
    tools: z.array(z.object({ tool: z.string(), calls: z.number() })).describe("How many of each tool."),
    unresolved: z.number().describe("How many have an unknown outcome."),
    cursor: z.string().optional().describe("Where the next page begins."),
  }),
  async run({ thread, call, path, order, maxBytes, limit, cursor, ...filter }, context) {
    if (path !== undefined && call === undefined)
      throw new InvalidOptionError("path", path, "Name the call, too.");
    const journal = await openJournal(context);
    const threadId = await journalThread(journal, thread);
    const all = await journal.calls(threadId);
    const chosen = (call === undefined ? all : [callOf(all, call, threadId)]).filter((each) =>
      fits(each, filter),
    );
    if (order === "newest") chosen.reverse();
    const begins = cursor === undefined ? 0 : behind(cursor, chosen);
    const page = chosen.slice(begins, begins + limit);
    const redaction = new Redaction(context.redact);
    const items: CallItem[] = [];
    const share = equalShare(maxBytes, page.length, 400);
    for (let n = 0; n < page.length; n += together) {
      const some = page.slice(n, n + together);
      const read = some.map(async (each) =>
        callItemOf(
          each,
          await callValues(journal.checkpointer, each, { redaction, maxBytes: share, path }),
          redaction.isActive,
        ),
      );
      items.push(...(await Promise.all(read)));
      context.progress({ done: items.length, total: page.length, unit: "calls" });
    }
    const isLast = begins + page.length >= chosen.length;
    return {
      thread: threadId,
      items,
      total: all.length,
      tools: toolsOf(all),
      unresolved: all.filter(({ unresolved }) => unresolved === true).length,
      ...(isLast
        ? {}
        : {
            cursor: encodeCursor({ call: page.at(-1)!.fingerprint, n: begins + page.length } satisfies Place),
          }),
    };
  },
  *render({ items, total, unresolved, cursor }) {
    if (items.length === 0)
      yield total === 0
        ? "The thread's journal has no calls."
        : `None of ${total === 1 ? "1 call" : `${total} calls`} fits.`;
    else if (items.length === 1) yield* callLines(items[0]!);
    else {
      const now = Date.now();
      const rows = items.map(
        ({ call, tool, args, result, status, attempts, replays, begun, ms, error, where }) => [
          call.slice(0, 12),
          tool,
          clipped(args === undefined ? "(erased)" : inlineText(args.value), 48),
          status,
          clipped(error ?? (result === undefined ? "" : inlineText(result.value)), 48),
          attempts === 1 ? "" : String(attempts),
          replays === 0 ? "" : String(replays),
          ms === undefined ? "" : `${ms} ms`,
          begun === undefined ? "" : `${timeText(now - Date.parse(begun))} ago`,
          where.node ?? "",
        ],
      );
      yield* table(
        ["CALL", "TOOL", "ARGUMENTS", "STATUS", "RESULT", ">ATTEMPTS", ">REPLAYS", ">TOOK", ">MADE", "NODE"],
        rows,
      );
    }
    if (unresolved > 0) {
      yield "";
      yield `Nobody knows whether ${unresolved === 1 ? "1 call" : `${unresolved} calls`} happened: see "stratigraph questions" and "stratigraph answer".`;
    }
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
});

type Filter = Readonly<Partial<Record<"tool" | "status" | "since" | "until", string | undefined>>>;

function fits(call: RecordedCall, { tool, status, since, until }: Filter): boolean {
  if (tool !== undefined && call.tool !== tool) return false;
  if (status !== undefined && statusOf(call) !== status) return false;
  if (since === undefined && until === undefined) return true;
  const [first] = call.entries;
  if (first === undefined) return false;
  const ms = Date.parse(first.at);
  return (since === undefined || ms >= Date.parse(since)) && (until === undefined || ms < Date.parse(until));
}

function toolsOf(all: readonly RecordedCall[]): { tool: string; calls: number }[] {
  const counts = new Map<string, number>();
  for (const { tool } of all) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  return [...counts].map(([tool, of]) => ({ tool, calls: of })).sort((a, b) => b.calls - a.calls);
}

function* callLines({
  call,
  tool,
  status,
  effects,
  attempts,
  replays,
  key,
  error,
  args,
  result,
  entries,
  where,
}: CallItem): Generator<string> {
  yield `${shown(tool)}  ${status}  effects ${effects}, begun ${attempts} times, replayed ${replays} times`;
  yield `call  ${call}`;
  if (key !== call) yield `idempotency key  ${shown(key)}`;
  if (where.checkpoint !== undefined)
    yield `made at checkpoint  ${shown(where.checkpoint)}${where.node === undefined ? "" : `, node ${shown(where.node)}`}`;
  for (const [name, view] of [
    ["arguments", args],
    ["result", result],
  ] as const) {
    yield "";
    yield name;
    for (const line of view === undefined ? ["(none)"] : valueLines(view.value)) yield `  ${line}`;
  }
  if (error !== undefined) yield `error  ${shown(error)}`;
  yield "";
  yield* table(
    ["ENTRY", "AT", "WHAT", "AUTHOR"],
    entries.map(({ seq, at, text, author = "" }) => [String(seq), at, text, author]),
  );
}

interface Place {
  readonly call: string;
  /** The number of calls up to and including that one, in case the call is forgotten meanwhile. */
  readonly n: number;
}

/** The position at which the page after a cursor begins. @throws InvalidOptionError */
function behind(cursor: string, chosen: readonly RecordedCall[]): number {
  const isPlace = (place: unknown): place is Place => {
    const { call, n } = Object(place) as { call?: unknown; n?: unknown };
    return typeof call === "string" && typeof n === "number";
  };
  const { call, n } = decodeCursor(cursor, isPlace, "Pass the cursor of the previous page unchanged.");
  const at = chosen.findIndex(({ fingerprint }) => fingerprint === call);
  return at === -1 ? n : at + 1;
}
