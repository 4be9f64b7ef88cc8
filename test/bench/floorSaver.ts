import type { RunnableConfig } from "@langchain/core/runnables";
import type { Checkpoint, CheckpointMetadata, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { CheckpointLibrary } from "./libraries.ts";
import type { OpenSaver } from "./savers.ts";

/** The floor: a saver that hands back what each thread was given last, by reference. What a run takes without any saver. */
export function openFloor({ BaseCheckpointSaver }: CheckpointLibrary): OpenSaver {
  const saver = new (class FloorSaver extends BaseCheckpointSaver {
    readonly #last = new Map<string, CheckpointTuple>();

    override async getTuple({ configurable }: RunnableConfig): Promise<CheckpointTuple | undefined> {
      return this.#last.get(String(configurable?.["thread_id"]));
    }

    override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) {
      const { thread_id, checkpoint_ns = "" } = config.configurable ?? {};
      const next = { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id } };
      this.#last.set(String(thread_id), { config: next, checkpoint, metadata, pendingWrites: [] });
      return next;
    }

    override async putWrites(): Promise<void> {}

    override async *list(): AsyncGenerator<CheckpointTuple> {}

    override async deleteThread(threadId: string): Promise<void> {
      this.#last.delete(threadId);
    }
  })();
  return { saver, close: async () => {} };
}
