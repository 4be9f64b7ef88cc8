import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { StratigraphError } from "@stratigraph/core";

/** What a racer tells the test. */
export type RaceMessage =
  | { type: "up" }
  | { type: "read"; round: number }
  | { type: "done"; round: number; log: string[] | undefined; error: string | undefined }
  | { type: "unhandled"; error: string };

/** What the test tells a racer. */
export type RaceOrder = { run: number } | "start" | "end";

/** A graph whose nodes add to `log`. */
interface RaceGraph {
  invoke(
    input: { last: string },
    config: { configurable: { thread_id: string }; durability: "sync" | "async" | "exit" },
  ): Promise<{ log: string[] }>;
}

interface Racer<Saver extends BaseCheckpointSaver> {
  /** Every run is called `<name><round>`. */
  readonly name: string;
  readonly durability: "sync" | "async" | "exit";
  readonly saver: Saver & { end(): Promise<void> };
  readonly compile: (saver: Saver) => RaceGraph;
}

/**
 * Has this process be one of two that race on the thread "race". In every round it reads the thread, says so, waits for the start,
 * and runs the graph.
 */
export function race<Saver extends BaseCheckpointSaver>({
  name,
  durability,
  saver,
  compile,
}: Racer<Saver>): void {
  const tell = (message: RaceMessage) => void process.send?.(message);
  // The rejection is reported and then ends the process, as it does by default.
  process.on("unhandledRejection", (error) => {
    tell({ type: "unhandled", error: String(error) });
    throw error;
  });

  let round = 0;
  let hasRead = false;
  let start: () => void = () => undefined;
  let started = Promise.resolve();
  const put = saver.put.bind(saver);
  // The first put of a run waits until the other process has read the thread as well.
  saver.put = async (...args) => {
    if (!hasRead) {
      hasRead = true;
      tell({ type: "read", round });
    }
    await started;
    return await put(...args);
  };

  const graph = compile(saver);
  process.on("message", async (order: RaceOrder) => {
    if (order === "start") return start();
    if (order === "end") {
      await saver.end();
      process.exit(0);
    }
    round = order.run;
    hasRead = false;
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
}
