import { fork, merge } from "@stratigraph/branch";
import { PostgresSaver } from "@stratigraph/postgres";
import { chat, human, on } from "./graphs.ts";

// Forks a thread, lets the fork go on and merges it back, again and again until it is killed; reports what was acknowledged.
const [url, from, to] = process.argv.slice(2) as [string, string, string];

export type MergeMessage =
  | { type: "forked"; fork: string }
  | { type: "merged"; fork: string; checkpointId: string };

const tell = (message: MergeMessage): void => void process.send?.(message);
const saver = PostgresSaver.fromConnString(url);
const graph = chat(saver);
const strategy = { sum: "reducer" } as const;
for (let n = 0; ; n += 1) {
  const { threadId } = await fork(saver, { threadId: from }, { to: `${to} ${n}` });
  tell({ type: "forked", fork: threadId });
  await graph.updateState(on(threadId), { messages: [human(threadId, threadId)], sum: 1 });
  const result = await merge(graph, from, { threadId }, { strategy, fastForward: n % 2 === 0 });
  if (result.status === "conflict") throw new Error("conflict");
  tell({ type: "merged", fork: threadId, checkpointId: result.config.configurable.checkpoint_id });
}
