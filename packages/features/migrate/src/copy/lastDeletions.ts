import type { TierSaver } from "@stratigraph/core";
import { callsElsewhere, kept } from "../sources/openCalls.ts";
import { isOfOneThread } from "./isOfOneThread.ts";
import { changedSince } from "./moveThread.ts";
import type { Difference } from "./report.ts";

/**
 * Deletes moved threads whose journals have calls of other threads, or whose calls are in journals of others. A journal is deleted after the
 * threads that use it: those that stay would make their calls again.
 * @param allNamed false if the names of some threads are damaged: a thread that isn't found may be one of these
 * @param moved the revisions at which they were copied
 * @param deletes deletes a thread that is still at its revision
 */
export async function deleteLast(
  from: TierSaver,
  allNamed: boolean,
  moved: Map<string, number>,
  deletes: (threadId: string, revision: number) => Promise<boolean>,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  const users = await usersOf(from);
  const usersBeside = (journal: string) =>
    [...(users.get(journal) ?? [])].filter((user) => user !== journal && !moved.has(user));
  const keepsOne = async (): Promise<boolean> => {
    for (const threadId of moved.keys())
      for (const user of usersBeside(threadId))
        if (!allNamed || (await isThere(from, user))) {
          differences.push({ threadId, what: stillUsed(user) });
          return moved.delete(threadId);
        }
    return false;
  };
  while (moved.size > 0) {
    if (await keepsOne()) continue;
    const isUsed = (threadId: string) => usersBeside(threadId).length < (users.get(threadId)?.size ?? 0);
    const threadId = [...moved.keys()].find((each) => !isUsed(each)) ?? [...moved.keys()][0]!;
    if (!(await deletes(threadId, moved.get(threadId)!))) differences.push({ threadId, what: changedSince });
    moved.delete(threadId);
  }
  return differences;
}

/** The threads of which a journal has calls, by the journal. */
async function usersOf(from: TierSaver): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const users = new Map<string, Set<string>>();
  for (const [user, calls] of await callsElsewhere(from))
    for (const { journal = user } of kept(calls))
      users.set(journal, (users.get(journal) ?? new Set()).add(user));
  return users;
}

async function isThere({ tier }: TierSaver, threadId: string): Promise<boolean> {
  try {
    const { head, headless } = await tier.peek({ threadId, namespace: "" });
    return head !== undefined || headless === true;
  } catch (error) {
    if (!isOfOneThread(error)) throw error;
    return true;
  }
}

/** Why a journal isn't deleted. */
function stillUsed(user: string): string {
  return (
    `its journal has calls of thread ${JSON.stringify(user)}, which stays here and would make them again without it: ` +
    "the copy was verified, and the thread is kept here; move that thread too, or delete both when nobody goes on with it"
  );
}
