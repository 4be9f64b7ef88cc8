import { createRequire } from "node:module";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { type LangChain, readRecording } from "../recording.ts";
import { type LangGraph, replay } from "../replay.ts";
import { openSaver } from "../savers.ts";

/** Input of the job. */
export interface BuildInput {
  /** How the application loads LangGraph and LangChain. Stratigraph is loaded as ESM either way. */
  build: "esm" | "cjs";
  /** "floor" keeps the last checkpoint by reference and stores nothing. */
  saver: "floor" | "memory" | "postgres";
  url: string;
  schema: string;
  conversationsFile: string;
  conversations: number;
}

/** Times in milliseconds; CPU is that of this process, all its threads included. */
export interface BuildResult {
  wall: number;
  cpu: number;
  /** Which class the first message is an instance of after it was read: the application's or not. */
  ownClass: boolean;
}

/** Conversations that are replayed before anything is measured: V8 compiles while it runs. */
const WARM_UP = 8;

/** Replays the recording on one thread with LangGraph and its messages of one build. */
export async function job(input: BuildInput): Promise<BuildResult> {
  const require = createRequire(import.meta.url);
  const cjs = input.build === "cjs";
  const langgraph = (cjs ? require("@langchain/langgraph") : undefined) as LangGraph | undefined;
  const messages = (cjs ? require("@langchain/core/messages") : undefined) as LangChain | undefined;
  const run = async (conversations: number, schema: string): Promise<BuildResult> => {
    const recording = readRecording(input.conversationsFile, conversations, messages);
    const HumanMessage = recording.find((message) => message.getType() === "human")?.constructor;
    const { saver, close } =
      input.saver === "floor"
        ? { saver: new FloorSaver(), close: async () => {} }
        : await openSaver(input.saver, { url: input.url, schema });
    const thread = replay(recording, saver, undefined, langgraph);
    const before = process.cpuUsage();
    const start = performance.now();
    while (await thread.turn());
    const wall = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    const { values } = await thread.graph.getState(thread.config);
    const read = (values as { messages: typeof recording }).messages;
    if (read.length !== recording.length) throw new Error("the final state is not what was replayed");
    const human = read.find((message) => message.getType() === "human");
    await close();
    return { wall, cpu: (user + system) / 1000, ownClass: human?.constructor === HumanMessage };
  };
  await run(Math.min(WARM_UP, input.conversations), `${input.schema}_warm`);
  globalThis.gc?.();
  return await run(input.conversations, input.schema);
}

/** Hands back what it was given last: what a run takes without any saver. */
class FloorSaver extends BaseCheckpointSaver {
  #last: CheckpointTuple | undefined;

  override async getTuple(): Promise<CheckpointTuple | undefined> {
    return this.#last;
  }

  override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) {
    const { thread_id, checkpoint_ns = "" } = config.configurable ?? {};
    const next = { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id } };
    this.#last = { config: next, checkpoint, metadata, pendingWrites: [] };
    return next;
  }

  override async putWrites(): Promise<void> {}

  override async *list(): AsyncGenerator<CheckpointTuple> {}

  override async deleteThread(): Promise<void> {}
}
