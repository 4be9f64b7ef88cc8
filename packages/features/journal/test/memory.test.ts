import { AsyncLocalStorage } from "node:async_hooks";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { expect, test } from "vitest";
import { isCollected } from "../../../../test/collected.ts";

test("a journal keeps nothing of the runs whose calls it recorded", async () => {
  const checkpointer = new MemorySaver();
  const journal = createJournal(checkpointer);
  const graph = new StateGraph(Annotation.Root({ receipt: Annotation<string>, ...journal.channel }))
    .addNode("pay", async (_state, config) => ({
      receipt: await journal.run(config, { id: "pay", args: {}, effects: "once" }, async () => "paid"),
    }))
    .addEdge(START, "pay")
    .addEdge("pay", END)
    .compile({ checkpointer });
  // LangGraph holds the run of a graph in the same way: in the context of all that happens in it.
  const contexts = new AsyncLocalStorage<object>();
  const ofRun = async (thread_id: string): Promise<WeakRef<object>> => {
    const context = {};
    const result = await contexts.run(context, () =>
      graph.invoke({ receipt: "" }, { configurable: { thread_id } }),
    );
    expect(result.receipt).toBe("paid");
    return new WeakRef(context);
  };
  // The first run begins what the process goes on with: the timer that says that it lives, for one.
  await ofRun("first");
  const runs = [await ofRun("second"), await ofRun("third")];
  for (const run of runs) expect(await isCollected(run)).toBe(true);
  await journal.end();
});
