// A program that starts, goes on with a thread by a graph whose node makes one call through the journal, and ends, as the section
// "journal" measures it. No TypeScript: it loads what an application loads.
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { createJournal } from "@stratigraph/journal";
import { PostgresSaver } from "@stratigraph/postgres";

const { url, schema, thread, turns } = JSON.parse(process.argv[2]);
const saver = PostgresSaver.fromConnString(url, { schema });
const journal = createJournal(saver);
const pay = () => ({ receipt: "r-1846" });
const graph = new StateGraph(
  Annotation.Root({ turns: Annotation({ reducer: (all, more) => [...all, ...more], default: () => [] }) }),
)
  .addNode("agent", async (_, config) => {
    const call = { id: `pay in ${process.pid}`, tool: "pay", args: { amount: 7 }, effects: "once" };
    const { receipt } = await journal.run(config, call, pay);
    return { turns: [`Paid, the receipt is ${receipt}.`] };
  })
  .addEdge(START, "agent")
  .compile({ checkpointer: saver });

const { user, system } = process.cpuUsage();
const start = performance.now();
await graph.invoke({ turns }, { configurable: { thread_id: thread } });
const wall = performance.now() - start;
const spent = process.cpuUsage({ user, system });
await journal.end();
await saver.end();
process.stdout.write(JSON.stringify({ wall, cpu: (spent.user + spent.system) / 1000 }));
