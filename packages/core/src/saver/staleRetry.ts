import type { RunnableConfig } from "@langchain/core/runnables";
import { StaleReadError, StratigraphError } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";
import type { Observations } from "./observations.ts";
import type { ParentCache } from "./parentCache.ts";

/** How often a write is tried at most, if the thread is pruned again and again. */
const attempts = 8;

/**
 * The revision that a write is to send as `seen`. Call it once the write is encoded.
 * @param relies whether the write needs blobs that it doesn't carry
 * @throws StaleReadError if the thread was forgotten while the write was encoded, so that it must begin anew
 */
export type SeenRevision = (relies: boolean) => number | undefined;

/** Repeats writes that relied on what a saver remembers of a thread, when that turns out to be outdated. */
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
   * Runs `write`, and repeats it from the beginning in two cases. If the thread was pruned since it was read, it is tried up to
   * eight times, because other writes under way may bring back outdated memories. If what is remembered is from before the thread
   * was deleted and begun anew, it is repeated once.
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
      // The write was encoded with what was remembered before, but what is remembered now is of a later revision.
      if (relies && this.#parents.generation(threadId) !== generation)
        throw (outdated = new StaleReadError(threadId));
      // What is read during a repetition must not make a late writer look timely.
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
        // The tier hasn't been asked yet, and only it knows whether the thread was pruned or deleted.
        if (error === outdated && attempt < attempts) continue;
        const wasPruned = StratigraphError.is(error, "STALE_READ") && attempt < attempts;
        const mayBeNew = usesMemory && !wasDeleted && StratigraphError.is(error, "THREAD_DELETED");
        if (!wasPruned && !mayBeNew) throw error;
        // If another call forgot the thread already, forgetting it again would outdate the writes that have begun since.
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
