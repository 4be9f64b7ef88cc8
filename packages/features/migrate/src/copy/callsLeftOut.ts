import type { ReadThroughStorage } from "@stratigraph/core/internal";
import type { CallsOfThread } from "../contract/calls.ts";
import { kept, mayBeIn, readCalls, type OpenCalls } from "../sources/openCalls.ts";
import type { Difference } from "./report.ts";

/** Tells whether the calls of threads are in the journals of a target, each of which is read once. */
export class CallsThere {
  readonly #target: ReadThroughStorage;
  readonly #journals = new Map<string, OpenCalls>();

  /** @param target after the copy */
  constructor(target: ReadThroughStorage) {
    this.#target = target;
  }

  /**
   * The differences of a thread whose calls are in journals of other threads: a journal may be there without them, or have forgotten those
   * of a run that was deleted in the source only.
   */
  async leftOut(threadId: string, calls: CallsOfThread | undefined): Promise<Difference[]> {
    const journals = new Map<string, string | undefined>();
    for (const state of kept(calls)) {
      const { journal = threadId } = state;
      const there = this.#journals.get(journal) ?? (await readCalls(this.#target, journal));
      this.#journals.set(journal, there);
      if (!there.has(state)) journals.set(journal, mayBeIn(state));
    }
    const leftOut = [...journals].map(([journal, what]) => callsIn(threadId, journal, what));
    return [...leftOut, ...(await deletedInSource(this.#target, threadId, calls))];
  }
}

/**
 * The differences of a thread that still has runs whose calls the source forgot, as it deleted the runs.
 * @param calls those of the thread that are in other journals
 */
export async function deletedInSource(
  { tier }: Pick<ReadThroughStorage, "tier">,
  threadId: string,
  calls: CallsOfThread = [],
): Promise<Difference[]> {
  const runs = new Set<string>();
  for (const { deletedRun: run, where: { checkpoint: checkpointId } = {} } of calls) {
    if (run === undefined || checkpointId === undefined || runs.has(run)) continue;
    const query = { threadId, namespace: "", checkpointId, runIds: [run], recordsOnly: true, limit: 1 };
    for await (const _ of tier.list(query)) runs.add(run);
  }
  return [...runs].map((run) => {
    const id = JSON.stringify(run);
    const what =
      `the source deleted its run ${id} and forgot the run's calls, and the copy still has the run, which would make them again: call ` +
      `deleteForRuns([${id}]) on the copy, too`;
    return { threadId, what };
  });
}

/** The other threads that have calls in a journal. A deletion of the journal would take them away. */
export async function usersOf(storage: ReadThroughStorage, journal: string): Promise<readonly string[]> {
  const others = (await readCalls(storage, journal)).ofOthers();
  return [...others].filter(([, calls]) => kept(calls).length > 0).map(([user]) => user);
}

/** The advice to delete a thread here. @param users those that its journal is for, too */
export function deletion(users: readonly string[]): string {
  if (users.length === 0) return "delete it here";
  const named = users.slice(0, 3).map((user) => JSON.stringify(user));
  const more = users.length > named.length ? `, and ${users.length - named.length} more` : "";
  return (
    `its journal here has calls of ${named.join(", ")}${more}, which would be made again without it: when none of these threads goes on ` +
    `any more, delete it here`
  );
}

/** The difference of a thread whose calls are in a journal that the target doesn't have. */
export function callsIn(threadId: string, journal: string, why?: string): Difference {
  const what =
    why ??
    `its calls are in the journal of ${JSON.stringify(journal)}, and not all of them are in that of the copy: without them they would be ` +
      `made again`;
  return { threadId, what };
}
