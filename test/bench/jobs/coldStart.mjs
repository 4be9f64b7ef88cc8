// What a program does that starts, runs a graph once and ends. No tsx and no TypeScript: it measures the built packages alone.
import { createRequire } from "node:module";

const input = JSON.parse(process.argv[2]);
const require = createRequire(import.meta.url);
const load = (specifier) => (input.build === "cjs" ? require(specifier) : import(specifier));
const times = {};
let cpu = process.cpuUsage().user + process.cpuUsage().system;
let before = performance.now();
const lap = (name) => {
  const now = performance.now();
  times[name] = now - before;
  const used = process.cpuUsage();
  times[name + "Cpu"] = (used.user + used.system - cpu) / 1000;
  cpu = used.user + used.system;
  before = performance.now();
};

const { Annotation, START, StateGraph } = await load("@langchain/langgraph");
lap("langgraph");
const Saver = (await load(input.specifier))[input.saver];
lap("import");
const saver = input.url === undefined ? new Saver() : Saver.fromConnString(input.url, { schema: input.schema });
if (input.url !== undefined) await saver.setup();
lap("setup");
const graph = new StateGraph(Annotation.Root({ text: Annotation(), steps: Annotation() }))
  .addNode("answer", ({ text }) => ({ steps: [text, text.length, "answered"] }))
  .addEdge(START, "answer")
  .compile({ checkpointer: saver });
const config = { configurable: { thread_id: input.thread } };
lap("compile");
await graph.invoke({ text: "x".repeat(input.bytes) + input.thread }, config);
lap("invoke");
await graph.invoke({ text: "again" }, config);
lap("second");
if (input.url !== undefined) await saver.end();
lap("end");
process.stdout.write(JSON.stringify({ ...times, endedAt: Date.now() }));
