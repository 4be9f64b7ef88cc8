import { StratigraphError } from "../contract/errors.ts";
import { type Tier } from "../contract/tier.ts";
import { isStacked, tagsThreads, type StackLayer } from "../contract/tierExtensions.ts";

/** What one storage holds of a thread. */
export interface Holding {
  /** The tier's name. */
  readonly tier: string;
  readonly role: StackLayer["role"];
  readonly checkpoints: number;
  /** Bytes of checkpoints, of the pending writes that belong to them, and of values, as stored. */
  readonly bytes: number;
  /** Why the storage could not be asked; the figures are 0 then. */
  readonly error?: unknown;
}

/** A holding. `isEmpty`: the storage has nothing else of the thread either, such as a head, a value or a tag. */
export interface FoundHolding extends Holding {
  readonly isEmpty: boolean;
}

/** The storages that a tier is made of: the parts of a stack, otherwise the tier itself, which is "warm" as it owns its threads. */
export function layersOf(tier: Tier, role: StackLayer["role"] = "warm"): readonly StackLayer[] {
  if (!isStacked(tier)) return [{ role, tier }];
  return tier.layers.flatMap((layer) => layersOf(layer.tier, role === "warm" ? layer.role : role));
}

/**
 * The storages of a tier, to ask them about one thread after another. A storage that can't be reached isn't asked again, because
 * each call would wait for its whole timeout.
 */
export class Storages {
  readonly layers: readonly StackLayer[];
  readonly #away = new Map<StackLayer, unknown>();

  constructor(tier: Tier) {
    this.layers = layersOf(tier);
  }

  /** What each of them holds of a thread. Never rejects: errors are in the answer. */
  async holdings(threadId: string): Promise<FoundHolding[]> {
    return await Promise.all(this.layers.map((layer) => this.#ask(layer, threadId)));
  }

  async #ask(layer: StackLayer, threadId: string): Promise<FoundHolding> {
    const away = this.#away.get(layer);
    if (away !== undefined) return unknown(layer, away);
    const finding = await holdingOf(layer, threadId);
    if (StratigraphError.is(finding.error) && finding.error.retryable) this.#away.set(layer, finding.error);
    return finding;
  }
}

function unknown({ tier, role }: StackLayer, error: unknown): FoundHolding {
  return { tier: tier.name, role, checkpoints: 0, bytes: 0, error, isEmpty: false };
}

/** Asks a storage what it holds of a thread. Never rejects: an error is in the answer. */
async function holdingOf({ tier, role }: StackLayer, threadId: string): Promise<FoundHolding> {
  let checkpoints = 0;
  let bytes = 0;
  try {
    for await (const { record, writes } of tier.list({ threadId, recordsOnly: true })) {
      checkpoints += 1;
      bytes += record.body.length + writes.reduce((sum, { body }) => sum + body.length, 0);
    }
    const [blobs, { head, writes }, tags] = await Promise.all([
      tier.blobs(threadId),
      tier.peek({ threadId, namespace: "" }),
      tagsThreads(tier) ? tier.threadTags(threadId) : [],
    ]);
    bytes += blobs.reduce((sum, { size }) => sum + size, 0);
    const others = blobs.length + writes.length + tags.length;
    return {
      tier: tier.name,
      role,
      checkpoints,
      bytes,
      isEmpty: checkpoints + others === 0 && head === undefined,
    };
  } catch (error) {
    return unknown({ tier, role }, error);
  }
}
