import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { on, takes } from "./on.ts";

/** A shopping cart. A step takes a while, so that histories have durations to show. */
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
    await afterAllHaveRead(saver, wishes.length, () =>
      Promise.allSettled(wishes.map((wish) => cart.invoke({ wish }, { ...thread, durability }))),
    );
    await cart.invoke({ wish: "chain" }, thread);
  }
}

/** Lets no run write before all of them have read the head: all begin from the same one, however busy the machine is. */
async function afterAllHaveRead(saver: TierSaver, runs: number, work: () => Promise<unknown>): Promise<void> {
  const { tier } = saver;
  const { getTuple } = saver;
  const { append } = tier;
  let left = runs;
  let go: () => void = () => {};
  const all = new Promise<void>((resolve) => {
    go = resolve;
  });
  saver.getTuple = async (...args) => {
    const tuple = await getTuple.apply(saver, args);
    left -= 1;
    if (left === 0) go();
    return tuple;
  };
  tier.append = async (...args) => {
    await all;
    return await append.apply(tier, args);
  };
  try {
    await work();
  } finally {
    saver.getTuple = getTuple;
    tier.append = append;
  }
}
