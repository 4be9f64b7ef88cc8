import { StratigraphError } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { threeNodes } from "./threeNodes.ts";

// One of two processes that race on one thread. Every round: read the thread, say so, wait for the start, run.
const [url, name, durability] = process.argv.slice(2) as [string, string, "sync" | "async" | "exit"];

export type RaceMessage =
  | { type: "up" }
  | { type: "read"; round: number }
  | { type: "done"; round: number; log: string[] | undefined; error: string | undefined }
  | { type: "unhandled"; error: string };

const tell = (message: RaceMessage) => void process.send?.(message);

// Reported, and left to do what it does by default: end the process.
process.on("unhandledRejection", (error) => {
  tell({ type: "unhandled", error: String(error) });
  throw error;
});

const saver = PostgresSaver.fromConnString(url);
let start: () => void = () => undefined;
let started = Promise.resolve();

// The first put of a run waits until the other process has read the thread as well.
const put = saver.put.bind(saver);
let round = 0;
let gated = false;
saver.put = async (...args) => {
  if (!gated) {
    gated = true;
    tell({ type: "read", round });
  }
  await started;
  return await put(...args);
};

const graph = threeNodes(saver);
process.on("message", async (order: { run: number } | "start" | "end") => {
  if (order === "start") return start();
  if (order === "end") {
    await saver.end();
    process.exit(0);
  }
  round = order.run;
  gated = false;
  started = new Promise((resolve) => (start = resolve));
  const config = { configurable: { thread_id: "race" }, durability };
  try {
    const { log } = await graph.invoke({ last: `${name}${round}` }, config);
    tell({ type: "done", round, log, error: undefined });
  } catch (error) {
    const code = StratigraphError.is(error) ? error.code : String(error);
    tell({ type: "done", round, log: undefined, error: code });
  }
});
tell({ type: "up" });
