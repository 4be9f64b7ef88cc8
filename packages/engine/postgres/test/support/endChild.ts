import { setTimeout as sleep } from "node:timers/promises";
import { PostgresSaver } from "@stratigraph/postgres";
import { stepsGraph } from "./stepsGraph.ts";

/** What the child says: its runs are under way; end() was called and how they ended. */
export type EndMessage =
  | { readonly type: "under way" }
  | { readonly type: "ended"; readonly codes: readonly (string | undefined)[] };

// Runs graphs of both durabilities and calls end() while they are under way, twice.
const [kind, where] = process.argv.slice(2) as [string, string];
const saver = kind === "url" ? PostgresSaver.fromConnString(where) : PostgresSaver.embedded(where);
await saver.setup();
// None gets far ahead of the others: an async run that goes on after end() is told at its last step.
const steps = Array.from({ length: 8 }, () => 0);
let ending = false;
const isAhead = (step: number) => !ending && step > Math.min(...steps) + 5;
const runs = steps.map((_, n) => {
  const graph = stepsGraph(saver, 100, {
    inStep: async (step) => {
      steps[n] = step;
      do await sleep(1);
      while (isAhead(step));
    },
  });
  const durability = n % 2 === 0 ? ("sync" as const) : ("async" as const);
  const config = { configurable: { thread_id: `run ${n}` }, durability, recursionLimit: 200 };
  return graph.invoke({ log: [] }, config);
});
const ends = Promise.allSettled(runs);
while (Math.min(...steps) <= 2) await sleep(5);
ending = true;
process.send!({ type: "under way" } satisfies EndMessage);
await Promise.all([saver.end(), saver.end()]);
await saver.end();
const codes = (await ends).map((end) =>
  end.status === "rejected" ? (end.reason as { code?: string }).code : undefined,
);
process.send!({ type: "ended", codes } satisfies EndMessage);
process.disconnect();
