import { StratigraphError, type Tier, type TierSaver } from "@stratigraph/core";
import { inParallel } from "@stratigraph/core/internal";
import { answerTo, type ErrorBody } from "./errors.ts";

/** How many threads are read at the same time at most. */
const mostAtOnce = 8;

/** How many threads of the last minute are read at most: as many as the list shows at first. */
const mostNewest = 50;

/** After each look that failed, the wait grows by the usual wait, up to this many times the usual wait. */
const slowest = 5;

/** A listener, and the events that it gets. */
export interface Listener {
  readonly threads: readonly string[];
  /** A thread that it watches has another revision. `isFirst`: it is the first report of this thread. */
  revision(thread: string, revision: string, isFirst: boolean): void;
  /** A thread was written, so the list of the newest ones has changed. Absent: it isn't asked for. */
  newest?(): void;
  /** The storage can't be reached or, without an error, can be. Called after the first look, and whenever that changes. */
  storage(error: ErrorBody["error"] | undefined): void;
}

/** Polls the revisions of all watched threads, and which threads are the newest, once for all listeners. */
export class Watcher {
  readonly #saver: () => Promise<TierSaver>;
  readonly #pollMs: number;
  /** What was last reported to each listener. */
  readonly #told = new Map<Listener, Told>();
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(saver: () => Promise<TierSaver>, pollMs: number) {
    this.#saver = saver;
    this.#pollMs = pollMs;
  }

  /** The number of listeners. */
  get size(): number {
    return this.#told.size;
  }

  /** Begins to report to a listener. */
  add(listener: Listener): void {
    this.#told.set(listener, { revisions: new Map(), newest: undefined, isDown: undefined });
    this.#wait(0);
  }

  /** Removes a listener. While there is none, nothing is looked at. */
  remove(listener: Listener): void {
    this.#told.delete(listener);
    if (this.#told.size === 0) clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    if (this.#isLooking) return;
    clearTimeout(this.#timer);
    if (this.#told.size > 0) this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const saver = await this.#saver();
      const isAsked = [...this.#told.keys()].some(({ newest }) => newest !== undefined);
      const newest = isAsked ? await newestOf(saver) : undefined;
      const revisions = await revisionsOf(saver, this.#watched());
      this.#failures = 0;
      for (const [listener, told] of this.#told) tell(listener, told, revisions, newest);
    } catch (error) {
      this.#failures += 1;
      // This is an error of the storage, so it contains no values.
      const { body } = answerTo(error, false);
      for (const [listener, told] of this.#told) {
        if (told.isDown !== true) listener.storage(body.error);
        told.isDown = true;
      }
    } finally {
      this.#isLooking = false;
      this.#wait(this.#pollMs * Math.min(slowest, 1 + this.#failures));
    }
  }

  #watched(): Set<string> {
    return new Set([...this.#told.keys()].flatMap(({ threads }) => threads));
  }
}

interface Told {
  readonly revisions: Map<string, string>;
  newest: string | undefined;
  /** Whether the storage was down at the last look. Undefined before the first, which is always reported: a page may know an older one. */
  isDown: boolean | undefined;
}

function tell(
  listener: Listener,
  told: Told,
  revisions: ReadonlyMap<string, string>,
  newest: string | undefined,
): void {
  if (told.isDown !== false) listener.storage(undefined);
  told.isDown = false;
  for (const thread of listener.threads) {
    const revision = revisions.get(thread);
    const before = told.revisions.get(thread);
    // A listener that was added during the look gets this thread at the next look.
    if (revision === undefined || revision === before) continue;
    told.revisions.set(thread, revision);
    listener.revision(thread, revision, before === undefined);
  }
  if (newest === undefined) return;
  if (told.newest !== undefined && told.newest !== newest) listener.newest?.();
  told.newest = newest;
}

/**
 * Which threads were written last, and their revisions: all of the last minute. A tier may know times only to the minute. So if
 * one of these is written again, perhaps only its revision shows it.
 */
async function newestOf({ tier }: TierSaver): Promise<string> {
  const query = { order: "newest", limit: mostNewest, onDamaged: () => undefined } as const;
  const found: [threadId: string, revision: number][] = [];
  let last: number | undefined;
  for await (const { threadId, revision, writtenAtMs } of tier.threads(query)) {
    last ??= writtenAtMs;
    if (writtenAtMs !== last) break;
    found.push([threadId, revision]);
  }
  return JSON.stringify([last, found]);
}

async function revisionsOf({ tier }: TierSaver, threads: Iterable<string>): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  await inParallel([...threads], mostAtOnce, async (threadId) => {
    const revision = await revisionOf(tier, threadId);
    if (revision !== undefined) found.set(threadId, revision);
  });
  return found;
}

/**
 * A thread's revision and its head: a storage that was set back counts revisions again. Undefined if this thread can't be read, which says nothing about the others.
 * @throws if the storage can't be reached
 */
async function revisionOf(tier: Tier, threadId: string): Promise<string | undefined> {
  try {
    const { revision, head } = await tier.peek({ threadId, namespace: "" });
    return [revision, head].join(" ");
  } catch (error) {
    if (StratigraphError.is(error) && !error.retryable && error.code !== "CLOSED") return undefined;
    throw error;
  }
}
