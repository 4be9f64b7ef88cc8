import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { MemoryTier } from "./memoryTier.ts";
import type { SaverOptions } from "./options.ts";
import { TierSaver } from "./saver.ts";

/**
 * Keeps checkpoints in this process's memory, encoded as every Stratigraph saver does. A drop-in for LangGraph's MemorySaver
 * that is faster, grows linearly, and keeps branches apart. State is lost when the process ends.
 *
 * @example
 * const graph = builder.compile({ checkpointer: new MemorySaver() });
 */
export class MemorySaver extends TierSaver {
  /** @param serde or options; LangGraph's MemorySaver takes a serde */
  constructor(options: SerializerProtocol | SaverOptions = {}) {
    super(new MemoryTier(), "dumpsTyped" in options ? { serde: options } : options);
  }
}

/** A memory tier, for stacks and tests. */
export function memory(): MemoryTier {
  return new MemoryTier();
}
