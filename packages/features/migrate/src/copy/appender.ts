import { StaleReadError, type Tier } from "@stratigraph/core";
import { importUnderWay, wholeCopy } from "@stratigraph/core/internal";
import {
  reservedNamespaces,
  type Appended,
  type AppendRequest,
  type Blob,
  type CheckpointRecord,
  type HeadMove,
  type ThreadState,
} from "@stratigraph/core/tier";
import { entryKey } from "../contract/outline.ts";
import type { OutlineEntry } from "../contract/source.ts";
import { threadThere } from "./threadThere.ts";

/** The limits of one append. A single checkpoint may exceed them. */
const most = { bytes: 4_000_000, records: 256 };

/** One checkpoint, or the new parts of one. */
interface Part {
  readonly at: OutlineEntry;
  /** Absent if the checkpoint is already stored. */
  readonly record?: CheckpointRecord;
  readonly blobs: readonly Blob[];
  readonly writes: NonNullable<AppendRequest["writes"]>;
  /** The number of pending writes, as it is shown to people. */
  readonly writeCount: number;
  /** As in {@link AppendRequest.relies}. */
  readonly relies: boolean;
}

/** Says how far the copy is: until it is whole, calls and events that are there don't mean that the root has lost its head. */
const marked = (to: string): HeadMove => ({ namespace: reservedNamespaces.copy, to, expected: "any" });

/** What a storage has of a thread before the append. */
interface Before {
  readonly revision: number;
  /** Checkpoints, by key. */
  readonly records: { has(key: string): boolean };
}

/**
 * Appends a thread in parts of bounded size. Heads move with the last part, so that nobody sees half a thread: until then a new thread
 * has checkpoints and a mark, but no head of its root, and counts as unknown.
 */
export class Appender {
  readonly #tier: Tier;
  readonly #threadId: string;
  readonly #before: Before;
  /** Checkpoints that were appended here, by key. */
  readonly #own = new Set<string>();
  /** Checkpoints that somebody else appended meanwhile, for example another process that copies the same thread. */
  readonly #others = new Set<string>();
  #revision: number;
  #isDisturbed = false;
  #parts: Part[] = [];
  #bytes = 0;
  #writes = 0;

  /** @param before the thread when it was last read */
  constructor(tier: Tier, threadId: string, before: Before) {
    this.#tier = tier;
    this.#threadId = threadId;
    this.#before = before;
    this.#revision = before.revision;
  }

  /** How many checkpoints and pending writes were appended here. Those that somebody else appended first aren't counted. */
  get appended(): { readonly checkpoints: number; readonly writes: number } {
    return { checkpoints: this.#own.size, writes: this.#writes };
  }

  /** Whether somebody else has changed the thread since it was read. */
  async isDisturbed(): Promise<boolean> {
    await this.#lookForOthers();
    return this.#isDisturbed;
  }

  /** Adds one checkpoint, or the new parts of one. Appends when a limit is reached. */
  async add(part: Part): Promise<void> {
    this.#parts.push(part);
    this.#bytes += part.record?.body.length ?? 0;
    for (const { bytes } of part.blobs) this.#bytes += bytes.length;
    for (const { body } of part.writes) this.#bytes += body.length;
    if (this.#bytes >= most.bytes || this.#parts.length >= most.records) await this.#append([]);
  }

  /**
   * Appends what is left, and moves the heads.
   * @returns the present heads of the namespaces whose heads were to be moved
   * @throws CheckpointConflictError if somebody moved one of them elsewhere meanwhile
   */
  async end(heads: readonly HeadMove[]): Promise<Appended["heads"]> {
    // A deleted thread accepts records that name parents (all records of a pruned thread do) only in an append that doesn't move the
    // root's head.
    const begins = heads.some(({ namespace, expected }) => namespace === "" && expected.length === 0);
    const isLast = this.#parts.length > 0 && this.#revision === this.#before.revision;
    if (this.#parts.length > 0 && (!isLast || (begins && this.#revision > 0))) await this.#append([]);
    const moves = begins && this.#revision > 0 ? [...heads, marked(wholeCopy)] : heads;
    return moves.length + this.#parts.length > 0 ? await this.#append(moves) : [];
  }

  async #append(moves: readonly HeadMove[]): Promise<Appended["heads"]> {
    const parts = this.#parts;
    [this.#parts, this.#bytes] = [[], 0];
    const root = parts.length > 0 ? await this.#lookForOthers() : undefined;
    const begins = root !== undefined && root.head === undefined && root.headless !== true;
    const isBegun = begins && moves.length === 0 && parts.some(({ record }) => record?.namespace === "");
    const appended = await this.#tier.append({
      threadId: this.#threadId,
      records: parts.flatMap(({ record }) => (record === undefined ? [] : [record])),
      blobs: parts.flatMap(({ blobs }) => blobs),
      writes: parts.flatMap(({ writes }) => writes),
      heads: isBegun ? [marked(importUnderWay)] : moves,
      relies: parts.some(({ relies }) => relies),
      onConflict: "refuse",
      // A part doesn't tell the revision after the previous one: since the first read, somebody may have removed what it relies on. Heads
      // alone rely on all parts: none may have been lost since, by an expiry or with a failover.
      seen: parts.length > 0 ? this.#before.revision : this.#revision,
    });
    this.#revision = appended.revision;
    for (const { at, record, writeCount } of parts) {
      if (this.#others.has(entryKey(at))) continue;
      if (record !== undefined) this.#own.add(entryKey(at));
      this.#writes += writeCount;
    }
    return appended.heads.filter(({ namespace }) => namespace !== reservedNamespaces.copy);
  }

  /**
   * Notes what others have appended since the last look. It is appended here all the same, which does no harm: later parts may rely on
   * the blobs of this copy.
   */
  async #lookForOthers(): Promise<ThreadState> {
    const root = await this.#tier.peek({ threadId: this.#threadId, namespace: "" });
    const { revision } = root;
    if (revision === this.#revision) return root;
    if (revision < this.#revision) throw new StaleReadError(this.#threadId, revision);
    this.#isDisturbed = true;
    const there = await threadThere(this.#tier, this.#threadId);
    for (const key of there.records.keys())
      if (!this.#own.has(key) && !this.#before.records.has(key)) this.#others.add(key);
    return root;
  }
}
