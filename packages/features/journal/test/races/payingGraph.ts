import { tool } from "@langchain/core/tools";
import type { TierSaver } from "@stratigraph/core";
import { z } from "zod";
import type { Journal } from "../../src/index.ts";
import { agentOf, asks, says } from "../support/effects.ts";

/** An agent that pays 5, and then 6, and is done. */
export function payingGraph(journal: Journal, saver: TierSaver, pay: (amount: number) => Promise<string>) {
  const paying = tool(async ({ amount }: { amount: number }) => await pay(amount), {
    name: "pay",
    description: "pays",
    schema: z.object({ amount: z.number() }),
  });
  return agentOf(
    journal,
    journal.tools([paying], { pay: "once" }),
    (turn) => (turn < 2 ? asks({ name: "pay", args: { amount: 5 + turn } }) : says("done")),
    saver,
  );
}

export const begins = { messages: [{ role: "user", content: "pay" }] };
