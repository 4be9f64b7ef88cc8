// A program that starts, runs a graph once and ends, as the section "cold" measures it. No TypeScript: it loads what an application loads.
import { createRequire } from "node:module";

const input = JSON.parse(process.argv[2]);
const require = createRequire(import.meta.url);
const load = (specifier) => (input.build === "cjs" ? require(specifier) : import(specifier));

const cpu = () => (process.cpuUsage().user + process.cpuUsage().system) / 1000;
const spent = {};
let [wallBefore, cpuBefore] = [performance.now(), cpu()];
function lap(step) {
  spent[step] = { wall: performance.now() - wallBefore, cpu: cpu() - cpuBefore };
  [wallBefore, cpuBefore] = [performance.now(), cpu()];
}

const { Annotation, START, StateGraph } = await load("@langchain/langgraph");
lap("langgraph");
const Saver = (await load(input.specifier))[input.export];
lap("import");
const inPostgres = input.url !== undefined;
const saver = inPostgres ? Saver.fromConnString(input.url, { schema: input.schema }) : new Saver();
if (inPostgres) await saver.setup();
lap("setup");
const graph = new StateGraph(Annotation.Root({ question: Annotation(), answer: Annotation() }))
  .addNode("agent", ({ question }) => ({
    answer: { text: `${question.length} characters`, steps: [1, 2, 3] },
  }))
  .addEdge(START, "agent")
  .compile({ checkpointer: saver });
const config = { configurable: { thread_id: input.thread } };
lap("compile");
await graph.invoke({ question: "Where is my parcel? ".repeat(10) + input.thread }, config);
lap("first invoke");
await graph.invoke({ question: "And when will it arrive?" }, config);
lap("second invoke");
if (inPostgres) await saver.end();
lap("end");
process.stdout.write(JSON.stringify({ spent, endedAt: Date.now() }));
