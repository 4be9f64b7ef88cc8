import { isDeepStrictEqual } from "node:util";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { dropLeftovers, leftoversIn } from "@stratigraph/core/internal";
import { reservedNamespaces, type CheckpointRecord } from "@stratigraph/core/tier";
import { entryKey } from "../contract/outline.ts";
import type { OutlineEntry } from "../contract/source.ts";

type Storage = Pick<TierSaver, "tier" | "coder">;

/** An entry of a journal, and the names of the values that are stored with it. */
interface Entry {
  readonly metadata: unknown;
  readonly values: ReadonlySet<string>;
}

/**
 * What a source erased from a thread's journal since it was copied. The copy's entries are replaced by those without the values, and the
 * values dropped. A copy that went on by itself has a journal of its own, which only its journal can erase.
 */
export class Erasures {
  readonly #to: Storage;
  readonly #threadId: string;
  readonly #records: ReadonlyMap<string, CheckpointRecord>;
  /** Whether the copy has entries in which something may be erased. */
  readonly mayBe: boolean;
  #entries = 0;
  #isTold = false;

  /** @param to the storage with the copy @param records what it has of the thread, by key */
  constructor(to: Storage, threadId: string, records: ReadonlyMap<string, CheckpointRecord>) {
    this.#to = to;
    this.#threadId = threadId;
    this.#records = records;
    this.mayBe = [...records.values()].some(isEntry);
  }

  /** How many entries have values in the copy that the source has no longer. */
  get entries(): number {
    return this.#entries;
  }

  /** Notes an entry of the source. Returns whether the copy's has values that it no longer has, and is the same otherwise. */
  async note(at: OutlineEntry, metadata: unknown, values: Iterable<string>): Promise<boolean> {
    if (!isEntry(at) || !this.mayBe) return false;
    this.#isTold ||= (metadata as { event?: { type?: unknown } }).event?.type === "erased";
    const record = this.#records.get(entryKey(at));
    if (record === undefined) return false;
    const isErased = lacks({ metadata, values: new Set(values) }, await entryOf(this.#to, record));
    if (isErased) this.#entries += 1;
    return isErased;
  }

  /** Whether it is the other way round: the copy no longer has values of an entry that the source has. */
  async areHere(at: OutlineEntry, metadata: unknown, values: Iterable<string>): Promise<boolean> {
    const record = isEntry(at) ? this.#records.get(entryKey(at)) : undefined;
    if (record === undefined) return false;
    return lacks(await entryOf(this.#to, record), { metadata, values: new Set(values) });
  }

  /** As {@link note}, for a record of the source. */
  async noteRecord(from: Storage, record: CheckpointRecord): Promise<boolean> {
    if (!isEntry(record) || !this.mayBe) return false;
    const entry = await entryOf(from, record);
    return entry !== undefined && (await this.note(record, entry.metadata, entry.values));
  }

  /** Drops the values once the entries were replaced, also if an earlier copy ended before it could. */
  async drop(): Promise<void> {
    const isLeft = async () => this.#isTold && (await leftoversIn(this.#to, this.#threadId)) !== undefined;
    if (this.#entries > 0 || (await isLeft())) await dropLeftovers(this.#to, this.#threadId);
  }

  /** Why a copy that went on by itself differs. */
  kept(): readonly string[] {
    if (this.#entries === 0) return [];
    const entries = counted(this.#entries);
    return [
      `the source erased arguments or results of ${entries}, and the copy, which went on by itself, still has them: erase them there, too, ` +
        `with journal.erase(${JSON.stringify(this.#threadId)})`,
    ];
  }
}

/** Entries, in words. */
export function counted(entries: number): string {
  return entries === 1 ? "1 entry of its journal" : `${entries} entries of its journal`;
}

/** Whether two records are the same entry of a journal, and one storage has erased values that the other still has. */
export async function isErased(
  [erased, record]: readonly [Storage, CheckpointRecord],
  [whole, original]: readonly [Storage, CheckpointRecord],
): Promise<boolean> {
  return isEntry(record) && lacks(await entryOf(erased, record), await entryOf(whole, original));
}

function isEntry({ namespace }: OutlineEntry): boolean {
  return namespace === reservedNamespaces.calls;
}

function lacks(erased: Entry | undefined, whole: Entry | undefined): boolean {
  if (erased === undefined || whole === undefined || erased.values.size >= whole.values.size) return false;
  const isPart = [...erased.values].every((name) => whole.values.has(name));
  return isPart && isDeepStrictEqual(erased.metadata, whole.metadata);
}

/** Undefined for a damaged record: whoever compares it tells. */
async function entryOf({ coder }: Storage, record: CheckpointRecord): Promise<Entry | undefined> {
  try {
    const body = await coder.decodeBody(record);
    const values = [...body.manifest.values()].flatMap(({ channel, value }) =>
      value === undefined ? [] : [channel],
    );
    return { metadata: await coder.metadata(record, body), values: new Set(values) };
  } catch (error) {
    if (!StratigraphError.is(error, "CORRUPT")) throw error;
    return undefined;
  }
}
