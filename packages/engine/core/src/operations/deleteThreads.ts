import { checkedIds } from "../saver/arguments.ts";
import { checkOptions, shown, type OptionAdvice, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError, StratigraphError } from "../contract/errors.ts";
import { tagKey } from "../contract/tagKey.ts";
import { threadNamedBy } from "../contract/threadNamedBy.ts";
import { tagsThreads } from "../contract/tierExtensions.ts";
import { isArchivedElsewhere } from "./archivedElsewhere.ts";
import { Storages, type FoundHolding, type Holding } from "./holding.ts";
import type { Tags, ThreadTags } from "../saver/threadTags.ts";
import type { Remainder, ThreadTag, Tier } from "../contract/tier.ts";
import { messageOf } from "../serde/messageOf.ts";

/** Which threads {@link deleteThreads} deletes: those that carry all of these tags, or those of these ids. */
export type ThreadSelection =
  | { readonly tag: Tags; readonly threadIds?: undefined }
  | { readonly threadIds: readonly string[]; readonly tag?: undefined };

/** Options of deleteThreads. */
export interface DeleteThreadsOptions {
  /** Only reports what would be deleted. Default false. */
  readonly dryRun?: boolean | undefined;
  /** How many threads one call deletes at most; repeat the call while `complete` is false. Default 10,000. */
  readonly limit?: number | undefined;
}

/** A thread that was deleted, and whether it is gone. */
export interface DeletedThread {
  /** Empty if it is damaged so that its id isn't known: it wasn't deleted, and the reason tells where it is. */
  readonly threadId: string;
  /** What each storage held of it before. */
  readonly found: readonly Holding[];
  /** Whether every storage was asked again after the deletion, and holds nothing of the thread. */
  readonly verified: boolean;
  /** Why it isn't verified: which tiers still hold something or could not be asked, or how the deletion failed. */
  readonly reason?: string | undefined;
}

/** What remains of deleted threads, and in which tier. */
export interface TierRemainder extends Remainder {
  readonly tier: string;
}

/** What deleteThreads did. */
export interface DeletionReport {
  /**
   * Whether every selected thread is gone, and none is left that carries the tags. Always false after a dry run, and by tags with
   * `readThrough`: threads that weren't brought yet may belong to the same person.
   */
  readonly complete: boolean;
  readonly threads: readonly DeletedThread[];
  /**
   * What remains of each thread for a while, by tier, and in the source of `readThrough`. Backups, and older versions that a storage keeps,
   * aren't listed.
   */
  readonly remains: readonly TierRemainder[];
}

/** How many threads are deleted at the same time. */
const atOnce = 4;
/** How often one thread is deleted at most: it may be written to again during the call. */
const mostTries = 3;

const selectionNames: OptionNames<ThreadSelection> = { tag: true, threadIds: true };
const selectionAdvice: OptionAdvice = {
  tags: "Write tag.",
  filter: "Threads are deleted by their tags: write tag.",
  threadId: "Write threadIds, or call deleteThread.",
};
const names: OptionNames<DeleteThreadsOptions> = { dryRun: true, limit: true };

/** What is to be deleted: by tags, in every form that they are stored in, or by ids. */
type CheckedSelection =
  | { readonly forms: readonly (readonly ThreadTag[])[] }
  | { readonly threadIds: readonly string[] };

/** Checks what is to be deleted. @throws InvalidOptionError, InvalidAddressError */
export function checkSelection(
  selection: ThreadSelection,
  options: DeleteThreadsOptions,
  tags: ThreadTags,
): CheckedSelection {
  checkOptions("deleteThreads", selection, selectionNames, selectionAdvice);
  checkOptions("deleteThreads", options, names);
  const { dryRun = false, limit = 1 } = options;
  if (typeof dryRun !== "boolean")
    throw new InvalidOptionError("dryRun", shown(dryRun), "Pass true or false.");
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new InvalidOptionError("limit", shown(limit), "Use a whole number, 1 or more.");
  const { tag, threadIds } = selection ?? {};
  if (threadIds === undefined) return { forms: tags.forms(tag) };
  if (tag !== undefined)
    throw new InvalidOptionError("threadIds", "tag and threadIds", "Name the threads by one of them.");
  return { threadIds: checkedIds("threadIds", threadIds) };
}

/**
 * Deletes threads and verifies that they are gone. One that fails doesn't stop the others. Safe to repeat, and to interrupt at any
 * moment.
 * @param options `source`: where threads are still brought from
 */
export async function deleteThreads(
  tier: Tier,
  selection: CheckedSelection,
  { source, ...options }: DeleteThreadsOptions & { readonly source: string | undefined },
  deleteThread: (threadId: string) => Promise<void>,
): Promise<DeletionReport> {
  const deletion = new Deletion(tier, options, deleteThread);
  // Repeated until a whole pass finds nothing to do, because threads may be tagged, or written to again, meanwhile.
  let isDone: boolean;
  do isDone = await deletion.pass(selected(tier, selection, deletion));
  while (!isDone);
  const report = deletion.report();
  if (source === undefined) return report;
  return {
    ...report,
    complete: report.complete && !("forms" in selection),
    remains: [...report.remains, { tier: source, ...inTheSource }],
  };
}

/** What a deletion leaves where threads are still brought from. */
const inTheSource: Remainder = {
  what: "the threads themselves, those with these tags that weren't brought yet among them: they come over when they are read",
  removedBy: "you: delete them there, too",
};

/** One call of {@link deleteThreads}. */
class Deletion {
  readonly outcomes = new Map<string, DeletedThread>();
  readonly #tier: Tier;
  readonly #storages: Storages;
  readonly #deleteThread: (threadId: string) => Promise<void>;
  readonly #isDry: boolean;
  readonly #limit: number;
  readonly #tries = new Map<string, number>();
  /** Threads that were archived, to an archive that isn't open. */
  readonly #archivedElsewhere = new Set<string>();
  /** Whether the last pass skipped a thread, because the limit was reached or its deletion had been tried too often. */
  #isLeft = false;

  constructor(
    tier: Tier,
    { dryRun = false, limit = 10_000 }: DeleteThreadsOptions,
    deleteThread: (threadId: string) => Promise<void>,
  ) {
    this.#tier = tier;
    this.#storages = new Storages(tier);
    this.#isDry = dryRun;
    this.#limit = limit;
    this.#deleteThread = deleteThread;
  }

  /** Deletes threads, a few at a time. @returns whether there was nothing to do */
  async pass(threadIds: AsyncIterable<string>): Promise<boolean> {
    let isDone = true;
    this.#isLeft = false;
    for await (const batch of batchesOf(threadIds)) {
      const open = batch.filter((threadId) => this.#begin(threadId));
      this.#isLeft ||= open.length < batch.length;
      isDone &&= this.#isDry || open.length === 0;
      await Promise.all(open.map((threadId) => this.#work(threadId)));
    }
    return isDone;
  }

  /** Notes a thread that isn't deleted, as damage hides whether it carries the tags. @param threadId empty in the report if it is hidden, too */
  async leaves(threadId: string | undefined, error: Error): Promise<void> {
    const found = threadId === undefined ? [] : (await this.#storages.holdings(threadId)).map(told);
    const reason = `It may carry the tags, and wasn't deleted: ${messageOf(error)}`;
    const key = threadId ?? error.message;
    this.outcomes.set(key, { threadId: threadId ?? "", found, verified: false, reason });
  }

  report(): DeletionReport {
    const threads = [...this.outcomes.values()];
    const isGone = threads.every(({ verified }) => verified);
    return {
      complete: !this.#isDry && !this.#isLeft && isGone,
      threads,
      remains: this.#storages.layers.flatMap(({ tier: { name, remains = [] } }) =>
        remains.map((remainder) => ({ tier: name, ...remainder })),
      ),
    };
  }

  /** Whether to delete a thread now. Counts it as a try. */
  #begin(threadId: string): boolean {
    const tries = this.#tries.get(threadId) ?? 0;
    if (tries === 0 && this.#tries.size === this.#limit) return false;
    if (tries === (this.#isDry ? 1 : mostTries)) return false;
    this.#tries.set(threadId, tries + 1);
    return true;
  }

  async #work(threadId: string): Promise<void> {
    // The deletion also deletes the mark. What can't be asked isn't deleted either.
    if (await isArchivedElsewhere(this.#tier, threadId).catch(() => false))
      this.#archivedElsewhere.add(threadId);
    const outcome = this.#isDry
      ? await looked(this.#storages, threadId)
      : await deleted(this.#storages, threadId, this.#deleteThread);
    // The report says what the first try found.
    const { found } = this.outcomes.get(threadId) ?? outcome;
    const unproved =
      (outcome.verified || this.#isDry) && this.#archivedElsewhere.has(threadId)
        ? { verified: false, reason: archiveMayHaveIt }
        : {};
    this.outcomes.set(threadId, { ...outcome, ...unproved, found });
  }
}

const archiveMayHaveIt =
  "It was archived, and its archive isn't open here: the archive may still have it. Delete it through a saver that has the archive, too, or in the archive alone.";

/** The threads that are selected now. Those selected by id are left out once they are verified to be gone. */
async function* selected(
  tier: Tier,
  selection: CheckedSelection,
  deletion: Pick<Deletion, "outcomes" | "leaves">,
): AsyncGenerator<string> {
  if ("forms" in selection) {
    for (const tags of selection.forms) {
      const damaged: Error[] = [];
      const onDamaged = (error: Error): void => void damaged.push(error);
      for await (const { threadId } of tier.threads({ tags, onDamaged })) yield threadId;
      // A deletion reads nothing of a thread, so a damaged one is deleted, too, if it is known to carry the tags.
      for (const error of damaged) {
        const threadId = threadNamedBy(error);
        if (threadId !== undefined && (await carries(tier, threadId, tags))) yield threadId;
        else await deletion.leaves(threadId, error);
      }
    }
    return;
  }
  for (const threadId of new Set(selection.threadIds))
    if (deletion.outcomes.get(threadId)?.verified !== true) yield threadId;
}

/** Whether a damaged thread is known to carry all of these tags. */
async function carries(tier: Tier, threadId: string, tags: readonly ThreadTag[]): Promise<boolean> {
  try {
    const carried = tagsThreads(tier) ? new Set((await tier.threadTags(threadId)).map(tagKey)) : undefined;
    return tags.every((tag) => carried?.has(tagKey(tag)) === true);
  } catch (error) {
    if (StratigraphError.is(error, "CORRUPT")) return false;
    throw error;
  }
}

async function* batchesOf(ids: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const id of ids) {
    if (!batch.includes(id)) batch.push(id);
    if (batch.length < atOnce) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Why a dry run has deleted nothing, where nothing else is to be told of a thread. */
export const dryRunReason = "A dry run deletes nothing.";

async function looked(storages: Storages, threadId: string): Promise<DeletedThread> {
  const found = await storages.holdings(threadId);
  return { threadId, found: found.map(told), verified: false, reason: dryRunReason };
}

async function deleted(
  storages: Storages,
  threadId: string,
  deleteThread: (threadId: string) => Promise<void>,
): Promise<DeletedThread> {
  const found = (await storages.holdings(threadId)).map(told);
  try {
    await deleteThread(threadId);
  } catch (error) {
    return { threadId, found, verified: false, reason: `The deletion failed: ${messageOf(error)}` };
  }
  const left = (await storages.holdings(threadId)).filter(({ isEmpty }) => !isEmpty);
  if (left.length === 0) return { threadId, found, verified: true };
  const reason = left
    .map(({ tier, error }) =>
      error === undefined
        ? `Tier ${tier} holds something of it.`
        : `Tier ${tier} could not be asked: ${messageOf(error)}`,
    )
    .join(" ");
  return { threadId, found, verified: false, reason };
}

function told({ isEmpty: _isEmpty, ...holding }: FoundHolding): Holding {
  return holding;
}
