import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { addressKey } from "../contract/keys.ts";
import type { Address, CheckpointRecord, Tier } from "../contract/tier.ts";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { remembering } from "./remembering.ts";

/** Of how many checkpoints it is remembered what they continue. About 250 bytes each. */
const remembered = 20_000;

/** A checkpoint on the way back from another one. */
export interface Ancestor {
  readonly checkpointId: string;
  /** What it continues; undefined for the first one of its namespace. */
  readonly parentId: string | undefined;
  /** What made it, as LangGraph's metadata say. */
  source(): Promise<CheckpointMetadata["source"] | undefined>;
}

interface Known {
  readonly parentId: string | undefined;
  readonly source: CheckpointMetadata["source"] | undefined;
}

/** Which checkpoint continues which: of those that a saver put by heart, of others as they are stored. */
export class Lineage {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #known = remembering<Known>(remembered);

  constructor(tier: Tier, coder: CheckpointCoder) {
    this.#tier = tier;
    this.#coder = coder;
  }

  /** Notes that a checkpoint is put. */
  puts(at: Address, parentId: string | undefined, source: Known["source"]): void {
    // Durability "exit" puts its last checkpoint again, with itself as the parent.
    if (parentId !== at.checkpointId) this.#known.set(addressKey(at, at.checkpointId), { parentId, source });
  }

  /** A checkpoint and its ancestors, nearest first, as far as they are stored. Reads records page by page, and no values. */
  async *of(at: Address): AsyncGenerator<Ancestor> {
    const read = new Map<string, CheckpointRecord>();
    let rest: AsyncIterator<{ readonly record: CheckpointRecord }> | undefined;
    const found = async (checkpointId: string): Promise<CheckpointRecord | undefined> => {
      const query = { threadId: at.threadId, namespace: at.namespace, recordsOnly: true };
      rest ??= this.#tier.list(query)[Symbol.asyncIterator]();
      while (!read.has(checkpointId)) {
        const next = await rest.next();
        if (next.done === true) return undefined;
        const { record } = next.value;
        read.set(record.checkpointId, record);
      }
      return read.get(checkpointId);
    };
    try {
      for (let checkpointId: string | undefined = at.checkpointId; checkpointId !== undefined;) {
        const known: Known | undefined = this.#known.get(addressKey(at, checkpointId));
        const record: CheckpointRecord | undefined =
          known === undefined ? await found(checkpointId) : undefined;
        if (known === undefined && record === undefined) return;
        const parentId: string | undefined = known === undefined ? record!.parentId : known.parentId;
        const source = async (): Promise<Known["source"]> => {
          if (known !== undefined) return known.source;
          const { source: made } = await this.#coder.metadata(record!, await this.#coder.decodeBody(record!));
          return made;
        };
        yield { checkpointId, parentId, source };
        checkpointId = parentId;
      }
    } finally {
      await rest?.return?.();
    }
  }
}
