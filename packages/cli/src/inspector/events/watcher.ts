import { StratigraphError, type Tier, type TierSaver } from "@stratigraph/core";
import { inParallel } from "@stratigraph/core/internal";
import { answerTo, type ErrorBody } from "../api/errors.ts";

/** Most threads that are looked at at the same time. */
const mostAtOnce = 8;

/** How many threads of one minute are looked at: as many as the list shows at first. */
const mostNewest = 50;

/** After each look that failed, the wait grows by the usual wait, up to this many times the usual wait. */
const slowest = 5;

/** A listener, and the events that it gets. */
export interface Listener {
  readonly threads: readonly string[];
  /** A thread that it watches is at another revision; `isFirst` the first time that it is told of it. */
  revision(thread: string, revision: string, isFirst: boolean): void;
  /** A thread was written: the list of the newest ones differs. */
  newest(): void;
  /** The storage can't be reached, or (without an error) can be: after the first look, and whenever that changes. */
  storage(error: ErrorBody["error"] | undefined): void;
}

/** Looks at the revisions of the threads that somebody watches, and at which thread is the newest: once for all listeners. */
export class Watcher {
  readonly #saver: () => Promise<TierSaver>;
  readonly #pollMs: number;
  /** What each listener was told last. */
  readonly #told = new Map<Listener, Told>();
  #newest: string | undefined;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(saver: () => Promise<TierSaver>, pollMs: number) {
    this.#saver = saver;
    this.#pollMs = pollMs;
  }

  /** How many listen. */
  get size(): number {
    return this.#told.size;
  }

  /** Begins to tell a listener. */
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
      this.#newest = await newestOf(saver);
      const revisions = await revisionsOf(saver, this.#watched());
      this.#failures = 0;
      for (const [listener, told] of this.#told) tell(listener, told, revisions, this.#newest);
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
  /** Whether the storage was down at the last look; undefined before the first one: a page may know what an earlier stream told it. */
  isDown: boolean | undefined;
}

function tell(listener: Listener, told: Told, revisions: ReadonlyMap<string, string>, newest: string): void {
  if (told.isDown !== false) listener.storage(undefined);
  told.isDown = false;
  for (const thread of listener.threads) {
    const revision = revisions.get(thread);
    const before = told.revisions.get(thread);
    // One that began to listen during the look is told by the next one.
    if (revision === undefined || revision === before) continue;
    told.revisions.set(thread, revision);
    listener.revision(thread, revision, before === undefined);
  }
  if (told.newest !== undefined && told.newest !== newest) listener.newest();
  told.newest = newest;
}

/**
 * Which threads were written last, and at which revisions: all of the last minute, as a tier may know no more of a time than that,
 * and then any of them may be the one that is written next.
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

/** Undefined if the thread can't be read: that says nothing about the others. @throws where the storage can't be reached */
async function revisionOf(tier: Tier, threadId: string): Promise<string | undefined> {
  try {
    return String((await tier.peek({ threadId, namespace: "" })).revision);
  } catch (error) {
    if (StratigraphError.is(error) && !error.retryable && error.code !== "CLOSED") return undefined;
    throw error;
  }
}
