import { generateConversations } from "../generatedConversations.ts";
import { loadLibraries } from "../libraries.ts";
import { openSaver } from "../savers.ts";
import { median } from "../stats.ts";
import { storedBytes } from "../storedBytes.ts";
import type { SaverId } from "../types.ts";

export interface GrowingInput {
  saver: SaverId;
  url: string;
  schema: string;
  turns: number;
  /** How many turns lie between two points. */
  every: number;
}

/** After a number of turns: bytes of all tables and indexes, and the median time of the turns since the last point. */
export interface GrowthPoint {
  turns: number;
  bytes: number;
  ms: number;
}

/** One thread of questions and answers, turn by turn through a compiled graph of one node. */
export async function job({ saver: id, url, schema, turns, every }: GrowingInput): Promise<GrowthPoint[]> {
  const { langgraph } = await loadLibraries("esm");
  const texts = generateConversations().flatMap(({ traj }) => traj);
  const said = (role: string): string[] =>
    texts.filter((message) => message.role === role).map(({ content }) => String(content));
  const [questions, answers] = [said("user"), said("assistant").filter((text) => text !== "")];
  const { saver, close } = await openSaver(id, { url, schema });
  let turn = 0;
  const graph = new langgraph.StateGraph(langgraph.MessagesAnnotation)
    .addNode("agent", () => ({
      messages: [{ role: "assistant", content: answers[turn % answers.length]! }],
    }))
    .addEdge(langgraph.START, "agent")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "growing" } };
  const points: GrowthPoint[] = [];
  let times: number[] = [];
  for (turn = 1; turn <= turns; turn += 1) {
    const begin = performance.now();
    await graph.invoke(
      { messages: [{ role: "user", content: questions[turn % questions.length]! }] },
      config,
    );
    times.push(performance.now() - begin);
    if (turn % every !== 0) continue;
    points.push({ turns: turn, bytes: (await storedBytes(url, schema)).total, ms: median(times) });
    times = [];
  }
  await close();
  return points;
}
