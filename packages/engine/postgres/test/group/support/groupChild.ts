import { postgres } from "@stratigraph/postgres";
import { appendOf } from "./requests.ts";

// Writes all threads at the same time, round after round, and reports what was acknowledged.
const [url, name, order, count, rounds, prefix] = process.argv.slice(2) as [
  string,
  string,
  "up" | "down",
  string,
  string,
  string,
];

export type GroupMessage =
  | { type: "up" }
  | { type: "acked"; threads: string[]; id: string }
  | { type: "end" };

const tell = (message: GroupMessage) => void process.send?.(message);
const tier = postgres({ url, retryFor: "60s" });
const threads = Array.from({ length: Number(count) }, (_, n) => `${prefix} ${n}`);
if (order === "down") threads.reverse();

process.once("message", async () => {
  const last = new Map<string, string>();
  for (let round = 0; round < Number(rounds); round += 1) {
    const id = `${name} ${String(round).padStart(5, "0")}`;
    await Promise.all(
      threads.map(async (threadId) => {
        await tier.append(appendOf(threadId, id, last.get(threadId), { onConflict: "branch" }));
        last.set(threadId, id);
        if (order === "up") tell({ type: "acked", threads: [threadId], id });
      }),
    );
    if (order === "down") tell({ type: "acked", threads, id });
  }
  tell({ type: "end" });
  await tier.end();
  process.disconnect();
});
tell({ type: "up" });
