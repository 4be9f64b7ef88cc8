import type { Tier } from "../contract/tier.ts";
import { StratigraphError } from "../contract/errors.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";

/** Takes away what calls of runs said and got, before the runs' checkpoints are removed. */
export type ForgetRuns = (threadId: string, runIds: ReadonlySet<string>) => Promise<void>;

/** Why a journal says that it forgot a call whose run was deleted. Copies of the journal are read by it. */
export const runDeleted = "its run was deleted";

/** One key for the process, also if core is loaded twice. */
const key = Symbol.for("stratigraph.deletedRuns");
const global = globalThis as { [key]?: WeakMap<object, ForgetRuns> | undefined };

/** Core can't read entries about calls. Whoever can says so here, and is told before runs are deleted by a saver. */
export function onDeletedRuns(saver: object, forget: ForgetRuns): void {
  (global[key] ??= new WeakMap()).set(saver, forget);
}

/** @throws StratigraphError "MISCONFIGURED" if a thread has calls, and nobody can take them away: nothing was removed then */
export async function forgetRunsCalls(
  saver: { readonly tier: Tier },
  threadIds: Iterable<string>,
  runIds: readonly string[],
): Promise<void> {
  const forget = global[key]?.get(saver);
  for (const threadId of threadIds) {
    const { head } = await saver.tier.peek({ threadId, namespace: reservedNamespaces.calls });
    if (head === undefined) continue;
    if (forget === undefined)
      throw new StratigraphError(
        "MISCONFIGURED",
        `The thread ${JSON.stringify(threadId)} has a journal, and only a journal can erase what the runs' calls said and got. Nothing was deleted. ` +
          "Make one on this checkpointer before: createJournal(checkpointer), with the application's sign.",
        { threadId },
      );
    await forget(threadId, new Set(runIds));
  }
}
