import { PostgresSaver } from "@stratigraph/postgres";
import { stepsGraph } from "./stepsGraph.ts";

// Runs a graph and reports every acknowledged put and putWrites, until it is killed.
const [kind, where, threadId, steps, durability] = process.argv.slice(2) as [
  "url" | "folder",
  string,
  string,
  string,
  "sync" | "async",
];

export type KillMessage =
  | { type: "put"; id: string; log: string[] | undefined }
  | { type: "writes"; id: string; taskId: string; channels: string[] }
  | { type: "end" };

const tell = (message: KillMessage) => void process.send?.(message);

const saver = kind === "url" ? PostgresSaver.fromConnString(where) : PostgresSaver.embedded(where);
const put = saver.put.bind(saver);
saver.put = async (config, checkpoint, ...rest) => {
  const stored = await put(config, checkpoint, ...rest);
  // A default that no node wrote yet has no version, and isn't stored.
  const log = "log" in checkpoint.channel_versions ? checkpoint.channel_values["log"] : undefined;
  tell({ type: "put", id: checkpoint.id, log: log as string[] | undefined });
  return stored;
};
const putWrites = saver.putWrites.bind(saver);
saver.putWrites = async (config, writes, taskId) => {
  await putWrites(config, writes, taskId);
  const id = config.configurable?.["checkpoint_id"] as string;
  tell({ type: "writes", id, taskId, channels: writes.map(([channel]) => channel) });
};

const config = { configurable: { thread_id: threadId }, durability, recursionLimit: 1000 };
await stepsGraph(saver, Number(steps)).invoke({ log: [] }, config);
tell({ type: "end" });
