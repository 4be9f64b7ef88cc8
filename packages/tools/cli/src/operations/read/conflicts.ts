import type { Conflict, TierSaver } from "@stratigraph/core";
import { decodeCursor, encodeCursor } from "@stratigraph/core/internal";
import { z } from "zod";
import { shown, table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { resolveThread } from "../table/address.ts";
import type { Context } from "../table/context.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { DamagedThreads, failure } from "./damagedThreads.ts";
import { Records } from "./records.ts";

/** How many threads are looked at for one page at most: most have no conflicts. */
const mostThreads = 2000;

/** How many threads are asked for their conflicts at the same time. */
const together = 8;

const item = z.object({
  thread: z.string(),
  namespace: z.string(),
  checkpoint: z.string().describe("The newest checkpoint of the side branch."),
  first: z.string().describe("Its oldest checkpoint."),
  from: z.string().optional().describe("The checkpoint of the main line that it departs from."),
  lostTo: z.string().describe("The head that won."),
  checkpoints: z.number().describe("How many the branch has."),
  ts: z.string().optional().describe("When the newest was made, ISO 8601."),
  step: z.number().optional(),
  run: z.string().optional(),
});

type Item = z.output<typeof item>;

const place = z.object({
  threads: z.string().optional().describe("Cursor of the list of threads."),
  last: z
    .object({ thread: z.string(), namespace: z.string(), checkpoint: z.string() })
    .optional()
    .describe("The conflict that was listed last. Absent unless the threads at the cursor have more."),
});

type Place = z.output<typeof place>;

/** The items of a page. */
interface Page {
  readonly items: readonly Item[];
  /** The last of the items, if there are more. */
  readonly next: Place["last"];
}

const output = z.object({
  items: z.array(item),
  threads: z.number().describe("How many threads were looked at."),
  skipped: z.number().describe("How many archived or evicted threads were left out."),
  failed: z.array(failure).describe("Threads that could not be read, and why."),
  cursor: z.string().optional().describe("Where to go on: there may be more."),
});

/** Lists side branches. */
export const conflicts = operation({
  name: "conflicts",
  group: "look",
  effect: "read",
  summary: "List side branches: work that lost a race for the head of a thread, but was kept.",
  examples: ["stratigraph conflicts", "stratigraph conflicts ada"],
  args: ["thread"],
  input: z.object({
    thread: fields.thread.optional().describe("Only of this thread. Default: of all threads."),
    archived: flag("Without a thread: look at archived threads, too. Each of them is read from the archive."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output,
  async run({ thread, archived, limit, cursor }, context) {
    const saver = await context.saver();
    const from = cursor === undefined ? {} : placeOf(cursor);
    if (thread === undefined) return await ofAllThreads(saver, context, from, { limit, archived });
    const found = await saver.conflicts(await resolveThread(saver, thread));
    const { items, next } = await page(found, from.last, limit, (conflict) => itemOf(saver, conflict));
    return {
      items: [...items],
      threads: 1,
      skipped: 0,
      failed: [],
      ...(next === undefined ? {} : { cursor: encodeCursor({ last: next } satisfies Place) }),
    };
  },
  *render({ items, threads, skipped, failed, cursor }) {
    if (items.length > 0) {
      const now = Date.now();
      const rows = items.map(({ thread, namespace, checkpoint, checkpoints, ts, run = "", lostTo }) => [
        thread,
        namespace,
        checkpoint,
        String(checkpoints),
        ts === undefined ? "" : `${timeText(now - Date.parse(ts))} ago`,
        run,
        lostTo,
      ]);
      yield* table(["THREAD", "NAMESPACE", "CHECKPOINT", ">LONG", ">WRITTEN", "RUN", "LOST TO"], rows);
    } else yield `No conflicts in ${threads === 1 ? "1 thread" : `${threads} threads`}.`;
    for (const { thread, error } of failed) yield `NOT READ ${shown(thread)}: ${shown(error)}`;
    if (skipped > 0) yield `Archived threads that were left out: ${skipped}. Look into them with --archived.`;
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
  found: ({ items, failed }) => items.length + failed.length > 0,
});

async function ofAllThreads(
  saver: TierSaver,
  context: Context,
  from: Place,
  { limit, archived }: { readonly limit: number; readonly archived: boolean },
): Promise<Omit<z.output<typeof output>, "cursor"> & { cursor?: string }> {
  const items: Item[] = [];
  const damaged = new DamagedThreads();
  const { failures: failed, onDamaged } = damaged;
  const itemUnlessDamaged = (conflict: Conflict): Promise<Item | undefined> =>
    damaged.unless(conflict.threadId, undefined, () => itemOf(saver, conflict));
  let [threads, skipped] = [0, 0];
  let here = from;
  for (;;) {
    const isEnough = threads + skipped >= mostThreads || items.length >= limit || context.signal.aborted;
    if (isEnough) return { items, threads, skipped, failed, cursor: encodeCursor(here) };
    // A thread that is written to meanwhile moves to the end of this order. It may be listed twice, but is never missed.
    const listed = await saver.listThreads({
      order: "oldest",
      limit: together,
      cursor: here.threads,
      onDamaged,
    });
    const some = listed.threads.filter(({ evicted }) => archived || !evicted);
    skipped += listed.threads.length - some.length;
    threads += some.length;
    const found = await Promise.all(
      some.map(({ threadId }) => damaged.unless(threadId, [], () => saver.conflicts(threadId))),
    );
    const { items: more, next } = await page(
      found.flat(),
      here.last,
      limit - items.length,
      itemUnlessDamaged,
    );
    items.push(...more);
    context.progress({ done: threads, unit: "threads", at: listed.threads.at(-1)?.threadId });
    if (next !== undefined)
      return {
        items,
        threads,
        skipped,
        failed,
        cursor: encodeCursor({ ...here, last: next } satisfies Place),
      };
    if (listed.cursor === undefined) return { items, threads, skipped, failed };
    here = { threads: listed.cursor };
  }
}

/**
 * Conflicts after `last`, as many as fit. If `last` isn't there any more, begins with the first.
 * @param read makes an item of a conflict; undefined if it can't be read
 */
async function page(
  found: readonly Conflict[],
  last: Place["last"],
  limit: number,
  read: (conflict: Conflict) => Promise<Item | undefined>,
): Promise<Page> {
  const isLast = ({ threadId, namespace, checkpointId }: Conflict): boolean =>
    threadId === last?.thread && namespace === last.namespace && checkpointId === last.checkpoint;
  const left = found.slice(found.findIndex(isLast) + 1);
  const some = left.slice(0, limit);
  const items: Item[] = [];
  for (const conflict of some) {
    const one = await read(conflict);
    if (one !== undefined) items.push(one);
  }
  const end = some.at(-1);
  if (end === undefined || some.length === left.length) return { items, next: undefined };
  return {
    items,
    next: { thread: end.threadId, namespace: end.namespace, checkpoint: end.checkpointId },
  };
}

async function itemOf(saver: TierSaver, conflict: Conflict): Promise<Item> {
  const { threadId, namespace, checkpointId, firstCheckpointId, parentId, lostTo, checkpoints } = conflict;
  const opened = await new Records(saver, { threadId, namespace }).find(checkpointId);
  const step = opened?.metadata["step"];
  return {
    thread: threadId,
    namespace,
    checkpoint: checkpointId,
    first: firstCheckpointId,
    lostTo,
    checkpoints,
    ...(parentId === undefined ? {} : { from: parentId }),
    ...(opened === undefined ? {} : { ts: opened.body.header.ts }),
    ...(typeof step === "number" ? { step } : {}),
    ...(opened?.record.runId === undefined ? {} : { run: opened.record.runId }),
  };
}

function placeOf(cursor: string): Place {
  const isPlace = (value: unknown): value is Place => place.safeParse(value).success;
  return decodeCursor(cursor, isPlace, "Pass the cursor of the previous page unchanged.");
}
