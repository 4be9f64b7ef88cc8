import type { Tier } from "@stratigraph/core";
import type { MaybeAddress, NamespaceCopy, Peek, Reading, StoredCheckpoint } from "@stratigraph/core/tier";
import type { HotTier } from "./hotTier.ts";

/** How many namespaces of all threads together are remembered. Each takes about 300 bytes. */
const remembered = 10_000;

/** What this process knows of a namespace. */
interface Known {
  /** Grows when a write of this process begins and when it ends. */
  writeEpoch: number;
  /** How many writes of this process are in progress. */
  writing: number;
  /** Whether this process has written to it since its copy was last renewed. */
  doubted: boolean;
  /** The newest revision that this process has seen. Copies of earlier revisions aren't trusted. */
  seenRevision: number;
}

/** A namespace of a thread. */
interface Cell {
  readonly threadId: string;
  readonly namespace: string;
}

/**
 * Implements `consistency: "trusted"`: heads and pending writes, too, are read from the farthest hot tier. Copies are invalidated
 * before a write to the warm tier, and renewed from the warm tier afterwards. A process never trusts a copy that is older than its own
 * writes. For up to `trustFor` it may miss the write of another process that died between commit and renewal, or that couldn't reach
 * the hot tier.
 */
export class TrustedHeads {
  readonly #keeper: HotTier;
  readonly #near: readonly HotTier[];
  readonly #warm: Tier;
  readonly #forMs: number;
  readonly #now: () => number;
  /** By thread, then by namespace. The least recently used thread is first. */
  readonly #known = new Map<string, Map<string, Known>>();
  /** How many namespaces are in {@link #known}. */
  #size = 0;
  /** Until this time (milliseconds since 1970) all unknown namespaces are doubted, because a doubted one was forgotten. */
  #strangersFromMs = 0;

  constructor(hot: readonly HotTier[], warm: Tier, forMs: number, now: () => number) {
    this.#keeper = hot.at(-1)!;
    this.#near = hot.slice(0, -1);
    this.#warm = warm;
    this.#forMs = forMs;
    this.#now = now;
  }

  /**
   * Reads the head from a copy, which may also say that there is none. Undefined if no copy may be trusted.
   * @param nearby looks for the head's bytes in nearer tiers, so that they needn't be sent over the network
   */
  async read(
    at: MaybeAddress,
    nearby: (tiers: readonly HotTier[], peek: Peek) => Promise<StoredCheckpoint | undefined>,
  ): Promise<Reading | undefined> {
    if (this.#doubts(at)) return undefined;
    if (this.#near.length > 0) {
      const peek = await this.#keeper.peek(at);
      const state = this.#stateIn(at, peek);
      if (peek === undefined || state === undefined || state.head === undefined) return state;
      const found = peek.record === undefined ? undefined : await nearby(this.#near, peek);
      if (found !== undefined) return { ...state, checkpoint: found };
    }
    const reading = await this.#keeper.find(at);
    const state = this.#stateIn(at, reading);
    if (reading === undefined || state === undefined || state.head === undefined) return state;
    if (reading.checkpoint === undefined) return undefined;
    this.#keeper.hit(at.threadId);
    for (const hot of this.#near) hot.copyRead(reading.checkpoint, state.head);
    return { ...state, checkpoint: reading.checkpoint };
  }

  /** Invalidates the thread's copies, calls `write`, and has the copies of these namespaces renewed. */
  async around<T>(threadId: string, namespaces: Iterable<string>, write: () => Promise<T>): Promise<T> {
    const cells = [...new Set(namespaces)].map((namespace) => ({ threadId, namespace }));
    const all = cells.map((cell) => this.#open(cell));
    for (const known of all) {
      known.writeEpoch += 1;
      known.writing += 1;
      known.doubted = true;
    }
    try {
      await this.#keeper.invalidate(threadId);
      return await write();
    } finally {
      for (const known of all) {
        known.writeEpoch += 1;
        known.writing -= 1;
      }
      for (const cell of cells) this.renew(cell);
    }
  }

  /**
   * As {@link around}, for a change of every namespace. Copies of earlier revisions are never accepted again. The root's copy is
   * renewed now; the others are renewed when they are read, because there may be one for every subgraph that ever ran.
   */
  async aroundThread<T>(threadId: string, change: () => Promise<T>): Promise<T> {
    for (const known of this.#known.get(threadId)?.values() ?? []) {
      known.writeEpoch += 1;
      known.doubted = true;
    }
    return await this.around(threadId, [""], async () => {
      const changed = await change();
      // The change is done, whether or not the warm tier can be asked again. Without the revision, this process keeps doubting its copies.
      // Other processes may trust a copy that is being written now, for at most `trustFor`.
      const now = await this.#warm.peek({ threadId, namespace: "" }).catch(() => undefined);
      await this.#keeper.invalidate(threadId, now?.revision);
      return changed;
    });
  }

  /** Renews a copy in the background. */
  renew({ threadId, namespace }: Cell): void {
    const cell = { threadId, namespace };
    this.#keeper.adoptLater(threadId, namespace, async (adopt) => {
      const known = this.#open(cell);
      const { writeEpoch, seenRevision } = known;
      const untilMs = this.#now() + this.#forMs;
      const { revision, head, headless, writes, record } = await this.#warm.peek(cell);
      // A copy would say that there is no thread.
      if (headless === true) return;
      // If a write is in progress or has been since, that write renews the copy.
      if (known.writing > 0 || known.writeEpoch !== writeEpoch) return;
      // The owner was restored to an older state: copies of what it lost have later revisions than anything that it has. The next read
      // renews them.
      if (revision < seenRevision) {
        known.seenRevision = revision;
        // Don't await this, because it waits for this job.
        void this.#keeper.dropThread(threadId);
        return;
      }
      const copy: NamespaceCopy = { ...cell, revision, head, writes, record, blobs: [], untilMs };
      await adopt(copy);
      if (known.writeEpoch !== writeEpoch) return;
      known.seenRevision = Math.max(known.seenRevision, revision);
      known.doubted = false;
    });
  }

  /** The owner's state according to a copy that may be trusted. Only for heads: pending writes of other checkpoints aren't copied. */
  #stateIn(at: MaybeAddress, found: Peek | Reading | undefined): Reading | undefined {
    const { copy, head } = found ?? {};
    if (copy === undefined || copy.untilMs <= this.#now()) return undefined;
    if (this.#doubts(at) || copy.revision < (this.#of(at)?.seenRevision ?? 0)) return undefined;
    if (at.checkpointId !== undefined && at.checkpointId !== head) return undefined;
    return { revision: copy.revision, head };
  }

  /** Whether a copy may be older than this process's last write. */
  #doubts(cell: Cell): boolean {
    return this.#of(cell)?.doubted ?? this.#now() < this.#strangersFromMs;
  }

  #of({ threadId, namespace }: Cell): Known | undefined {
    return this.#known.get(threadId)?.get(namespace);
  }

  #open(cell: Cell): Known {
    const { threadId, namespace } = cell;
    const known = this.#of(cell) ?? {
      writeEpoch: 0,
      writing: 0,
      doubted: this.#doubts(cell),
      seenRevision: 0,
    };
    this.#forget(cell);
    const ofThread = this.#known.get(threadId) ?? new Map<string, Known>();
    ofThread.set(namespace, known);
    this.#known.delete(threadId);
    this.#known.set(threadId, ofThread);
    this.#size += 1;
    if (this.#size > remembered) this.#forgetOldest();
    return known;
  }

  #forget({ threadId, namespace }: Cell): void {
    const ofThread = this.#known.get(threadId);
    if (ofThread?.delete(namespace) !== true) return;
    this.#size -= 1;
    if (ofThread.size === 0) this.#known.delete(threadId);
  }

  /** Forgets the oldest namespace that isn't being written to. Copies made before its last write expire within `trustFor`. */
  #forgetOldest(): void {
    for (const [threadId, ofThread] of this.#known) {
      for (const [namespace, { writing, doubted }] of ofThread) {
        if (writing > 0) continue;
        this.#forget({ threadId, namespace });
        if (doubted) this.#strangersFromMs = this.#now() + this.#forMs;
        return;
      }
    }
  }
}
