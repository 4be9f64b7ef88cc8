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
const begun = new Set<number>();
const runs = Array.from({ length: 8 }, (_, n) => {
  const graph = stepsGraph(saver, 2000, {
    inStep: async (step) => {
      if (step > 2) begun.add(n);
      await sleep(1);
    },
  });
  const durability = n % 2 === 0 ? ("sync" as const) : ("async" as const);
  const config = { configurable: { thread_id: `run ${n}` }, durability, recursionLimit: 5000 };
  return graph.invoke({ log: [] }, config);
});
const ends = Promise.allSettled(runs);
while (begun.size < runs.length) await sleep(5);
process.send!({ type: "under way" } satisfies EndMessage);
await Promise.all([saver.end(), saver.end()]);
await saver.end();
const codes = (await ends).map((end) =>
  end.status === "rejected" ? (end.reason as { code?: string }).code : undefined,
);
process.send!({ type: "ended", codes } satisfies EndMessage);
process.disconnect();
