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

/**
 * A compiled graph whose "agent" and "tools" nodes return the recorded messages one by one.
 * @param onNode told whenever a node begins
 */
export function player(
  checkpointer: BaseCheckpointSaver,
  langgraph: LangGraph,
  onNode: () => void = () => undefined,
): Player {
  const parts = new Map<unknown, Part>();
  const partOf = ({ configurable }: RunnableConfig): Part => parts.get(configurable?.["thread_id"])!;
  const next = (part: Part): BaseMessage[] => part.recording.slice(part.position, ++part.position);
  const graph = compile(
    checkpointer,
    (_state, config) => {
      onNode();
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
  return {
    begin(recording, threadId) {
      const part = { recording, position: 0, checkpoints: 0 };
      const config = {
        configurable: { thread_id: threadId },
        durability: "sync" as const,
        recursionLimit: 200,
      };
      parts.set(threadId, part);
      return {
        graph,
        config,
        async turn() {
          if (part.position >= recording.length) {
            parts.delete(threadId);
            return false;
          }
          part.checkpoints += 2;
          await graph.invoke({ messages: next(part) }, config);
          return true;
        },
        played: () => part.position,
        checkpoints: () => part.checkpoints,
      };
    },
  };
}

/** A recording on the one thread of a graph of its own. */
export function replay(
  recording: readonly BaseMessage[],
  checkpointer: BaseCheckpointSaver,
  langgraph: LangGraph,
  onNode?: () => void,
): Replay {
  return player(checkpointer, langgraph, onNode).begin(recording, "recorded");
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
