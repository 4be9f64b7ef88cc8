// One process of the agent. It tells its parent what it does, and the parent may kill it at any time.
import { HumanMessage } from "@langchain/core/messages";
import { PostgresSaver } from "@stratigraph/postgres";
import { tripAgent } from "./trip.ts";

const [folder, forkFrom] = process.argv.slice(2) as [string, string | undefined];
const config = { configurable: { thread_id: "trip-1" }, durability: "sync" as const, recursionLimit: 100 };

const saver = PostgresSaver.embedded(folder);
await saver.setup();
const graph = tripAgent(saver, async (step, plan) => {
  process.send!({ at: "begins", step, plan });
  await new Promise((resolve) => setTimeout(resolve, 60));
  process.send!({ at: "ends", step, plan });
});

if (forkFrom === undefined) {
  const { values } = await graph.getState(config);
  const begun = (values as { step?: number }).step !== undefined;
  process.send!({ at: "starts", step: begun ? (values as { step: number }).step : 0 });
  // Pass input on the first start. null means: go on from the last checkpoint.
  await graph.invoke(begun ? null : { messages: [new HumanMessage("Book me a trip to Lisbon.")] }, config);
} else {
  for await (const { config: then, values, next } of graph.getStateHistory(config)) {
    if ((values as { step: number }).step !== Number(forkFrom) || next[0] !== "agent") continue;
    const main = (await graph.getState(config)).config;
    const fork = await graph.updateState(then, { plan: "cheap" });
    await graph.invoke(null, { ...fork, durability: "sync" as const, recursionLimit: 100 });
    const tip = (await graph.getState(config)).config;
    process.send!({
      at: "forked",
      main: main.configurable!["checkpoint_id"],
      fork: tip.configurable!["checkpoint_id"],
    });
    break;
  }
}
await saver.end();
process.disconnect();
