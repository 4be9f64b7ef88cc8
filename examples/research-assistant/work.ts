/** The assistant at work, in a process of its own, on the topics that it is given. */
import { checkpointer, graph } from "./assistant.ts";

await graph.invoke(
  { topics: process.argv.slice(2) },
  { configurable: { thread_id: "trip" }, durability: "sync" },
);
await checkpointer.end();
