import { emptyCheckpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";

// Puts a large state, appends to it, and reads it with another saver; tells times and the most memory it took.
const [url, size] = process.argv.slice(2) as [string, string];

export interface LargeReport {
  readonly putMs: number;
  readonly appendMs: number;
  readonly getMs: number;
  /** Bytes of what each put stored. */
  readonly stored: readonly number[];
  readonly same: boolean;
  /** Most memory of this process, and before the first put, in bytes. */
  readonly peak: number;
  readonly start: number;
}

const open = async (): Promise<TierSaver> => {
  if (url === "memory") return new MemorySaver();
  const saver = PostgresSaver.fromConnString(url);
  await saver.setup();
  return saver;
};
const saver = await open();
const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };
const thread = { thread_id: `t ${size}`, checkpoint_ns: "" };
const log: string[] = [];
for (let bytes = 0; bytes < Number(size); bytes += 10_000) log.push(randomBytes(5_000).toString("hex"));

async function put(id: string, parent: string | undefined, version: number): Promise<number> {
  const checkpoint = {
    ...emptyCheckpoint(),
    id,
    channel_values: { log },
    channel_versions: { log: version },
  };
  const config = { configurable: { ...thread, ...(parent === undefined ? {} : { checkpoint_id: parent }) } };
  const began = performance.now();
  await saver.put(config, checkpoint, metadata, { log: version });
  return Math.round(performance.now() - began);
}

/** Of this program: maxRSS counts what its parent had when it was started, too, where Linux tells it. */
function peakBytes(): number {
  const status = existsSync("/proc/self/status") ? readFileSync("/proc/self/status", "utf8") : "";
  const kilobytes = /VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? process.resourceUsage().maxRSS;
  return Number(kilobytes) * 1024;
}

const start = process.memoryUsage().rss;
const putMs = await put("c1", undefined, 1);
log.push("one more line");
const appendMs = await put("c2", "c1", 2);
const reader = url === "memory" ? saver : await open();
const began = performance.now();
const tuple = await reader.getTuple({ configurable: thread });
const getMs = Math.round(performance.now() - began);
const hash = (value: unknown): string => createHash("sha256").update(JSON.stringify(value)).digest("hex");
const same = hash(tuple?.checkpoint.channel_values["log"]) === hash(log);
const stored = (await saver.tier.blobs(thread.thread_id)).map((blob) => blob.size);
const peak = peakBytes();
await reader.end();
if (reader !== saver) await saver.end();
process.send?.({ putMs, appendMs, getMs, stored, same, peak, start } satisfies LargeReport);
process.disconnect();
