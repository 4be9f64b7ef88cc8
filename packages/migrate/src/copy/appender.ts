import type { AppendRequest, Blob, CheckpointRecord, HeadMove, Tier } from "@stratigraph/core";

type Writes = NonNullable<AppendRequest["writes"]>;

/** How much goes into one append at most. A single checkpoint may have more. */
const most = { bytes: 4_000_000, records: 256 };

/**
 * Appends a thread in parts of bounded size. Heads move with the last part, so that nobody sees half a thread: until then it has
 * checkpoints, but no head, and counts as unknown.
 */
export class Appender {
  readonly #tier: Tier;
  readonly #threadId: string;
  #revision: number;
  #records: CheckpointRecord[] = [];
  #blobs: Blob[] = [];
  #writes: Writes[number][] = [];
  #bytes = 0;
  #relies = false;

  /** @param revision the thread's revision when it was last read */
  constructor(tier: Tier, threadId: string, revision: number) {
    this.#tier = tier;
    this.#threadId = threadId;
    this.#revision = revision;
  }

  /** Adds one checkpoint, or what is new of one. Appends if there is enough for a part. */
  async add(part: {
    readonly record?: CheckpointRecord;
    readonly blobs: readonly Blob[];
    readonly writes: Writes;
    readonly relies: boolean;
  }): Promise<void> {
    if (part.record !== undefined) this.#records.push(part.record);
    this.#blobs.push(...part.blobs);
    this.#writes.push(...part.writes);
    this.#relies ||= part.relies;
    this.#bytes += part.record?.body.length ?? 0;
    for (const { bytes } of part.blobs) this.#bytes += bytes.length;
    for (const { body } of part.writes) this.#bytes += body.length;
    if (this.#bytes >= most.bytes || this.#records.length >= most.records) await this.#append([]);
  }

  /**
   * Appends what is left, and moves the heads.
   * @returns the heads as they are now. A head that somebody moved meanwhile stays
   */
  async end(heads: readonly HeadMove[]): Promise<ReadonlyMap<string, string>> {
    if (heads.length === 0 && this.#records.length + this.#writes.length === 0) return new Map();
    return await this.#append(heads);
  }

  async #append(heads: readonly HeadMove[]): Promise<ReadonlyMap<string, string>> {
    const request: AppendRequest = {
      threadId: this.#threadId,
      records: this.#records,
      blobs: this.#blobs,
      writes: this.#writes,
      heads,
      relies: this.#relies,
      onConflict: "refuse",
      seen: this.#revision,
    };
    [this.#records, this.#blobs, this.#writes, this.#bytes, this.#relies] = [[], [], [], 0, false];
    const appended = await this.#tier.append(request);
    this.#revision = appended.revision;
    return new Map(appended.heads.map(({ namespace, head }) => [namespace, head]));
  }
}
