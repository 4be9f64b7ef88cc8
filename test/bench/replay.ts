import type { BaseMessage } from "@langchain/core/messages";
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

/**
 * A compiled graph whose "agent" and "tools" nodes return the recorded messages one by one.
 * @param onNode told whenever a node begins
 */
export function replay(
  recording: readonly BaseMessage[],
  checkpointer: BaseCheckpointSaver,
  langgraph: LangGraph,
  onNode: () => void = () => undefined,
): Replay {
  let position = 0;
  let checkpoints = 0;
  const config = {
    configurable: { thread_id: "recorded" },
    durability: "sync" as const,
    recursionLimit: 200,
  };
  const next = (): BaseMessage[] => recording.slice(position, ++position);
  const graph = compile(
    checkpointer,
    () => {
      onNode();
      checkpoints++;
      return { messages: next() };
    },
    () => {
      const type = recording[position]?.getType();
      return type === "ai" ? "agent" : type === "tool" ? "tools" : langgraph.END;
    },
    langgraph,
  );
  return {
    graph,
    config,
    async turn() {
      if (position >= recording.length) return false;
      checkpoints += 2;
      await graph.invoke({ messages: next() }, config);
      return true;
    },
    played: () => position,
    checkpoints: () => checkpoints,
  };
}

function compile(
  checkpointer: BaseCheckpointSaver,
  speak: () => { messages: BaseMessage[] },
  route: () => "agent" | "tools" | LangGraph["END"],
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
