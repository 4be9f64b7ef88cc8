import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { on, takes } from "./on.ts";

/** A shopping cart. A step takes long enough for two runs that begin at once to overlap. */
export function cartAgent(checkpointer: TierSaver) {
  const Cart = Annotation.Root({
    items: Annotation<string[]>({ reducer: (items, more) => [...items, ...more], default: () => [] }),
    wish: Annotation<string>(),
    total: Annotation<number>({ reducer: (total, more) => total + more, default: () => 0 }),
  });
  return new StateGraph(Cart)
    .addNode("add", async ({ wish }) => {
      await takes(20);
      return { items: [wish], total: wish.length * 10 };
    })
    .addEdge(START, "add")
    .compile({ checkpointer });
}

/** Two runs on one thread at once, of which one loses and is kept as a side branch; then again, where the loser doesn't notice. */
export async function seedRace(saver: TierSaver): Promise<void> {
  const cart = cartAgent(saver);
  const thread = on("cart 88", "bruno");
  await cart.invoke({ wish: "saddle" }, thread);
  for (const durability of ["sync", "async"] as const) {
    const wishes = durability === "sync" ? ["pump", "bell"] : ["rack", "lock"];
    await Promise.allSettled(wishes.map((wish) => cart.invoke({ wish }, { ...thread, durability })));
    await cart.invoke({ wish: "chain" }, thread);
  }
}
