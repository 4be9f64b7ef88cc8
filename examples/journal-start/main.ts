/** Runs the first code of docs/guides/journal.md, and checks it. */
import { strict as assert } from "node:assert";
// #region start
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { createJournal } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";

const checkpointer = await createCheckpointer({ memory: true });
const journal = createJournal(checkpointer);

let shipping = "on strike";
let calls = 0;
const graph = new StateGraph(Annotation.Root({ order: Annotation<string>, receipt: Annotation<string> }))
  .addNode("sell", async ({ order }, config) => {
    const receipt = await journal.run(config, { id: "charge", args: { order } }, () => {
      calls += 1; // the bank is called
      return `receipt for ${order}`;
    });
    if (shipping === "on strike") throw new Error("nobody ships it");
    return { receipt };
  })
  .addEdge(START, "sell")
  .addEdge("sell", END)
  .compile({ checkpointer });

const config = { configurable: { thread_id: "ada" } };
await graph.invoke({ order: "7 apples" }, config).catch((error: Error) => console.log(error.message));
shipping = "at work";
const { receipt } = await graph.invoke(null, config); // the node runs again, and the bank isn't called
console.log(`${receipt}; the bank was called ${calls} time`);

await journal.end();
await checkpointer.end();
// #endregion

assert.equal(calls, 1);
assert.equal(receipt, "receipt for 7 apples");
