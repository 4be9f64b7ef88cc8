import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { MemoryTier } from "./memoryTier.ts";
import { isSerde, type SaverOptions } from "../saver/options.ts";
import { TierSaver } from "../saver/tierSaver.ts";

/**
 * Keeps checkpoints in the memory of this process, encoded as by every Stratigraph saver. A drop-in replacement for LangGraph's
 * MemorySaver that is faster, grows linearly, and keeps branches apart. State is lost when the process ends.
 *
 * @example
 * const graph = builder.compile({ checkpointer: new MemorySaver() });
 */
export class MemorySaver extends TierSaver {
  /**
   * @param source options, or a serializer, as LangGraph's MemorySaver takes it
   * @throws InvalidOptionError
   */
  constructor(source: SerializerProtocol | SaverOptions = {}) {
    super(new MemoryTier(), isSerde(source) ? { serde: source } : source);
  }
}
