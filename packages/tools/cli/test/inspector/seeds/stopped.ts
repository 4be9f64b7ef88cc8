import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { failing, on } from "./on.ts";

/** Reviews a contract and asks a person before it signs. */
export function reviewAgent(checkpointer: TierSaver) {
  const Review = Annotation.Root({
    contract: Annotation<{ party: string; amount: number; clauses: string[] }>(),
    risks: Annotation<string[]>({ reducer: (risks, more) => [...risks, ...more], default: () => [] }),
    decision: Annotation<string>(),
  });
  return new StateGraph(Review)
    .addNode("read", ({ contract }) => ({
      risks: contract.clauses.filter((clause) => /penalty|exclusive/.test(clause)),
    }))
    .addNode("approve", ({ contract, risks }) => {
      const decision: unknown = interrupt({
        question: `Sign the contract with ${contract.party} over EUR ${contract.amount}?`,
        risks,
        options: ["sign", "reject", "renegotiate"],
      });
      return { decision: String(decision) };
    })
    .addNode("file", () => ({}))
    .addEdge(START, "read")
    .addEdge("read", "approve")
    .addEdge("approve", "file")
    .addEdge("file", END)
    .compile({ checkpointer });
}

/** Imports rows of three suppliers side by side, one of which fails. */
export function importAgent(checkpointer: TierSaver) {
  const Import = Annotation.Root({
    rows: Annotation<Record<string, number>>({
      reducer: (rows, more) => ({ ...rows, ...more }),
      default: () => ({}),
    }),
  });
  return new StateGraph(Import)
    .addNode("shimano", () => ({ rows: { shimano: 1204 } }))
    .addNode("sram", () => ({ rows: { sram: 873 } }))
    .addNode("campagnolo", () => {
      throw new TypeError("Cannot read properties of undefined (reading 'price')");
    })
    .addEdge(START, "shimano")
    .addEdge(START, "sram")
    .addEdge(START, "campagnolo")
    .compile({ checkpointer });
}

/** A run that waits for a person, one that a person answered, and one with a failed task. */
export async function seedStopped(saver: TierSaver): Promise<void> {
  const review = reviewAgent(saver);
  const clauses = [
    "1. Delivery within 14 days.",
    "2. A penalty of 5 % for each week of delay.",
    "3. The supplier is exclusive for three years.",
  ];
  const party = (name: string, amount: number) => ({ contract: { party: name, amount, clauses } });
  await review.invoke(party("Ridley", 48_000), on("review/ridley", "dana"));
  await review.invoke(party("Gazelle", 12_500), on("review/gazelle", "dana"));
  await review.invoke(new Command({ resume: "renegotiate" }), on("review/gazelle", "dana"));
  await failing(importAgent(saver).invoke({}, on("import/2026-11-22")));
}
