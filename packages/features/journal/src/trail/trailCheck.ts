// long file: all that is checked of one trail
import { canonical } from "../identity/canonical.ts";
import { hashOfResult } from "../calls/storedResults.ts";
import { beforeKeys } from "../log/checkEntry.ts";
import type { CutEvent, Entry, ErasedEvent } from "../log/entry.ts";
import { seqOfRecord } from "../log/records.ts";
import type { Sealing } from "../log/sealing.ts";
import { isEntry, type RecordedEntry, type TrailHead } from "./line.ts";

/** What a verification found. */
export type Verification =
  | {
      readonly ok: true;
      /** How many entries there are. */
      readonly entries: number;
      /** Number of the first one: 1, or the first that wasn't cut off; 0 if there are none. */
      readonly from: number;
      /** Number of the last one; 0 if there are none. */
      readonly to: number;
      /** How many entries have had their arguments or result erased. */
      readonly erased: number;
    }
  | {
      readonly ok: false;
      /**
       * Number of the first entry that isn't as it was made, or is missing; 0 if that isn't known. If erased data may still be stored, it
       * is the number of the last entry that says that something was erased.
       */
      readonly brokenAt: number;
      readonly why: string;
    };

/** The names of a stored entry's record and of the record before it. */
export interface RecordNames {
  readonly id: string;
  readonly parentId?: string | undefined;
}

/** A head that a trail must agree with. */
export interface KnownHead extends TrailHead {
  /** Where it was kept, for messages. */
  readonly keptIn: string;
}

/** What an erasure erases. */
const [theArguments, theResult] = ["the arguments", "the result"] as const;

/** The values stored with an entry, now or earlier. */
interface Beside {
  readonly seq: number;
  readonly at: string;
  readonly call: string | undefined;
  readonly what: string;
}

type Named<E> = { readonly seq: number; readonly event: E };

/**
 * Checks a trail, entry by entry from the oldest on: each must be as it was made, follow the previous one, and have the values that it says
 * are stored with it. It keeps the first damage, and goes on, as a later entry may say that something was erased.
 */
export class TrailCheck {
  readonly #sealing: Sealing;
  readonly #heads: readonly KnownHead[];
  #damage: { readonly seq: number; readonly why: string } | undefined;
  #first: Entry | undefined;
  #last: Entry | undefined;
  #lastRecord: string | undefined;
  #entries = 0;
  #signedBefore: number | undefined;
  readonly #gone: Beside[] = [];
  readonly #present: Beside[] = [];
  readonly #erased: Named<ErasedEvent>[] = [];
  readonly #cuts: Named<CutEvent>[] = [];

  constructor(sealing: Sealing, heads: readonly KnownHead[]) {
    this.#sealing = sealing;
    this.#heads = heads;
  }

  /** Number of the entry that should come next. */
  get nextSeq(): number {
    return (this.#last?.seq ?? 0) + 1;
  }

  /** Number of the first entry; undefined before it. */
  get from(): number | undefined {
    return this.#first?.seq;
  }

  /** Number of the last entry that says that something was erased. */
  get lastErased(): number | undefined {
    return this.#erased.at(-1)?.seq;
  }

  /** Notes damage, for instance of an entry that can't be read. */
  damaged(seq: number, why: string): void {
    if (this.#damage === undefined || seq < this.#damage.seq) this.#damage = { seq, why };
  }

  /** The damage found so far. */
  get damage(): Extract<Verification, { ok: false }> | undefined {
    return this.#damage && { ok: false, brokenAt: this.#damage.seq, why: this.#damage.why };
  }

  /** Adds the next entry. @param names of its record, if it comes from a storage */
  add(line: RecordedEntry, names?: RecordNames): void {
    const { entry } = line;
    if (!isEntry(entry))
      return this.damaged(this.nextSeq, `entry ${this.nextSeq} isn't an entry of a journal`);
    this.#entries += 1;
    this.#checkPlace(entry);
    if (names !== undefined) this.#checkNames(entry.seq, names);
    const isIntact = this.#isIntact(entry);
    this.#checkLink(entry, isIntact);
    if (isIntact) this.#checkBeside(line);
    for (const head of this.#heads)
      if (head.seq === entry.seq && head.hash !== entry.hash)
        this.damaged(
          entry.seq,
          `entry ${entry.seq} isn't the one that ${head.keptIn} names: it was made anew`,
        );
    this.#first ??= entry;
    this.#last = entry;
    this.#lastRecord = names?.id;
  }

  /** The result of the verification. */
  end(): Verification {
    this.#checkBeginning();
    for (const head of this.#heads) this.#checkHead(head);
    this.#checkSigned();
    const erased = new Set<number>();
    for (const { seq, what } of this.#gone.filter((beside) => this.#erasing(beside) === undefined))
      this.damaged(seq, `${what} of entry ${seq} isn't there, and no entry says that it was erased`);
    for (const beside of this.#gone) erased.add(beside.seq);
    if (this.damage !== undefined) return this.damage;
    for (const beside of this.#present) {
      const by = this.#erasing(beside);
      if (by === undefined) continue;
      const why = `entry ${by} says that ${beside.what} of entry ${beside.seq} were erased, and they are there: erase again`;
      return { ok: false, brokenAt: by, why };
    }
    const [from, to] = [this.#first?.seq ?? 0, this.#last?.seq ?? 0];
    return { ok: true, entries: this.#entries, from, to, erased: erased.size };
  }

  /** Number of the last entry that says that something was erased. */
  #erasing({ seq, at, call }: Beside): number | undefined {
    return this.#erased.findLast(
      ({ event: { upTo, of, before } }) =>
        seq <= upTo && (of === undefined || of === call) && (before === undefined || isEarlier(at, before)),
    )?.seq;
  }

  #checkPlace({ seq, prev }: Entry): void {
    const last = this.#last?.seq;
    if (last === undefined) {
      if (seq === 1 && prev !== "")
        this.damaged(1, "entry 1 names an entry before it, and there can be none");
    } else if (seq > last + 1) {
      const gap = seq === last + 2 ? `entry ${last + 1} is` : `entries ${last + 1} to ${seq - 1} are`;
      this.damaged(last + 1, `${gap} missing`);
    } else if (seq <= last)
      this.damaged(seq, `entry ${seq} comes after entry ${last}: it is there twice, or out of order`);
  }

  #checkNames(seq: number, { id, parentId }: RecordNames): void {
    if (seqOfRecord(id) !== seq)
      this.damaged(seq, `entry ${seq} is stored as the record ${JSON.stringify(id)}, which isn't its own`);
    const isParent = this.#lastRecord === undefined ? isBefore(seq, parentId) : parentId === this.#lastRecord;
    if (!isParent)
      this.damaged(
        seq,
        `the record of entry ${seq} names ${JSON.stringify(parentId ?? null)} as the record before it, but another one is`,
      );
  }

  #isIntact(entry: Entry): boolean {
    try {
      if (this.#sealing.isIntact(entry)) return true;
      this.damaged(
        entry.seq,
        `entry ${entry.seq} isn't as it was made: its hash doesn't follow from what it says`,
      );
    } catch (error) {
      this.damaged(entry.seq, `entry ${entry.seq} can't be checked: ${(error as Error).message}`);
    }
    return false;
  }

  #checkLink({ seq, prev, keyId }: Entry, isIntact: boolean): void {
    if (keyId !== undefined) this.#signedBefore ??= seq;
    else if (this.#signedBefore !== undefined)
      this.damaged(seq, `entry ${seq} isn't signed, and entry ${this.#signedBefore} before it is`);
    else if (this.#sealing.activeKey !== undefined && !this.#sealing.takesUnsigned)
      this.damaged(seq, `entry ${seq} isn't signed. ${beforeKeys}`);
    const last = this.#last;
    if (!isIntact || last?.seq !== seq - 1 || prev === last.hash) return;
    // What an intact entry says of the one before it is right; otherwise that one was damaged anyway.
    this.damaged(
      last.seq,
      `entry ${last.seq} isn't the one that entry ${seq} was made after: another one is in its place`,
    );
  }

  #checkBeside({ entry, args, result, calls, fold }: RecordedEntry): void {
    const { seq, event, keyId } = entry;
    if (event.type === "erased") this.#erased.push({ seq, event });
    if (event.type === "cut") this.#cuts.push({ seq, event });
    const { argsHash, resultHash, callsHash, kept } = event as {
      [Name in "argsHash" | "resultHash" | "callsHash" | "kept"]?: unknown;
    };
    const call = "call" in event ? event.call : undefined;
    const check = (what: string, expected: unknown, found: (() => string) | undefined): void => {
      if (typeof expected !== "string") {
        if (found !== undefined)
          this.damaged(seq, `${what} are stored with entry ${seq}, which doesn't mention them`);
        return;
      }
      const beside = { seq, at: entry.at, call, what };
      if (found === undefined) this.#gone.push(beside);
      else if (what === theArguments || what === theResult) this.#present.push(beside);
      if (found !== undefined && !matches(found, expected))
        this.damaged(seq, `${what} beside entry ${seq} aren't those that it was made with`);
    };
    check(
      theArguments,
      argsHash,
      args === undefined ? undefined : () => this.#sealing.hash(args, keyId ?? null),
    );
    check(
      theResult,
      kept === true ? resultHash : undefined,
      result === undefined ? undefined : () => hashOfResult(this.#sealing, result, keyId ?? null),
    );
    if (fold !== undefined)
      check("the state", event.type === "folded" ? event.foldHash : undefined, () =>
        this.#sealing.hash(fold, keyId ?? null),
      );
    if (callsHash !== undefined && calls === undefined)
      return this.damaged(seq, `the states of calls beside entry ${seq} are missing`);
    check(
      "the states of calls",
      callsHash,
      calls === undefined ? undefined : () => this.#sealing.hash(canonical(calls), keyId ?? null),
    );
  }

  /** Entries at the beginning may be missing if a later one says that they were cut off. */
  #checkBeginning(): void {
    const first = this.#first;
    if (first === undefined || first.seq === 1) return;
    const cut = this.#cuts.filter(({ event }) => event.last >= first.seq - 1);
    if (cut.length === 0)
      this.damaged(1, `entries 1 to ${first.seq - 1} are missing, and no entry says that they were cut off`);
    for (const { seq, event } of cut)
      if (event.last === first.seq - 1 && event.lastHash !== first.prev)
        this.damaged(
          first.seq,
          `entry ${first.seq} doesn't follow the last one that was cut off, which entry ${seq} names`,
        );
  }

  #checkHead({ seq, hash, keptIn }: KnownHead): void {
    const [from, to] = [this.#first?.seq ?? 1, this.#last?.seq ?? 0];
    if (seq > to)
      this.damaged(
        to + 1,
        `the trail ends at entry ${to}, and ${keptIn} names entry ${seq}: what follows was removed`,
      );
    else if (seq === from - 1 && seq > 0) {
      if (this.#first!.prev !== hash)
        this.damaged(from, `entry ${from} doesn't follow the entry that ${keptIn} names: it was made anew`);
    } else if (seq > 0 && seq < from)
      this.damaged(
        seq,
        `entry ${seq}, which ${keptIn} names, was cut off, so nothing can be compared with it: use a later head`,
      );
  }

  /** If there are keys: somebody without a key could forge a whole trail without signatures, or empty it. */
  #checkSigned(): void {
    if (this.#sealing.activeKey === undefined) return;
    const last = this.#last;
    if (last === undefined && this.#heads.length === 0)
      this.damaged(
        0,
        "there are no entries, so nothing is signed: the thread made no calls, or its journal was emptied. A head tells which: " +
          '{ seq: 0, hash: "" } of a thread that made none',
      );
    if (last === undefined || last.keyId !== undefined) return;
    this.damaged(
      last.seq,
      `entry ${last.seq}, the last one, isn't signed, so there is no proof of it by the keys in sign.keys`,
    );
  }
}

function matches(found: () => string, expected: string): boolean {
  try {
    return found() === expected;
  } catch {
    // A value that isn't JSON has no hash.
    return false;
  }
}

function isEarlier(one: string, other: string): boolean {
  return Date.parse(one) < Date.parse(other);
}

function isBefore(seq: number, parentId: string | undefined): boolean {
  return parentId === undefined ? seq === 1 : seqOfRecord(parentId) === seq - 1;
}
