import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { addressKey } from "../contract/keys.ts";
import type { Address, CheckpointRecord, Tier } from "../contract/tier.ts";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { remembering } from "./remembering.ts";

/** For how many checkpoints the parent is remembered. About 250 bytes each. */
const remembered = 20_000;

/** What a checkpoint ended: a step, or what was before an input. */
type Ends = "step" | "input" | undefined;

/** A checkpoint on the way back from another one. */
export interface Ancestor {
  readonly checkpointId: string;
  /** The checkpoint that it continues; undefined for the first one of its namespace. */
  readonly parentId: string | undefined;
  /** Whether it ended a step, or began an input. An edit does neither, nor does a Command: the same tasks are due after it. */
  ends(): Promise<Ends>;
}

interface Known {
  readonly parentId: string | undefined;
  readonly ends: Ends;
}

/** The channel that holds an input until the first step. LangGraph counts a Command as an input, too, but it puts nothing there. */
const inputChannel = "__start__";

function endsOf({ source }: CheckpointMetadata, hasInput: boolean): Ends {
  if (source === "loop") return "step";
  return source === "input" && hasInput ? "input" : undefined;
}

/** Which checkpoint continues which. Remembered for those that the saver put; read from the storage for others. */
export class Lineage {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #known = remembering<Known>(remembered);

  constructor(tier: Tier, coder: CheckpointCoder) {
    this.#tier = tier;
    this.#coder = coder;
  }

  /** Notes that a checkpoint is put. */
  puts(
    at: Address,
    parentId: string | undefined,
    { channel_values }: Checkpoint,
    metadata: CheckpointMetadata,
  ): void {
    // Durability "exit" puts its last checkpoint again, with itself as the parent.
    if (parentId === at.checkpointId) return;
    const known = { parentId, ends: endsOf(metadata, Object.hasOwn(channel_values, inputChannel)) };
    this.#known.set(addressKey(at, at.checkpointId), known);
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
        const ends = async (): Promise<Ends> => {
          if (known !== undefined) return known.ends;
          const body = await this.#coder.decodeBody(record!);
          const hasInput = body.manifest.get(inputChannel)?.value !== undefined;
          return endsOf(await this.#coder.metadata(record!, body), hasInput);
        };
        yield { checkpointId, parentId, ends };
        checkpointId = parentId;
      }
    } finally {
      await rest?.return?.();
    }
  }
}
