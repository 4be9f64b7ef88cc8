import { appendFileSync } from "node:fs";
import { createJournal } from "@stratigraph/journal";
import { PostgresSaver } from "@stratigraph/postgres";
import { payingGraph } from "./payingGraph.ts";

// Pays, and kills itself before the payment is recorded.

const [url = "", world = ""] = process.argv.slice(2);
const saver = PostgresSaver.fromConnString(url);
const graph = payingGraph(saver, createJournal(saver), (order) => {
  appendFileSync(world, `paid ${order}\n`);
  process.kill(process.pid, "SIGKILL");
  return "never told";
});
await graph.invoke({ order: "7 apples" }, { configurable: { thread_id: "ada" }, durability: "sync" });
