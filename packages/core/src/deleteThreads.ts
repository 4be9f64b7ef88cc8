import { checkedIds } from "./arguments.ts";
import { checkOptions, shown, type OptionAdvice, type OptionNames } from "./checkOptions.ts";
import { InvalidOptionError } from "./errors.ts";
import { holdingOf, layersOf, type Holding } from "./holding.ts";
import type { Tags, ThreadTags } from "./threadTags.ts";
import type { Remainder, StackLayer, ThreadTag, Tier } from "./tier.ts";

/** Which threads {@link deleteThreads} deletes: those that carry all of these tags, or those of these ids. */
export type ThreadSelection =
  | { readonly tag: Tags; readonly threadIds?: undefined }
  | { readonly threadIds: readonly string[]; readonly tag?: undefined };

/** Options of deleteThreads. */
export interface DeleteThreadsOptions {
  /** Tells what would be deleted, and deletes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Most threads of one call; repeat it where `complete` is false. Default 10,000. */
  readonly limit?: number | undefined;
}

/** A thread that was deleted, and whether it is gone. */
export interface DeletedThread {
  readonly threadId: string;
  /** What each storage held of it before. */
  readonly found: readonly Holding[];
  /** Every storage was asked again after the deletion, and holds nothing of it. */
  readonly verified: boolean;
  /** Why it isn't verified: what still holds something, could not be asked, or failed. */
  readonly reason?: string | undefined;
}

/** What stays of deleted threads, and in which tier. */
export interface TierRemainder extends Remainder {
  readonly tier: string;
}

/** What deleteThreads did. */
export interface DeletionReport {
  /** Every thread that was selected is gone, and none is left that carries the tags. Always false after a dry run. */
  readonly complete: boolean;
  readonly threads: readonly DeletedThread[];
  /** What stays of each of them for a while, by tier; backups and older versions that a storage keeps aren't seen. */
  readonly remains: readonly TierRemainder[];
}

/** Threads that are deleted at once. */
const atOnce = 4;
/** How often one thread is deleted: it may be written again while the call goes on. */
const mostTries = 3;

const selectionNames: OptionNames<ThreadSelection> = { tag: true, threadIds: true };
const selectionAdvice: OptionAdvice = {
  tags: "Write tag.",
  filter: "Threads are deleted by their tags: write tag.",
  threadId: "Write threadIds, or call deleteThread.",
};
const names: OptionNames<DeleteThreadsOptions> = { dryRun: true, limit: true };

/** What is to be deleted, checked. @throws InvalidOptionError, InvalidAddressError */
export function checkSelection(
  selection: ThreadSelection,
  options: DeleteThreadsOptions,
  tags: ThreadTags,
): { readonly tags: readonly ThreadTag[] } | { readonly threadIds: readonly string[] } {
  checkOptions("deleteThreads", selection, selectionNames, selectionAdvice);
  checkOptions("deleteThreads", options, names);
  const { dryRun = false, limit = 1 } = options;
  if (typeof dryRun !== "boolean")
    throw new InvalidOptionError("dryRun", shown(dryRun), "Pass true or false.");
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new InvalidOptionError("limit", shown(limit), "Use a whole number, 1 or more.");
  const { tag, threadIds } = selection ?? {};
  if (threadIds === undefined) return { tags: tags.asked(tag) };
  if (tag !== undefined)
    throw new InvalidOptionError("threadIds", "tag and threadIds", "Select threads by one of them.");
  return { threadIds: checkedIds("threadIds", threadIds) };
}

/** Deletes threads, and proves it. Goes on where one fails; safe to repeat, and to end at any moment. */
export async function deleteThreads(
  tier: Tier,
  selection: ReturnType<typeof checkSelection>,
  { dryRun = false, limit = 10_000 }: DeleteThreadsOptions,
  deleteThread: (threadId: string) => Promise<void>,
): Promise<DeletionReport> {
  const layers = layersOf(tier);
  const outcomes = new Map<string, DeletedThread>();
  const tries = new Map<string, number>();
  const work = async (threadId: string): Promise<void> => {
    tries.set(threadId, (tries.get(threadId) ?? 0) + 1);
    const before = outcomes.get(threadId)?.found;
    const outcome = await (dryRun ? looked(layers, threadId) : deleted(layers, threadId, deleteThread));
    outcomes.set(threadId, { ...outcome, found: before ?? outcome.found });
  };
  // Until a whole pass finds nothing to do: threads may be tagged, or written again, while it goes on.
  let isLeft: boolean;
  let isDone: boolean;
  do {
    isDone = true;
    isLeft = false;
    for await (const batch of batchesOf(selected(tier, selection, outcomes))) {
      const open = batch.filter(
        (threadId) =>
          (tries.get(threadId) ?? 0) < (dryRun ? 1 : mostTries) &&
          (outcomes.has(threadId) || outcomes.size + batch.indexOf(threadId) < limit),
      );
      isLeft ||= open.length < batch.length;
      isDone &&= open.length === 0;
      await Promise.all(open.map(work));
    }
  } while (!isDone && !dryRun);
  const threads = [...outcomes.values()];
  return {
    complete: !dryRun && !isLeft && threads.every(({ verified }) => verified),
    threads,
    remains: layers.flatMap(({ tier: { name, remains = [] } }) =>
      remains.map((remainder) => ({ tier: name, ...remainder })),
    ),
  };
}

/** Threads that are selected now; of those named by their ids, the ones that aren't known to be gone. */
async function* selected(
  tier: Tier,
  selection: ReturnType<typeof checkSelection>,
  outcomes: ReadonlyMap<string, DeletedThread>,
): AsyncGenerator<string> {
  if ("tags" in selection) {
    for await (const { threadId } of tier.threads({ tags: selection.tags })) yield threadId;
    return;
  }
  for (const threadId of new Set(selection.threadIds))
    if (outcomes.get(threadId)?.verified !== true) yield threadId;
}

async function* batchesOf(ids: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const id of ids) {
    batch.push(id);
    if (batch.length < atOnce) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function looked(layers: readonly StackLayer[], threadId: string): Promise<DeletedThread> {
  const found = await holdings(layers, threadId);
  return { threadId, found: found.map(told), verified: false, reason: "A dry run deletes nothing." };
}

async function deleted(
  layers: readonly StackLayer[],
  threadId: string,
  deleteThread: (threadId: string) => Promise<void>,
): Promise<DeletedThread> {
  const found = (await holdings(layers, threadId)).map(told);
  try {
    await deleteThread(threadId);
  } catch (error) {
    return { threadId, found, verified: false, reason: `The deletion failed: ${messageOf(error)}` };
  }
  const left = (await holdings(layers, threadId)).filter(({ isEmpty }) => !isEmpty);
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

async function holdings(
  layers: readonly StackLayer[],
  threadId: string,
): Promise<Awaited<ReturnType<typeof holdingOf>>[]> {
  return await Promise.all(layers.map((layer) => holdingOf(layer, threadId)));
}

function told({ isEmpty: _isEmpty, ...holding }: Awaited<ReturnType<typeof holdingOf>>): Holding {
  return holding;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
