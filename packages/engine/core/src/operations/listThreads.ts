import { checkFilter } from "../saver/arguments.ts";
import { checkOptions, shown, type OptionAdvice, type OptionNames } from "../contract/checkOptions.ts";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { isUnderWay } from "../contract/copyMark.ts";
import { isDamaged } from "./listEach.ts";
import { isArchivedElsewhere } from "./archivedElsewhere.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { matches, metadataTerms } from "../encode/metadataTerms.ts";
import type { Tags, ThreadTags } from "../saver/threadTags.ts";
import { statusAt } from "./taskStates.ts";
import { threadStatuses, type ThreadStatus } from "../contract/threadStatus.ts";
import { timeOfId } from "../contract/timeOfId.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { CheckpointRecord, ThreadInfo, ThreadQuery, Tier } from "../contract/tier.ts";

/** Options of listThreads. */
export interface ThreadListOptions {
  /** Metadata that the newest root checkpoint must have, as in `list`. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined;
  /** Only threads that carry all of these tags (`threadTags`, `tagThread`): `{ user_id: "anna" }`. */
  readonly tag?: Tags | undefined;
  /**
   * Only threads that stand so, by their newest root checkpoint: "waiting" (a question waits for a person's answer), "failed" (a task of the
   * step that is due ended with an error), "interrupted" (a step is due, and nothing waits or failed: the run was cut off, or is under way),
   * "idle" (nothing is due). The page says it of each thread. Threads whose newest checkpoint isn't here, so that nobody knows how they
   * stand, are listed under every status, without `status`.
   *
   * Comes from an index. Threads that it doesn't know yet (written by versions before it, or copied or forked and not written since) are
   * read to find out, on each call until the next write or `maintain`.
   */
  readonly status?: ThreadStatus | undefined;
  /**
   * Default "newest": most recently written first; archived threads by when they were archived (`archivedAtMs`). A thread that is written to between two pages moves to the front, past the cursor, and
   * is missed. To walk over all threads, pass "oldest": such a thread then moves to the end. It may be listed twice, but is never missed.
   */
  readonly order?: "newest" | "oldest" | undefined;
  /** `cursor` of the previous page, with the same order. */
  readonly cursor?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  /** Called for each thread that is left out because its data is damaged. Default: the first one ends the call with its error. */
  readonly onDamaged?: ((error: Error) => void) | undefined;
}

const names: OptionNames<ThreadListOptions> = {
  filter: true,
  tag: true,
  status: true,
  order: true,
  cursor: true,
  limit: true,
  onDamaged: true,
};
const advice: OptionAdvice = {
  metadata: "Write filter.",
  where: "Write filter.",
  state: "Write status.",
  prefix: "Threads aren't found by their ids: tag them (threadTags), and write tag.",
  tags: "Write tag.",
  threadTags: "Write tag.",
  offset: "Write cursor, with that of the page before.",
  before: "Write cursor, with that of the page before.",
};

/** A page of threads. */
export interface ThreadPage {
  readonly threads: readonly ThreadInfo[];
  /** Where the next page begins; absent on the last page. */
  readonly cursor?: string;
  /** How many archived threads were left out of it because their archive isn't open, so that nobody knows whether the filter fits. */
  readonly skipped?: number;
}

/** Whether a decoded cursor is a place in a list of threads. */
export function isThreadInfo(value: unknown): value is ThreadInfo {
  const { threadId, revision, writtenAtMs, evicted } = (value ?? {}) as Partial<
    Record<keyof ThreadInfo, unknown>
  >;
  return (
    typeof threadId === "string" &&
    Number.isSafeInteger(revision) &&
    Number.isFinite(writtenAtMs) &&
    typeof evicted === "boolean"
  );
}

/** @throws InvalidOptionError */
function checkThreadListOptions(options: ThreadListOptions): void {
  checkOptions("listThreads", options, names, advice);
  const { filter, order = "newest", cursor, limit = 1 } = options;
  if (order !== "newest" && order !== "oldest")
    throw new InvalidOptionError("order", shown(order), 'Use "newest" or "oldest".');
  if (!Number.isInteger(limit) || limit < 1)
    throw new InvalidOptionError("limit", shown(limit), "Use a whole number, 1 or more.");
  if (cursor !== undefined && typeof cursor !== "string")
    throw new InvalidOptionError("cursor", shown(cursor), "Pass the cursor of an earlier page as it was.");
  if (options.status !== undefined && !threadStatuses.includes(options.status))
    throw new InvalidOptionError(
      "status",
      shown(options.status),
      `Use ${threadStatuses.map((each) => `"${each}"`).join(", ")}.`,
    );
  checkFilter(filter);
  for (const [key, value] of Object.entries(filter ?? {})) {
    // An undefined value would filter nothing, so the answer would be everybody's threads.
    if (value === undefined)
      throw new InvalidOptionError(`filter.${key}`, "undefined", "Give it a value, or leave it out.");
  }
}

/** How many records are looked up at the same time, if a tier doesn't list them with the threads. */
const lookedUpTogether = 16;

/** Threads of a tier, a page at a time. @throws InvalidOptionError */
export async function listThreads(
  tier: Tier,
  coder: CheckpointCoder,
  tags: ThreadTags,
  options: ThreadListOptions,
): Promise<ThreadPage> {
  checkThreadListOptions(options);
  const { filter, tag, status, order = "newest", cursor, limit = 100, onDamaged } = options;
  const after =
    cursor === undefined
      ? undefined
      : decodeCursor(cursor, isThreadInfo, "Pass the cursor of an earlier page as it was.");
  const query: ThreadQuery = {
    order,
    after,
    ...(tag === undefined ? {} : { tags: tags.asked(tag) }),
    ...(status === undefined ? {} : { status }),
    onDamaged,
  };
  let skipped = 0;
  const skip = (): void => void (skipped += 1);
  const listed =
    filter === undefined
      ? withCheckpoints(tier, query, limit + 1)
      : lookedUp(tier.threads({ ...query, headTerms: metadataTerms(filter) }), onDamaged, (thread) =>
          matching(tier, coder, thread, filter, skip),
        );
  const found =
    status === undefined
      ? listed
      : lookedUp(listed, onDamaged, (thread) => standing(tier, coder, thread, status));
  const threads: ThreadInfo[] = [];
  // Where the tier has it: an archived thread stands where its archiving put it.
  let last: ThreadInfo | undefined;
  for await (const thread of found) {
    if (threads.length === limit) return { threads, cursor: encodeCursor(last!), ...told(skipped) };
    const { headRecord: _record, ...info } = thread;
    last = info;
    threads.push(info.evicted ? asWritten(info) : info);
  }
  return { threads, ...told(skipped) };
}

function told(skipped: number): Pick<ThreadPage, "skipped"> {
  return skipped === 0 ? {} : { skipped };
}

/** An archived thread with the time of its head in place of the time at which it was archived, if its id has one. */
function asWritten(info: ThreadInfo): ThreadInfo {
  const archivedAtMs = info.writtenAtMs;
  const madeMs = timeOfId(info.head ?? "");
  return { ...info, archivedAtMs, writtenAtMs: Math.min(madeMs ?? archivedAtMs, archivedAtMs) };
}

/**
 * Threads that a graph knows. Threads that hold only tool calls or metadata, or an incomplete copy, are left out. They are included if tags are
 * asked for, so that a deletion by tags misses nothing.
 * @param pageSize how many threads the tier is asked for at a time
 */
async function* withCheckpoints(
  tier: Tier,
  query: ThreadQuery,
  pageSize: number,
): AsyncGenerator<ThreadInfo> {
  for (let { after } = query; ;) {
    let listed = 0;
    for await (const thread of tier.threads({ ...query, after, limit: pageSize })) {
      listed += 1;
      after = thread;
      const shown = await orLeftOut(query.onDamaged, () => withState(tier, thread, query));
      if (shown !== undefined) yield shown;
    }
    if (listed < pageSize) return;
  }
}

/** A thread that a graph knows; undefined for another. */
async function withState(
  tier: Tier,
  thread: ThreadInfo,
  query: ThreadQuery,
): Promise<ThreadInfo | undefined> {
  const { threadId, head } = thread;
  if (head === undefined && (await tier.peek({ threadId, namespace: "" })).headless === true)
    return { ...thread, headless: true };
  const isListed = query.tags !== undefined || head !== undefined || !(await holdsRecords(tier, threadId));
  return isListed ? thread : undefined;
}

/** What a look at a thread says; undefined if its data is damaged, which `onDamaged` is told. */
async function orLeftOut<T>(
  onDamaged: ThreadQuery["onDamaged"],
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (onDamaged === undefined || !isDamaged(error)) throw error;
    onDamaged(error);
    return undefined;
  }
}

/** Whether a thread without a root head has calls, events, metadata, or an incomplete copy. */
async function holdsRecords(tier: Tier, threadId: string): Promise<boolean> {
  const { calls, events, thread, copy } = reservedNamespaces;
  for (const namespace of [calls, events, thread])
    if ((await tier.peek({ threadId, namespace })).head !== undefined) return true;
  return isUnderWay((await tier.peek({ threadId, namespace: copy })).head);
}

/** A thread whose newest root checkpoint has what the filter asks for. @param skip called for each that is archived elsewhere */
async function matching(
  tier: Tier,
  coder: CheckpointCoder,
  thread: ThreadInfo,
  filter: Readonly<Record<string, unknown>>,
  skip: () => void,
): Promise<ThreadInfo | undefined> {
  const record = thread.headRecord ?? (await headRecord(tier, thread));
  if (record !== undefined) return (await isMatch(coder, record, filter)) ? thread : undefined;
  if (thread.evicted && (await isArchivedElsewhere(tier, thread.threadId))) skip();
  return undefined;
}

/** A thread that stands so, or of which nobody knows it. Reads one that the tier yields without a status. */
async function standing(
  tier: Tier,
  coder: CheckpointCoder,
  thread: ThreadInfo,
  wanted: ThreadStatus,
): Promise<ThreadInfo | undefined> {
  const status = thread.status ?? (await statusAt({ tier, coder }, thread.threadId, thread.head));
  if (status === undefined) return thread;
  return status === wanted ? { ...thread, status } : undefined;
}

/** What a look at each thread says, in their order, several at the same time. */
async function* lookedUp(
  threads: AsyncIterable<ThreadInfo>,
  onDamaged: ThreadQuery["onDamaged"],
  look: (thread: ThreadInfo) => Promise<ThreadInfo | undefined>,
): AsyncGenerator<ThreadInfo> {
  let looking: Promise<ThreadInfo | undefined>[] = [];
  for await (const thread of threads) {
    looking.push(orLeftOut(onDamaged, () => look(thread)));
    if (looking.length < lookedUpTogether) continue;
    for (const match of await Promise.all(looking)) if (match !== undefined) yield match;
    looking = [];
  }
  for (const match of await Promise.all(looking)) if (match !== undefined) yield match;
}

async function isMatch(
  coder: CheckpointCoder,
  record: CheckpointRecord,
  filter: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const metadata = await coder.metadata(record, await coder.decodeBody(record));
  return matches(metadata as Record<string, unknown>, filter);
}

/** Reads the record of a root head that wasn't listed with its thread, because the tier can't or the thread is archived. */
async function headRecord(tier: Tier, { threadId, head }: ThreadInfo): Promise<CheckpointRecord | undefined> {
  if (head === undefined) return undefined;
  const query = { threadId, namespace: "", checkpointId: head, recordsOnly: true };
  for await (const { record } of tier.list(query)) return record;
  return undefined;
}
