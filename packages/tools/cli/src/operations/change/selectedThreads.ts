import { InvalidOptionError, type Duration, type ThreadInfo, type TierSaver } from "@stratigraph/core";
import { msOf, threadNamedBy } from "@stratigraph/core/internal";
import { z } from "zod";
import { tagsOf } from "../table/pairs.ts";

/** How threads are chosen: by exactly one of these. */
export interface Selection {
  readonly thread: readonly string[];
  /** Threads that carry all of these tags, given as pairs. */
  readonly tag: readonly string[];
  /** Threads that weren't written to for this long. */
  readonly olderThan?: Duration | undefined;
  /** All threads. */
  readonly all?: boolean | undefined;
}

/** Further options of a selection. */
export interface SelectionOptions {
  /** The way to choose the threads. */
  readonly way: Way;
  /** Where an earlier call ended. */
  readonly cursor?: string | undefined;
  /** Whether threads that are archived as a whole are left out, unless they were named or tagged. */
  readonly skipArchived: boolean;
}

/** A chosen thread. */
export interface SelectedThread {
  readonly threadId: string;
  /** Its revision when it was chosen; absent if it was named. */
  readonly revision?: number | undefined;
  /** Where a later call goes on after this thread; undefined at the beginning. */
  readonly next: string | undefined;
  /** Why it can't be worked on: what names it is damaged. Its id is "" if that isn't known. */
  readonly damaged?: Error;
}

/** How many threads are listed at once by their tags. */
const pageSize = 100;

/** How far the clock of a storage may be ahead, in milliseconds. */
const clockDoubtMs = 600_000;

/** Where a selection goes on: after a number of ids; after a thread of a page; or after a thread. */
const place = z.union([
  z.object({ ids: z.int().min(0) }),
  z.object({ page: z.string().optional(), last: z.string() }),
  z.object({
    after: z.object({
      threadId: z.string(),
      revision: z.int(),
      head: z.string().optional(),
      writtenAtMs: z.number(),
      evicted: z.boolean(),
    }),
    beforeMs: z.number(),
  }),
]);
type Place = z.infer<typeof place>;

/** A way to choose threads, as the inputs of operations name it. */
export type Way = "thread" | "tag" | "olderThan" | "all";

/**
 * Returns the one way to choose that the input uses.
 * @param what what is done with the threads, for messages: "delete"
 * @param ways the ways that are allowed
 * @throws InvalidOptionError if it uses none, or more than one
 */
export function wayOf(selection: Selection, what: string, ways: readonly Way[]): Way {
  const { thread, tag, olderThan, all = false } = selection;
  const isTaken = { thread: thread.length > 0, tag: tag.length > 0, olderThan: olderThan !== undefined, all };
  const taken = ways.filter((way) => isTaken[way]);
  const [way] = taken;
  if (way !== undefined && taken.length === 1) return way;
  throw new InvalidOptionError(
    taken[1] ?? "thread",
    taken.length === 0 ? "nothing" : taken.join(" and "),
    `Choose the threads to ${what} by one of ${ways.join(", ")}.`,
  );
}

/** The threads that are chosen, each once. Those named by id need not exist. @throws InvalidOptionError */
export async function* selectedThreads(
  saver: TierSaver,
  selection: Selection,
  { way, cursor, skipArchived }: SelectionOptions,
): AsyncGenerator<SelectedThread> {
  const from = cursor === undefined ? undefined : decode(cursor);
  if (way === "thread") yield* named(selection.thread, from);
  else if (way === "tag") yield* tagged(saver, selection.tag, from);
  else yield* written(saver, selection.olderThan, { from, includeEvicted: !skipArchived });
}

function* named(threadIds: readonly string[], from: Place | undefined): Generator<SelectedThread> {
  const ids = [...new Set(threadIds)];
  const done = from === undefined ? 0 : "ids" in from ? from.ids : wrong();
  for (const [n, threadId] of ids.entries()) if (n >= done) yield { threadId, next: encode({ ids: n + 1 }) };
}

async function* tagged(
  saver: TierSaver,
  tag: readonly string[],
  from: Place | undefined,
): AsyncGenerator<SelectedThread> {
  let { page, last } =
    from === undefined ? { page: undefined, last: undefined } : "last" in from ? from : wrong();
  const met = new Set<string>();
  const damaged = new Map<string, Error>();
  const onDamaged = (error: Error): void => void damaged.set(error.message, error);
  let next: string | undefined;
  for (;;) {
    // A thread that is written to meanwhile moves to the end of this order. It may be met twice, but is never missed.
    const found = await saver.listThreads({
      tag: tagsOf(tag),
      order: "oldest",
      limit: pageSize,
      cursor: page,
      onDamaged,
    });
    // If the last thread isn't in the page any more, the whole page is returned again.
    const done = found.threads.findIndex(({ threadId }) => threadId === last) + 1;
    for (const { threadId, revision } of found.threads.slice(done)) {
      if (met.has(threadId)) continue;
      met.add(threadId);
      next = encode({ last: threadId, ...(page === undefined ? {} : { page }) });
      yield { threadId, revision, next };
    }
    if (found.cursor === undefined) break;
    [page, last] = [found.cursor, undefined];
  }
  yield* leftOut([...damaged.values()], next);
}

/** Threads that can't be chosen as they are damaged. */
function* leftOut(damaged: readonly Error[], next: string | undefined): Generator<SelectedThread> {
  for (const error of damaged) yield { threadId: threadNamedBy(error) ?? "", next, damaged: error };
}

/** Threads by the time of their last write, oldest first. */
async function* written(
  saver: TierSaver,
  olderThan: Duration | undefined,
  { from, includeEvicted }: { readonly from: Place | undefined; readonly includeEvicted: boolean },
): AsyncGenerator<SelectedThread> {
  const at = from === undefined ? undefined : "after" in from ? from : wrong();
  // There is a bound even if all are chosen, because threads that are written to meanwhile come again at the end.
  const ageMs = olderThan === undefined ? -clockDoubtMs : msOf("olderThan", olderThan);
  const beforeMs = at?.beforeMs ?? Date.now() - ageMs;
  const after = at?.after as ThreadInfo | undefined;
  let next = at === undefined ? undefined : encode(at);
  const damaged: Error[] = [];
  const onDamaged = (error: Error): void => void damaged.push(error);
  const query = { writtenBeforeMs: beforeMs, after, includeEvicted, onDamaged };
  for await (const info of saver.tier.threads(query)) {
    const { threadId, revision, head, writtenAtMs, evicted } = info;
    const last = { threadId, revision, writtenAtMs, evicted, ...(head === undefined ? {} : { head }) };
    yield* leftOut(damaged.splice(0), next);
    next = encode({ after: last, beforeMs });
    yield { threadId, revision, next };
  }
  yield* leftOut(damaged, next);
}

function encode(at: Place): string {
  return Buffer.from(JSON.stringify(at)).toString("base64url");
}

function decode(cursor: string): Place {
  try {
    return place.parse(JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")));
  } catch {
    return wrong();
  }
}

function wrong(): never {
  throw new InvalidOptionError(
    "cursor",
    "another text",
    "Pass the cursor of an interrupted call, with its other inputs.",
  );
}
