import { Annotation, END, Send, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { on, takes } from "./on.ts";

export interface Finding {
  readonly source: string;
  readonly title: string;
  readonly year: number;
  readonly relevance: number;
}

const Research = Annotation.Root({
  question: Annotation<string>(),
  sources: Annotation<string[]>(),
  findings: Annotation<Finding[]>({ reducer: (found, more) => [...found, ...more], default: () => [] }),
  report: Annotation<string>(),
});

const Writing = Annotation.Root({
  question: Annotation<string>(),
  findings: Annotation<Finding[]>(),
  headings: Annotation<string[]>(),
  report: Annotation<string>(),
});

const Written = Annotation.Root({ report: Annotation<string>() });

/** Three searches side by side, and a writer that is a subgraph with steps of its own. */
export function researchAgent(checkpointer: TierSaver) {
  const writer = new StateGraph({ state: Writing, output: Written })
    .addNode("outline", ({ findings }) => ({ headings: findings.map(({ title }) => title) }))
    .addNode("draft", async ({ question, headings }) => {
      await takes(4);
      return {
        report: `# ${question}\n\n${headings.map((line) => `## ${line}\n\nTo be read.`).join("\n\n")}`,
      };
    })
    .addEdge(START, "outline")
    .addEdge("outline", "draft")
    .addEdge("draft", END)
    .compile({ checkpointer: true });
  return new StateGraph(Research)
    .addNode("plan", () => ({ sources: ["papers", "patents", "news"] }))
    .addNode("search", async ({ sources: [source = ""] }: typeof Research.State) => {
      await takes(source === "papers" ? 12 : 3);
      return {
        findings: [
          { source, title: `Recovery of lithium from black mass (${source})`, year: 2025, relevance: 0.91 },
          { source, title: `Second life of traction batteries (${source})`, year: 2024, relevance: 0.74 },
        ],
      };
    })
    .addNode("write", writer)
    .addEdge(START, "plan")
    .addConditionalEdges(
      "plan",
      (state) => state.sources.map((source) => new Send("search", { ...state, sources: [source] })),
      ["search"],
    )
    .addEdge("search", "write")
    .addEdge("write", END)
    .compile({ checkpointer });
}

/** Parallel nodes, and a namespace below the root. */
export async function seedResearch(saver: TierSaver): Promise<void> {
  await researchAgent(saver).invoke(
    { question: "How are bicycle batteries recycled?" },
    on("research/batteries", "clara"),
  );
}
