import type { RunnableConfig } from "@langchain/core/runnables";
import { CheckpointConflictError, StratigraphError } from "../contract/errors.ts";
import type { Address, Tier } from "../contract/tier.ts";
import type { Observations } from "./observations.ts";

/** How often a write is tried at most, if the thread is pruned again and again. */
const attempts = 8;

/** A write of a checkpoint, or of its pending writes. */
export interface RetriedWrite {
  readonly at: Address;
  readonly parentId?: string | undefined;
  /** Whether it continues what its writer read or stored before. */
  readonly continues: boolean;
  /** Whether it may be stored as a side branch. */
  readonly branches: boolean;
}

/** One attempt at a write. */
export interface Attempt {
  /**
   * The revision that the writer last read; with `withWrites`, the one that its own pending writes must have made since. Ask once the write
   * is encoded: encoding may read.
   */
  readonly seen: (withWrites?: boolean) => number | undefined;
  /** Whether the storage lost what the writer continued: then the write must not move a head. */
  readonly lost: boolean;
}

/** Repeats writes that a tier refused as stale: the thread was pruned since it was read, or the storage was restored to an older state. */
export class StaleRetry {
  readonly #tier: Tier;
  readonly #observations: Observations;
  readonly #forget: (threadId: string) => void;

  /** @param forget forgets all that the saver remembers of a thread */
  constructor(tier: Tier, observations: Observations, forget: (threadId: string) => void) {
    this.#tier = tier;
    this.#observations = observations;
    this.#forget = forget;
  }

  /**
   * Calls `attempt`, and again from the beginning if a tier refused the write as stale: up to eight times, because the thread may be
   * pruned again and again.
   * @throws CheckpointConflictError if the storage was restored to a state older than what the writer last read, unless the write may be
   * stored as a side branch
   */
  async run<T>(
    config: RunnableConfig,
    write: RetriedWrite,
    attempt: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const { threadId, namespace } = write.at;
    let seen: number | undefined;
    let lost = false;
    this.#observations.writes(threadId);
    for (let count = 1; ; count += 1) {
      try {
        return await attempt({
          seen: (withWrites) => (seen = this.#observations.revision(config, threadId, withWrites)),
          lost,
        });
      } catch (error) {
        if (!StratigraphError.is(error, "STALE_READ") || count === attempts) throw error;
        this.#forget(threadId);
        const { revision, head } = await this.#tier.peek({ threadId, namespace });
        const wentBackTo = error.data["revision"] as number | undefined;
        if (wentBackTo !== undefined) {
          if (write.continues && (head === undefined || !write.branches))
            throw wentBack(write, head, seen, wentBackTo);
          this.#observations.wentBack(threadId, revision);
          lost ||= write.continues;
        }
        this.#observations.caughtUp(config, threadId, revision);
      }
    }
  }
}

function wentBack(
  { at, parentId }: RetriedWrite,
  head: string | undefined,
  seen: number | undefined,
  revision: number,
): CheckpointConflictError {
  const { threadId, namespace, checkpointId } = at;
  return new CheckpointConflictError(
    { ...at, parentId, head, expected: [], seen, revision },
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: the storage went back from revision ${String(seen)} to ` +
      `${revision} while this writer worked, as after a failover to a replica that lagged, or when a backup was restored. What was ` +
      `acknowledged in between is lost, and nothing of checkpoint ${checkpointId} was stored. Read the thread again and repeat: a run ` +
      `that begins now goes on from what is there.`,
  );
}
