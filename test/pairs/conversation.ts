import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

export type Channel = "plain" | "delta";
export type Durability = "sync" | "async" | "exit";

/** What tells one token's value from all others', long enough for a blob of its own. */
const filler = "and so on ".repeat(12);

/** The value of a token, as it is in a channel. */
export function valueOf(token: string): string {
  return `${token} ${filler}`;
}

/** The token of a value. */
export function tokenOf(value: string): string {
  return value.slice(0, value.indexOf(" "));
}

const append = (line: string[], more: string[][]): string[] => [...line, ...more.flat()];

function stateOf(channel: Channel) {
  return Annotation.Root({
    line:
      channel === "delta"
        ? () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 })
        : Annotation<string[]>({ reducer: (line, more) => [...line, ...more], default: () => [] }),
  });
}

/**
 * A graph that makes a turn of four tokens: the input, what a says to it, and what b and c say at the same time. Each takes a
 * while, so that others come between.
 */
export function conversationOn(checkpointer: BaseCheckpointSaver, channel: Channel) {
  const says = (part: string, tookMs: number) => async (state: { line: string[] }) => {
    await new Promise((resolve) => {
      setTimeout(resolve, tookMs);
    });
    const turn = tokenOf(state.line.findLast((value) => tokenOf(value).endsWith(".in"))!).slice(0, -3);
    return { line: [valueOf(`${turn}.${part}`)] };
  };
  return new StateGraph(stateOf(channel))
    .addNode("a", says("a", 10))
    .addNode("b", says("b", 10))
    .addNode("c", says("c", 20))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("a", "c")
    .compile({ checkpointer });
}

export type Conversation = ReturnType<typeof conversationOn>;

/** Everything that a turn says. */
export function tokensOf(turn: string): string[] {
  return ["in", "a", "b", "c"].map((part) => `${turn}.${part}`);
}
