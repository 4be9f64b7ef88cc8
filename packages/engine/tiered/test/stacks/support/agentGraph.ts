import {
  Annotation,
  Command,
  END,
  START,
  Send,
  StateGraph,
  interrupt,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  total: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  topic: Annotation<number>(),
});

const line = (what: string, n: number): string => `${what} ${n} ${"0123456789".repeat(1 + ((n * 7) % 30))}`;

/** A turn of it: a plan, three tasks side by side, a question to the user (an interrupt), and an answer. */
export function agentGraph(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(State)
    .addNode("plan", ({ topic }) => ({ log: [line("plan", topic)] }))
    .addNode("work", ({ topic }) => ({ log: [line("work", topic)], total: topic }))
    .addNode("ask", ({ topic }) => {
      const answer = interrupt(`go on with ${topic}?`) as number;
      return { log: [line("answer", answer)], total: answer };
    })
    .addEdge(START, "plan")
    .addConditionalEdges("plan", ({ topic }) =>
      [1, 2, 3].map((part) => new Send("work", { topic: topic * 10 + part })),
    )
    .addEdge("work", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
}

/** A thread of an agent. */
export interface AgentConfig {
  readonly configurable: { readonly thread_id: string };
  readonly durability?: "sync" | "async" | "exit";
}

/** Runs turn `n` up to its question. `open` gives the saver: a process of its own for every call. */
export async function askTurn(open: () => BaseCheckpointSaver, config: AgentConfig, n: number) {
  return await agentGraph(open()).invoke({ topic: n, log: [line("in", n)] }, config);
}

/** Answers the question of turn `n`; after every third turn the state is corrected by hand. Returns the state. */
export async function answerTurn(open: () => BaseCheckpointSaver, config: AgentConfig, n: number) {
  await agentGraph(open()).invoke(new Command({ resume: n }), config);
  if (n % 3 === 0) await agentGraph(open()).updateState(config, { log: [line("corrected", n)] }, "ask");
  return (await agentGraph(open()).getState(config)).values;
}

/** All of a thread that doesn't differ from run to run: every state of its history, newest first. */
export async function historyOf(saver: BaseCheckpointSaver, config: AgentConfig) {
  const states = [];
  for await (const { values, next, metadata, tasks } of agentGraph(saver).getStateHistory(config)) {
    const questions = tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value as unknown));
    states.push({ values, next, source: metadata?.source, step: metadata?.step, questions });
  }
  return states;
}
