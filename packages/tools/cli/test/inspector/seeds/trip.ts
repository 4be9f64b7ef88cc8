import { type AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { edit, forkMany, merge } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { on, says, takes } from "./on.ts";

/** Ways of looking for a place to stay: what each one calls, costs and finds. */
const STRATEGIES: Readonly<Record<string, { tools: string[]; tokens: number; price: number; place: string }>> = {
  plan: { tools: ["read_request"], tokens: 180, price: 0, place: "" },
  cheapest: { tools: ["search_hostels", "compare_prices"], tokens: 310, price: 38, place: "Hostel Alfama" },
  central: { tools: ["search_hotels", "read_map", "compare_prices"], tokens: 520, price: 129, place: "Hotel Baixa" },
  thorough: { tools: ["search_hotels", "search_hostels", "read_reviews", "read_map"], tokens: 1450, price: 74, place: "Pensão Graça" },
}; // prettier-ignore

const Trip = Annotation.Root({
  ...MessagesAnnotation.spec,
  strategy: Annotation<string>(),
  step: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  place: Annotation<string>(),
  price: Annotation<number>(),
});

/** Looks for a place to stay by a strategy of its state: editing that changes what comes of a run. */
export function tripAgent(checkpointer: TierSaver) {
  return new StateGraph(Trip)
    .addNode("agent", async ({ strategy, step, messages }) => {
      await takes(3);
      const { tools, tokens, price, place } = STRATEGIES[strategy] ?? STRATEGIES["plan"]!;
      const name = tools[step];
      const total = Math.round(tokens / (tools.length + 1));
      const id = `${strategy}-${messages.length}`;
      const usage = { input_tokens: total - 20, output_tokens: 20, total_tokens: total };
      const call = { name: name ?? "", args: { city: "Lisbon", nights: 4 }, id: `call-${id}` };
      const text =
        place === "" ? "Four nights in Lisbon, in May. I look for a place." : `${place}, €${price} a night`;
      const message = says({
        id,
        content: name === undefined ? text : "",
        tool_calls: name === undefined ? [] : [{ ...call, type: "tool_call" as const }],
        usage_metadata: usage,
      });
      return name === undefined && place !== ""
        ? { messages: [message], place, price }
        : { messages: [message] };
    })
    .addNode("tools", async ({ messages, step }) => {
      await takes(2);
      const call = (messages.at(-1) as AIMessage).tool_calls![0]!;
      const said = {
        id: `done-${call.id}`,
        content: `${call.name}: 12 results`,
        tool_call_id: call.id!,
        name: call.name,
      };
      return { messages: [new ToolMessage(said)], step: step + 1 };
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls ?? []).length > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer });
}

/** A thread, three forks of it that tried a strategy each, one merged back; one edited by hand. */
export async function seedTrip(saver: TierSaver): Promise<void> {
  const agent = tripAgent(saver);
  const ada = "ada";
  const ask = (id: string, content: string) => new HumanMessage({ id, content });
  await agent.invoke(
    { messages: [ask("ask", "A trip to Lisbon, please.")], strategy: "plan" },
    on("trip to Lisbon", ada),
  );
  const names = ["cheapest", "central", "thorough"];
  const forks = await forkMany(
    saver,
    { threadId: "trip to Lisbon" },
    names.map((name) => `trip to Lisbon/${name}`),
  );
  for (const [n, { threadId }] of forks.entries())
    await agent.invoke(
      { messages: [ask(`find-${names[n]!}`, "Find a place to stay.")], strategy: names[n]!, step: 0 },
      on(threadId, ada),
    );
  await agent.updateState(on("trip to Lisbon", ada), { messages: [ask("wish", "With a balcony.")] }, "agent");
  const merged = await merge(agent, "trip to Lisbon", { threadId: "trip to Lisbon/thorough" });
  if (merged.status !== "merged") throw new Error(`the fork was to be merged, and is ${merged.status}`);
  const tip = await saver.getTuple(on("trip to Lisbon/cheapest"));
  const at = { threadId: "trip to Lisbon/cheapest", namespace: "", checkpointId: tip!.checkpoint.id };
  await edit(saver, at, { price: 35, place: "Hostel Alfama (with breakfast)" });
}
