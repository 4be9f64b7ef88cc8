import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { LangGraph } from "./libraries.ts";

/** One thread on which a recording is replayed. */
export interface Replay {
  graph: ReturnType<typeof compile>;
  config: { configurable: { thread_id: string }; durability: "sync"; recursionLimit: number };
  /** Plays one turn: what the user said is the input, what followed is returned by the nodes. False at the end. */
  turn(): Promise<boolean>;
  /** Messages played so far. */
  played(): number;
  /** Checkpoints that the turns so far must have made: two per turn and one per node. */
  checkpoints(): number;
}

/** Recordings played on threads of one compiled graph, as many at the same time as one likes. */
export interface Player {
  begin(recording: readonly BaseMessage[], threadId: string): Replay;
}

/** What is played on one thread, and how far. */
interface Part {
  recording: readonly BaseMessage[];
  position: number;
  checkpoints: number;
}

/** Plays recordings on threads of one compiled graph: its "agent" and "tools" nodes return the recorded messages one by one. */
export function player(checkpointer: BaseCheckpointSaver, langgraph: LangGraph): Player {
  const parts = new Map<unknown, Part>();
  const partOf = ({ configurable }: RunnableConfig): Part => parts.get(configurable?.["thread_id"])!;
  const graph = graphOf(checkpointer, langgraph, partOf);
  return {
    begin(recording, threadId) {
      const part = { recording, position: 0, checkpoints: 0 };
      parts.set(threadId, part);
      return replayOf(graph, part, threadId, () => parts.delete(threadId));
    },
  };
}

/**
 * A recording on the one thread of a graph of its own, whatever id the caller gives that thread.
 * @param onNode told whenever a node begins
 */
export function replay(
  recording: readonly BaseMessage[],
  checkpointer: BaseCheckpointSaver,
  langgraph: LangGraph,
  onNode?: () => void,
): Replay {
  const part = { recording, position: 0, checkpoints: 0 };
  return replayOf(
    graphOf(checkpointer, langgraph, () => part, onNode),
    part,
    "recorded",
  );
}

function replayOf(graph: Replay["graph"], part: Part, thread_id: string, atEnd?: () => void): Replay {
  const config = { configurable: { thread_id }, durability: "sync" as const, recursionLimit: 200 };
  return {
    graph,
    config,
    async turn() {
      if (part.position >= part.recording.length) {
        atEnd?.();
        return false;
      }
      part.checkpoints += 2;
      await graph.invoke({ messages: next(part) }, config);
      return true;
    },
    played: () => part.position,
    checkpoints: () => part.checkpoints,
  };
}

function next(part: Part): BaseMessage[] {
  return part.recording.slice(part.position, ++part.position);
}

function graphOf(
  checkpointer: BaseCheckpointSaver,
  langgraph: LangGraph,
  partOf: (config: RunnableConfig) => Part,
  onNode?: () => void,
): Replay["graph"] {
  return compile(
    checkpointer,
    (_state, config) => {
      onNode?.();
      const part = partOf(config);
      part.checkpoints++;
      return { messages: next(part) };
    },
    (_state, config) => {
      const part = partOf(config);
      const type = part.recording[part.position]?.getType();
      return type === "ai" ? "agent" : type === "tool" ? "tools" : langgraph.END;
    },
    langgraph,
  );
}

function compile(
  checkpointer: BaseCheckpointSaver,
  speak: (state: unknown, config: RunnableConfig) => { messages: BaseMessage[] },
  route: (state: unknown, config: RunnableConfig) => "agent" | "tools" | LangGraph["END"],
  { END, MessagesAnnotation, START, StateGraph }: LangGraph,
) {
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", speak)
    .addNode("tools", speak)
    .addConditionalEdges(START, route, ["agent", "tools", END])
    .addConditionalEdges("agent", route, ["agent", "tools", END])
    .addConditionalEdges("tools", route, ["agent", "tools", END])
    .compile({ checkpointer });
}
