import type { StratigraphError } from "@stratigraph/core";
import type { MixedUp, Plan } from "../contract/source.ts";
import { counted } from "./erasures.ts";

/** The progress of a copy. */
export interface CopyProgress {
  /** Threads that are done. */
  readonly threads: number;
  /** Checkpoints that are done. */
  readonly checkpoints: number;
  /** The current thread. */
  readonly threadId: string;
  readonly plan: Plan;
}

/** Options of every copy. */
export interface CopyOptions {
  /** Only these threads. Default: all. One that the source doesn't have is a difference. */
  readonly threadIds?: readonly string[] | undefined;
  /** Continue after this thread: the `cursor` of an earlier report. It only saves time: what was copied before is recognised anyway. */
  readonly after?: string | undefined;
  /** Whether everything is read back and compared as decoded values. Default true. */
  readonly verify?: boolean | undefined;
  /** Ends the copy after the current thread; the report then has a cursor. */
  readonly signal?: AbortSignal | undefined;
  /** Called when a thread begins and ends, and every now and then in between. */
  readonly onProgress?: ((progress: CopyProgress) => void) | undefined;
}

/** A difference between a thread in the target and in the source, and why. */
export interface Difference {
  readonly threadId: string;
  readonly namespace?: string | undefined;
  readonly checkpointId?: string | undefined;
  readonly what: string;
}

/** What a copy did. */
export interface CopyReport {
  /** Whether every thread was processed; false if the signal ended the copy. */
  readonly complete: boolean;
  /** Threads that were processed. */
  readonly threads: number;
  /** Threads that had nothing left to copy. */
  readonly skipped: number;
  /**
   * Checkpoints that were copied. Those that another process copied meanwhile aren't counted, unless both wrote them at the same
   * instant.
   */
  readonly checkpoints: number;
  /** Pending writes that were copied, counted in the same way. */
  readonly writes: number;
  /** Checkpoints that the target can't hold: side branches, if the target is a saver without them. */
  readonly leftOut: number;
  /** Threads of which the target can't hold something else, and what: calls, events, tags. At most 1000 are listed. */
  readonly notHeld: readonly Difference[];
  /** Threads of which the source had erased something since an earlier copy, and what this copy erased in the target. At most 1000. */
  readonly erased: readonly Difference[];
  /** Whether the copies were compared with the originals. */
  readonly verified: boolean;
  /** Branches that the source itself had mixed up. They are copied as the source reads them. */
  readonly mixedUp: readonly MixedUp[];
  /** Threads that both the target and the source have continued since an earlier copy. They stay unchanged in the target. */
  readonly diverged: readonly string[];
  /** Differences between the target and the source. Empty if all is well. At most 1000 are listed. */
  readonly differences: readonly Difference[];
  /**
   * Where to continue if the copy isn't complete. Absent if an incomplete copy leaves nothing behind, as with a file: begin anew.
   * Everything else in such a report is zero or empty.
   */
  readonly cursor?: string | undefined;
}

/** How many differences, and how many mixed-up branches, a report lists at most. */
const mostListed = 1000;

/** Adds up the numbers of a report. */
export class Tally {
  readonly plan: Plan;
  readonly #verified: boolean;
  readonly #onProgress: CopyOptions["onProgress"];
  readonly #mixedUp: MixedUp[] = [];
  readonly #differences: Difference[] = [];
  readonly #diverged: string[] = [];
  readonly #notHeld: Difference[] = [];
  readonly #erased: Difference[] = [];
  #threads = 0;
  #skipped = 0;
  #copied = 0;
  #checkpoints = 0;
  #writes = 0;
  #leftOut = 0;
  #last: string | undefined;

  constructor(plan: Plan, { verify = true, onProgress, after }: CopyOptions) {
    this.plan = plan;
    this.#verified = verify;
    this.#onProgress = onProgress;
    this.#last = after;
  }

  begin(threadId: string): void {
    this.#tell(threadId);
  }

  /** Notes a copied checkpoint. */
  checkpoint(threadId: string): void {
    this.#copied += 1;
    if (this.#copied % 100 === 0) this.#tell(threadId);
  }

  mixedUp(found: readonly MixedUp[]): void {
    this.#mixedUp.push(...found.slice(0, mostListed - this.#mixedUp.length));
  }

  differs(found: readonly Difference[]): void {
    this.#differences.push(...found.slice(0, mostListed - this.#differences.length));
  }

  notHeld(threadId: string, what: readonly string[]): void {
    if (what.length > 0 && this.#notHeld.length < mostListed)
      this.#notHeld.push({ threadId, what: what.join(", ") });
  }

  /** @param entries how many entries of the thread's journal lost values */
  erased(threadId: string, entries = 0): void {
    if (entries > 0 && this.#erased.length < mostListed)
      this.#erased.push({ threadId, what: counted(entries) });
  }

  /** Notes a thread that both sides have continued, and that was left unchanged. */
  diverged(threadId: string): void {
    this.#diverged.push(threadId);
    this.#passed(threadId);
  }

  /** Notes a thread that couldn't be copied. */
  failed(threadId: string, error: StratigraphError): void {
    const { namespace, checkpointId, what = error.message } = error.data as Partial<Difference>;
    const place = checkpointId === undefined ? {} : { namespace, checkpointId };
    this.differs([{ threadId, ...place, what: `the thread wasn't copied: ${what}` }]);
    this.#passed(threadId);
  }

  /** Notes threads that couldn't be copied, as what names them is damaged. */
  unnamed(errors: readonly StratigraphError[]): void {
    this.differs(errors.map(({ message }) => ({ threadId: "", what: `a thread wasn't copied: ${message}` })));
  }

  /** Notes a thread that was named, and that the source doesn't have. */
  missing(threadId: string): void {
    this.differs([{ threadId, what: "the source has no such thread" }]);
    this.#passed(threadId);
  }

  /** Notes that a thread is done. */
  end(threadId: string, done: { checkpoints: number; writes: number; leftOut?: number }): void {
    if (done.checkpoints + done.writes === 0) this.#skipped += 1;
    this.#checkpoints += done.checkpoints;
    this.#writes += done.writes;
    this.#leftOut += done.leftOut ?? 0;
    this.#passed(threadId);
  }

  report(complete: boolean): CopyReport {
    return {
      complete,
      threads: this.#threads,
      skipped: this.#skipped,
      checkpoints: this.#checkpoints,
      writes: this.#writes,
      leftOut: this.#leftOut,
      notHeld: this.#notHeld,
      erased: this.#erased,
      verified: this.#verified,
      mixedUp: this.#mixedUp,
      diverged: this.#diverged,
      differences: this.#differences,
      ...(complete || this.#last === undefined ? {} : { cursor: this.#last }),
    };
  }

  /** The report of an interrupted copy that left nothing behind. */
  nothing(): CopyReport {
    const counts = { threads: 0, skipped: 0, checkpoints: 0, writes: 0, leftOut: 0 };
    const lists = { notHeld: [], erased: [], mixedUp: [], diverged: [], differences: [] };
    return { complete: false, ...counts, verified: false, ...lists };
  }

  #passed(threadId: string): void {
    this.#threads += 1;
    this.#last = threadId;
    this.#tell(threadId);
  }

  #tell(threadId: string): void {
    const progress = { threads: this.#threads, checkpoints: this.#copied, threadId, plan: this.plan };
    this.#onProgress?.(progress);
  }
}
