import type { RunnableConfig } from "@langchain/core/runnables";
import { StaleReadError, StratigraphError } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";
import type { Observations } from "./observations.ts";
import type { ParentCache } from "./parentCache.ts";

/** How often a write is tried on a thread that is pruned again and again. */
const attempts = 8;

/**
 * Tells a write, once it is encoded, which revision to send as `seen`.
 * @param relies whether it needs blobs that it doesn't carry
 * @throws StaleReadError where the thread was forgotten while the write was encoded: it begins anew
 */
export type SeenRevision = (relies: boolean) => number | undefined;

/** Repeats writes that used what a saver remembers of a thread, and that isn't so any more. */
export class StaleRetry {
  readonly #tier: Tier;
  readonly #parents: ParentCache;
  readonly #observations: Observations;
  readonly #forget: (threadId: string) => void;

  /** @param forget forgets all that the saver remembers of a thread */
  constructor(
    tier: Tier,
    parents: ParentCache,
    observations: Observations,
    forget: (threadId: string) => void,
  ) {
    this.#tier = tier;
    this.#parents = parents;
    this.#observations = observations;
    this.#forget = forget;
  }

  /**
   * Runs `write`, and repeats it from the beginning in two cases. The thread was pruned since it was read: up to eight times, as
   * another write under way may bring back what was remembered before. Or what is remembered is from before the thread was
   * deleted and begun anew: once.
   */
  async run<T>(
    config: RunnableConfig,
    threadId: string,
    write: (seenRevision: SeenRevision) => Promise<T>,
  ): Promise<T> {
    let read: number | undefined;
    let [usesMemory, wasDeleted] = [false, false];
    let generation = 0;
    let outdated: unknown;
    const seenRevision = (relies: boolean): number | undefined => {
      // What was encoded may rely on what was remembered before, and what is remembered now is of a later revision.
      if (relies && this.#parents.generation(threadId) !== generation)
        throw (outdated = new StaleReadError(threadId));
      // What a repetition reads must not make a late writer look timely.
      if (!wasDeleted) read = this.#observations.revision(config, threadId);
      const oldest = relies ? this.#parents.oldestRevision(threadId, read) : read;
      usesMemory = oldest !== read;
      return oldest;
    };
    for (let attempt = 1; ; attempt += 1) {
      generation = this.#parents.generation(threadId);
      try {
        return await write(seenRevision);
      } catch (error) {
        // The tier wasn't asked: only it can tell whether the thread was pruned or deleted.
        if (error === outdated && attempt < attempts) continue;
        const wasPruned = StratigraphError.is(error, "STALE_READ") && attempt < attempts;
        const mayBeNew = usesMemory && !wasDeleted && StratigraphError.is(error, "THREAD_DELETED");
        if (!wasPruned && !mayBeNew) throw error;
        // Where another call forgot the thread already, writes that use what was read since must not have to begin anew, too.
        if (this.#parents.generation(threadId) === generation) this.#forget(threadId);
        if (mayBeNew) {
          wasDeleted = true;
          continue;
        }
        const { revision } = await this.#tier.peek({ threadId, namespace: "" });
        this.#observations.caughtUp(config, threadId, revision);
        read = this.#observations.revision(config, threadId);
      }
    }
  }
}
