import { setTimeout as sleep } from "node:timers/promises";
import {
  StratigraphError,
  TierSaver,
  readThread,
  trace,
  type CheckpointCoder,
  type CheckpointRecord,
  type SaverOptions,
  type ThreadInfo,
  type Tier,
} from "@stratigraph/core";
import { archiveThread, sizeOf, type ArchivedCopy } from "./archiveThread.ts";
import { markArchived } from "./archivedMark.ts";
import { Lease } from "./lease.ts";
import type { MaintainOptions, ResolvedMaintenance } from "./maintenanceOptions.ts";
import { reasonOf } from "./outage.ts";
import { Sweep } from "./sweep.ts";

/** What maintenance works on. */
export interface MaintenanceParts {
  readonly warm: Tier;
  readonly cold: Tier;
  readonly coder: CheckpointCoder;
  /** For pruning the warm tier as the saver would. */
  readonly saverOptions: SaverOptions;
  /** As the stack's: takes the hot tiers' copies away, too. */
  readonly evict: Tier["evict"];
  /** Deletes a thread from every tier. */
  readonly deleteThread: (threadId: string) => Promise<void>;
  /** Brings archived checkpoints that were written on since back into the warm tier. */
  readonly restoreWritten: (threadId: string) => Promise<void>;
  /** Takes the hot tiers' copies of a thread away. */
  readonly dropCopies: (threadId: string) => Promise<void>;
  readonly now: () => number;
}

/** What was done, or would be, with one thread. */
export interface MaintenanceStep {
  readonly what: "archive" | "trim" | "delete" | "finish-deletion";
  readonly threadId: string;
  /** Checkpoints copied to the cold tier. */
  readonly checkpoints?: number | undefined;
  /** Bytes copied to the cold tier, as they are in the warm one. */
  readonly bytes?: number | undefined;
  /** False where the thread was written to meanwhile, and stays. */
  readonly done: boolean;
  /** Why it failed; the next maintenance tries again. */
  readonly error?: unknown;
}

/** Answer of `maintain`. */
export interface MaintenanceReport {
  /** False where another process was at it. */
  readonly ran: boolean;
  readonly steps: readonly MaintenanceStep[];
  /** Sum of the steps' bytes. */
  readonly bytes: number;
}

const leaseName = "maintenance";
/** How long after a process died another one may take over. Milliseconds. */
const leaseMs = 60_000;
/** Rest after a thread, as a multiple of the time it took, and at most: a large one mustn't stop the others for minutes. */
const restPerWork = 9;
const longestRestMs = 10_000;

/**
 * Moves what is idle from the warm tier to the cold one: copies, reads back, and only then lets the warm tier drop it, if the
 * thread hasn't changed since. May die at any point: nothing is lost or doubled, and the next one goes on.
 */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #options: ResolvedMaintenance;
  readonly #sweep: Sweep;
  /** Threads written before this were looked at for trimming. */
  #trimmedBeforeMs = 0;

  constructor(parts: MaintenanceParts, options: ResolvedMaintenance) {
    this.#parts = parts;
    this.#options = options;
    this.#sweep = new Sweep(parts.warm, parts.cold, options.retainMs, parts.now);
  }

  /** One batch. `dryRun` only tells what it would do. `signal` ends it after the thread under way. */
  async run({ dryRun = false, signal }: MaintainOptions = {}): Promise<MaintenanceReport> {
    const lease = new Lease(this.#parts.warm, leaseName, leaseMs);
    if (!dryRun && !(await lease.take())) return { ran: false, steps: [], bytes: 0 };
    const steps: MaintenanceStep[] = [];
    const stopped = (): boolean => signal?.aborted === true;
    let beganMs = performance.now();
    try {
      for await (const step of this.#steps(dryRun)) {
        const tookMs = performance.now() - beganMs;
        steps.push(step);
        const { what, threadId, ...data } = step;
        if (!dryRun) trace({ type: "maintenance", what, threadId, data });
        if (stopped() || isDown(step.error)) break;
        if (dryRun) continue;
        await this.#rest(tookMs, signal);
        beganMs = performance.now();
        if (!lease.held || stopped()) break;
      }
    } finally {
      if (!dryRun) await lease.giveBack();
    }
    return { ran: true, steps, bytes: steps.reduce((sum, { bytes = 0 }) => sum + bytes, 0) };
  }

  /** So that maintenance works a tenth of the time, whatever the machine does besides. */
  async #rest(tookMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { pauseMs } = this.#options;
    const restMs = pauseMs === 0 ? 0 : Math.max(pauseMs, Math.min(longestRestMs, tookMs * restPerWork));
    await sleep(restMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }

  async *#steps(dryRun: boolean): AsyncGenerator<MaintenanceStep> {
    yield* this.#swept(dryRun);
    let left = this.#options.batch;
    for await (const step of this.#archive(dryRun, left)) {
      left -= 1;
      yield step;
    }
    if (left > 0) yield* this.#trim(dryRun, left);
  }

  /** Finishes deletions that died half-way, and deletes what was kept long enough. */
  async *#swept(dryRun: boolean): AsyncGenerator<MaintenanceStep> {
    for await (const { why, threadId } of this.#sweep.threads()) {
      const what = why === "deleted" ? "finish-deletion" : "delete";
      const step = await this.#step(what, threadId, dryRun, async () => {
        await (why === "deleted" ? this.#parts.cold.deleteThread(threadId) : this.#expire(threadId));
        return {};
      });
      if (!step.done) this.#sweep.owe();
      yield step;
    }
  }

  /** A thread in use keeps what the warm tier has of it. */
  async #expire(threadId: string): Promise<void> {
    const { warm, cold, deleteThread } = this.#parts;
    const { revision, checkpoint } = await warm.read({ threadId, namespace: "" });
    if (checkpoint === undefined && revision > 0) await deleteThread(threadId);
    else await cold.deleteThread(threadId);
  }

  async *#archive(dryRun: boolean, limit: number): AsyncGenerator<MaintenanceStep> {
    const { archiveAfterMs, parallel } = this.#options;
    if (archiveAfterMs === undefined) return;
    const { warm, now, evict } = this.#parts;
    const query = { writtenBeforeMs: now() - archiveAfterMs, includeEvicted: false, limit };
    const idle = await collected(warm.threads(query));
    for (let at = 0; at < idle.length; at += parallel) {
      yield* await Promise.all(
        idle.slice(at, at + parallel).map(({ threadId }) =>
          this.#step("archive", threadId, dryRun, async () => {
            if (dryRun) return await this.#planned(threadId);
            const copy = await this.#copy(threadId);
            const revision = copy && (await markArchived(warm, threadId, copy.revision));
            const done = revision !== undefined && (await evict(threadId, revision));
            return { ...copy, done };
          }),
        ),
      );
    }
  }

  async *#trim(dryRun: boolean, limit: number): AsyncGenerator<MaintenanceStep> {
    const { keepLast, trimAfterMs } = this.#options;
    if (keepLast === undefined && trimAfterMs === undefined) return;
    const { warm, now } = this.#parts;
    const begin = now();
    let left = limit;
    for (const { threadId, writtenAtMs } of await collected(
      warm.threads({ order: "newest", includeEvicted: false }),
    )) {
      // To the minute is how exactly tiers know when a thread was written.
      if (trimAfterMs === undefined && writtenAtMs < this.#trimmedBeforeMs - 60_000) break;
      const keep = await this.#kept(threadId);
      if (keep === undefined) continue;
      if (left === 0) return;
      left -= 1;
      yield await this.#step("trim", threadId, dryRun, async () => {
        if (dryRun) return await this.#planned(threadId);
        const copy = await this.#copy(threadId);
        return copy === undefined
          ? { done: false }
          : { ...copy, done: await this.#prune(threadId, copy, keep) };
      });
    }
    if (!dryRun) this.#trimmedBeforeMs = begin;
  }

  /** How many checkpoints of a thread stay; undefined where all do. */
  async #kept(threadId: string): Promise<number | undefined> {
    const { warm } = this.#parts;
    const { keepLast = 1, trimAfterMs } = this.#options;
    let keep = 0;
    // Newest first: what is neither among the last nor young enough ends it.
    for await (const { record } of warm.list({ threadId, namespace: "", recordsOnly: true })) {
      const stays =
        keep < keepLast || (trimAfterMs !== undefined && (await this.#isYoung(record, trimAfterMs)));
      if (!stays) return keep;
      keep += 1;
    }
    return undefined;
  }

  async #isYoung(record: CheckpointRecord, trimAfterMs: number): Promise<boolean> {
    const { header } = await this.#parts.coder.decodeBody(record);
    return Date.parse(header.ts) >= this.#parts.now() - trimAfterMs;
  }

  /** Prunes the warm tier, if it still is what was copied. */
  async #prune(threadId: string, copy: ArchivedCopy, keepLast: number): Promise<boolean> {
    const { warm, saverOptions, dropCopies } = this.#parts;
    const revision = await markArchived(warm, threadId, copy.revision);
    if (revision === undefined) return false;
    const changed = new Error("the thread was written to meanwhile");
    const asCopied = new Proxy(warm, {
      get: (tier, name) => {
        if (name === "remove") {
          return async (request: Parameters<Tier["remove"]>[0]): Promise<boolean> => {
            if (request.revision === revision && (await tier.remove(request))) return true;
            throw changed;
          };
        }
        const value: unknown = Reflect.get(tier, name, tier);
        return typeof value === "function" ? value.bind(tier) : value;
      },
    });
    try {
      await new TierSaver(asCopied, saverOptions).prune([threadId], { strategy: "keep_latest", keepLast });
    } catch (error) {
      if (error === changed) return false;
      throw error;
    }
    await dropCopies(threadId);
    return true;
  }

  async #copy(threadId: string): Promise<ArchivedCopy | undefined> {
    const { warm, cold, coder, restoreWritten } = this.#parts;
    await restoreWritten(threadId);
    return await archiveThread(warm, cold, threadId, (hash, blobs) => coder.values.payload(hash, blobs));
  }

  async #planned(threadId: string): Promise<Partial<MaintenanceStep>> {
    const contents = await readThread(this.#parts.warm, threadId);
    return { checkpoints: contents.records.length, bytes: sizeOf(contents) };
  }

  /** One thread's failure doesn't end the batch. */
  async #step(
    what: MaintenanceStep["what"],
    threadId: string,
    dryRun: boolean,
    work: () => Promise<{ checkpoints?: number | undefined; bytes?: number | undefined; done?: boolean }>,
  ): Promise<MaintenanceStep> {
    if (dryRun && (what === "delete" || what === "finish-deletion")) return { what, threadId, done: false };
    try {
      const { checkpoints, bytes, done = !dryRun } = await work();
      return { what, threadId, checkpoints, bytes, done };
    } catch (error) {
      return {
        what,
        threadId,
        done: false,
        error: error instanceof Error ? error : new Error(reasonOf(error)),
      };
    }
  }
}

/** The archive, or the warm tier, can't be reached: the other threads of the batch wait as well. */
function isDown(error: unknown): boolean {
  return StratigraphError.is(error, "ARCHIVE_UNAVAILABLE") || StratigraphError.is(error, "UNAVAILABLE");
}

async function collected(threads: AsyncIterable<ThreadInfo>): Promise<ThreadInfo[]> {
  const all: ThreadInfo[] = [];
  for await (const thread of threads) all.push(thread);
  return all;
}
