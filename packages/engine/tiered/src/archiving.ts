import type { KeepRule, MaintenanceStep, StepOutcome, ThreadInfo, Tier } from "@stratigraph/core";
import {
  PruneWalk,
  ThreadWalk,
  deletesUnchanged,
  pruneThread,
  readInParts,
  stepOf,
  type Batch,
  type BlobCheck,
  type RetentionParts,
} from "@stratigraph/core/internal";
import { archiveThread, type ArchivedCopy } from "./archiveThread.ts";
import { markArchived, unmark } from "./archivedMark.ts";
import type { ResolvedArchiving } from "./archivingOptions.ts";
import { deleteCopy, lifeOf } from "./life.ts";
import { DueDeletions } from "./dueDeletions.ts";
import { moveToArchive } from "./moveToArchive.ts";
import type { TierStack } from "./tierStack.ts";

/** What archiving needs. */
export interface ArchivingParts extends Omit<RetentionParts, "tier"> {
  readonly stack: TierStack;
  readonly warm: Tier;
  readonly cold: Tier;
  readonly archiving: ResolvedArchiving;
}

/**
 * Moves idle threads from the warm tier to the cold one. It copies a thread, reads the copy back, and only then lets the warm tier
 * drop the thread, if it hasn't changed meanwhile. If the process dies at any point, nothing is lost or duplicated, and the next run
 * continues.
 */
export class Archiving {
  readonly #parts: ArchivingParts;
  readonly #dueDeletions: DueDeletions;
  readonly #idle: ThreadWalk;
  readonly #inUse: PruneWalk;
  readonly #check: BlobCheck = (hash, blobs) => this.#parts.coder.blobs.payload(hash, blobs);

  constructor(parts: ArchivingParts) {
    const { warm, cold, coder, archiving, retention, now } = parts;
    this.#parts = parts;
    this.#dueDeletions = new DueDeletions(warm, cold, archiving.deleteArchivedAfterMs, now);
    this.#idle = new ThreadWalk(warm);
    this.#inUse = new PruneWalk(warm, coder, retention, now);
  }

  /** Finishes deletions whose process died half-way, and deletes archived threads after `deleteArchivedAfter`. */
  async *finishDeletions({ dryRun, onDamaged }: Batch): AsyncGenerator<MaintenanceStep> {
    for await (const { why, threadId, leftAt } of this.#dueDeletions.threads(onDamaged)) {
      const what = why === "deleted" ? "finish-deletion" : "delete";
      const step = await stepOf({ what, threadId }, async () => {
        if (dryRun) return { done: false };
        if (why === "expired") return { done: await this.#expire(threadId, leftAt) };
        return { done: await deleteCopy(this.#parts.cold, threadId, leftAt) };
      });
      if (!step.done) this.#dueDeletions.repeat();
      yield step;
    }
  }

  /** Deletes only the archive of a thread in use, but an idle thread as a whole, unless somebody is writing to it right now. */
  async #expire(threadId: string, leftAt: number): Promise<boolean> {
    const { warm, cold, stack, forget } = this.#parts;
    const { revision, checkpoint } = await warm.read({ threadId, namespace: "" });
    // What was archived since hasn't expired. An archiver brings its copy before it changes the warm tier.
    if ((await cold.peek({ threadId, namespace: lifeOf })).revision !== leftAt) return false;
    const isIdle = checkpoint === undefined && revision > 0;
    if (!isIdle) {
      if (!(await deleteCopy(cold, threadId, leftAt))) return false;
      if (revision > 0) await unmark(warm, threadId, revision);
    } else if (!deletesUnchanged(stack) || !(await stack.deleteUnchanged(threadId, revision))) return false;
    forget(threadId);
    return true;
  }

  /** Moves threads that are idle. */
  async *archive(batch: Batch): AsyncGenerator<MaintenanceStep> {
    const { archiveAfterMs, parallel } = this.#parts.archiving;
    if (archiveAfterMs === undefined) return;
    const query = { writtenBeforeMs: this.#parts.now() - archiveAfterMs, includeEvicted: false };
    let together: ThreadInfo[] = [];
    for await (const thread of this.#idle.next(query, batch)) {
      together.push(thread);
      if (together.length < parallel) continue;
      yield* await this.#archived(together, batch);
      together = [];
    }
    yield* await this.#archived(together, batch);
  }

  async #archived(threads: readonly ThreadInfo[], { dryRun }: Batch): Promise<MaintenanceStep[]> {
    return await Promise.all(
      threads.map(({ threadId }) =>
        stepOf({ what: "archive", threadId }, async () => {
          if (dryRun) return await this.#planned(threadId);
          return (await moveToArchive(this.#parts, threadId, this.#check)) ?? { done: false };
        }),
      ),
    );
  }

  /** Moves old checkpoints of threads in use. */
  trim(batch: Batch): AsyncIterable<MaintenanceStep | undefined> {
    const { warm, coder } = this.#parts;
    return this.#inUse.steps(batch, "trim", async (threadId, rule) => {
      const { checkpoints } = await pruneThread(warm, coder, threadId, rule, { dryRun: true });
      if (checkpoints === 0) return undefined;
      if (batch.dryRun) return await this.#planned(threadId);
      const copy = await this.#copy(threadId);
      if (copy === undefined || copy === "overtaken") return { done: false };
      const { checkpoints: copied, bytes } = copy;
      return { checkpoints: copied, bytes, done: await this.#prune(threadId, copy, rule) };
    });
  }

  /** Prunes the thread in the warm tier, if it hasn't changed since it was copied. */
  async #prune(threadId: string, copy: ArchivedCopy, rule: KeepRule): Promise<boolean> {
    const { warm, coder, stack, forget } = this.#parts;
    const revision = await markArchived(warm, threadId, copy.revision, copy.copiedAt);
    if (revision === undefined) return false;
    const { done } = await pruneThread(warm, coder, threadId, rule, { revision });
    if (!done) return false;
    forget(threadId);
    await stack.dropCopies(threadId);
    return true;
  }

  async #copy(threadId: string): Promise<ArchivedCopy | "overtaken" | undefined> {
    const { warm, cold, stack } = this.#parts;
    await stack.restoreWritten(threadId);
    return await archiveThread(warm, cold, threadId, this.#check);
  }

  async #planned(threadId: string): Promise<StepOutcome> {
    const { keys, bytes } = (await readInParts(this.#parts.warm, threadId)) ?? { keys: new Set(), bytes: 0 };
    return { checkpoints: keys.size, bytes, done: false };
  }
}
