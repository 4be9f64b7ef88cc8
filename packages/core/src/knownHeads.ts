import type { CheckpointCoder } from "./checkpointCoder.ts";
import type { Lines } from "./lines.ts";
import { remembering } from "./remembering.ts";
import type { Address, MaybeAddress, Namespace, Reading, StoredCheckpoint, Tier } from "./tier.ts";

/** Of how many namespaces a saver remembers the head. About 200 bytes each. */
const remembered = 10_000;

/** The head of a namespace, as this saver left or read it last. */
interface Head {
  readonly checkpointId: string;
  /** Somebody else had moved it when it was asked for last. */
  readonly shared: boolean;
}

function keyOf({ threadId, namespace }: Namespace): string {
  return JSON.stringify([threadId, namespace]);
}

/**
 * Reads checkpoints, and where all their values are remembered, without the bytes: then only what can have changed since is
 * asked for. That is so for most reads, as a run begins where the one before ended. While others move a head too, it is read
 * outright: asking first would be a second round trip.
 */
export class KnownHeads {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #lines: Lines;
  readonly #heads = remembering<Head>(remembered);

  constructor(tier: Tier, coder: CheckpointCoder, lines: Lines) {
    this.#tier = tier;
    this.#coder = coder;
    this.#lines = lines;
  }

  /** This saver put a checkpoint. */
  wrote(at: Address): void {
    const key = keyOf(at);
    this.#heads.set(key, { shared: this.#heads.get(key)?.shared ?? false, checkpointId: at.checkpointId });
  }

  /** As {@link Tier.read} tells it, always from the tier. */
  async read(at: MaybeAddress): Promise<Reading> {
    const reading = await this.#tier.read(at);
    const { head } = reading;
    if (at.checkpointId === undefined && head !== undefined) {
      const key = keyOf(at);
      const before = this.#heads.get(key);
      const shared = before !== undefined && before.checkpointId !== head;
      this.#heads.set(key, { checkpointId: head, shared });
    }
    return reading;
  }

  /** The same, without blobs, where the tier can tell it and all that the checkpoint needs is remembered; else undefined. */
  async readKnown(
    at: MaybeAddress,
  ): Promise<(Reading & { readonly checkpoint: StoredCheckpoint }) | undefined> {
    if (this.#tier.peeksRecords !== true || !this.#isLikely(at)) return undefined;
    const { record, writes, ...state } = await this.#tier.peek(at);
    if (record === undefined || !this.#coder.remembers(record, writes)) return undefined;
    return { ...state, checkpoint: { record, writes, blobs: new Map() } };
  }

  #isLikely(at: MaybeAddress): boolean {
    const head = at.checkpointId === undefined ? this.#heads.get(keyOf(at)) : undefined;
    const checkpointId = at.checkpointId ?? head?.checkpointId;
    if (checkpointId === undefined || head?.shared === true) return false;
    const line = this.#lines.get({ ...at, checkpointId });
    if (line === undefined) return false;
    for (const { value } of line.manifest.values())
      if (value !== undefined && "hash" in value && !this.#coder.values.has(at.threadId, value.hash))
        return false;
    return true;
  }
}
