import type { TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";

interface Reflog {
  readonly lineage?: readonly { readonly threadId: string }[];
  readonly moves?: readonly { readonly sources?: readonly { readonly threadId: string }[] | undefined }[];
}

/** Undefined for a thread without a reflog, such as a deleted one. */
async function reflogOf({ tier, coder }: TierSaver, threadId: string): Promise<Reflog | undefined> {
  const { checkpoint } = await tier.read({ threadId, namespace: reservedNamespaces.reflog });
  if (checkpoint === undefined) return undefined;
  const body = await coder.decodeBody(checkpoint.record);
  const { channel_values: values } = await coder.checkpoint(checkpoint, body, {});
  return Object(values["reflog"]) as Reflog;
}

/** The threads that a thread was forked from, nearest first, according to its reflog. */
export async function originsOf(saver: TierSaver, threadId: string): Promise<string[]> {
  const { lineage = [] } = (await reflogOf(saver, threadId)) ?? {};
  return lineage.map((origin) => origin.threadId);
}

/** Whether a thread was forked from another one, or that one was merged into it, according to the storage. None of this is signed. */
async function comesFrom(saver: TierSaver, threadId: string, from: string): Promise<boolean> {
  const { lineage = [], moves = [] } = (await reflogOf(saver, threadId)) ?? {};
  if (lineage.some((origin) => origin.threadId === from)) return true;
  // A merged thread may itself have been forked from there, or have had that one merged into it. Two threads may be merged into each other.
  const merged = new Set(sourcesOf(moves));
  for (const source of merged) {
    const reflog = source === from ? undefined : await reflogOf(saver, source);
    // For a thread that is gone, this can't be determined.
    if (reflog === undefined || reflog.lineage?.some((origin) => origin.threadId === from) === true)
      return true;
    for (const earlier of sourcesOf(reflog.moves)) merged.add(earlier);
  }
  return false;
}

function sourcesOf(moves: Reflog["moves"] = []): string[] {
  return moves.flatMap(({ sources = [] }) => sources.map((source) => source.threadId));
}

/**
 * What is wrong with the last entry of a journal in a thread; undefined if nothing is.
 * @param thread the thread in which its last entries were made; undefined if there are none
 */
export async function foreign(
  saver: TierSaver,
  threadId: string,
  thread: string | undefined,
): Promise<string | undefined> {
  if (thread === undefined || thread === threadId || (await comesFrom(saver, threadId, thread)))
    return undefined;
  const [here, there] = [JSON.stringify(threadId), JSON.stringify(thread)];
  return `was made in the thread ${there}, and nothing shows that ${here} was forked from it, or that it was merged into ${here} (fork() records this when it copies a thread, copyThread() doesn't)`;
}
