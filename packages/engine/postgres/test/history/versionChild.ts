import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@stratigraph/postgres";
import { createHash } from "node:crypto";

// One Node version among several on one thread: reads all that is there, then goes on with it.
const [url, encrypted, first, last] = process.argv.slice(2) as [string, string, string, string];

export interface VersionReport {
  readonly node: string;
  /** SHA-256 of every checkpoint as JSON, newest first. */
  readonly read: readonly (readonly [id: string, hash: string])[];
}

const encryption = {
  keys: { one: new Uint8Array(32).fill(1) },
  activeKey: "one",
  hashKey: new Uint8Array(32).fill(2),
  refusePlaintext: true,
};
const saver = PostgresSaver.fromConnString(url, encrypted === "yes" ? { encryption } : {});
const thread = { thread_id: "t", checkpoint_ns: "" };

function digits(n: number, length: number): string {
  let text = "";
  for (let i = 0; text.length < length; i += 1)
    text += createHash("sha256").update(`${n} ${i}`).digest("hex");
  return text.slice(0, length);
}

interface Values {
  log: { role: string; content: string; id: string }[];
  big: string;
  bytes: Uint8Array;
  toggle: string;
  at: Date;
}

for (let n = Number(first); n <= Number(last); n += 1) {
  const head = await saver.getTuple({ configurable: thread });
  const before = head?.checkpoint.channel_values as Values | undefined;
  const values: Values = {
    // A few hundred bytes of prose: what the dictionary is for.
    log: [
      ...(before?.log ?? []),
      { role: n % 2 === 0 ? "assistant" : "user", content: digits(n, 200), id: `m${n}` },
    ],
    big: n % 7 === 1 ? digits(n, 70_000) : `${before?.big.slice(0, 65_000)}${n}`,
    bytes: Uint8Array.from([...(before?.bytes ?? []), n, 0, 255]),
    toggle: digits(n % 2, 700),
    at: new Date(n * 1000),
  };
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, n]));
  const config: RunnableConfig = head?.config ?? { configurable: thread };
  const checkpoint = {
    ...emptyCheckpoint(),
    id: `1f000000-0000-6000-8000-${n.toString(16).padStart(12, "0")}`,
    ts: new Date(n).toISOString(),
    channel_values: { ...values },
    channel_versions: versions,
  };
  const at = await saver.put(config, checkpoint, { source: "loop", step: n, parents: {} }, versions);
  await saver.putWrites(
    at,
    [
      ["log", digits(n, 3000)],
      ["toggle", values.toggle],
      ["at", n],
    ],
    "task",
  );
}

const read: [string, string][] = [];
for await (const { checkpoint, pendingWrites, metadata } of saver.list({
  configurable: { thread_id: "t" },
})) {
  const all = JSON.stringify([checkpoint, pendingWrites, metadata]);
  read.push([checkpoint.id, createHash("sha256").update(all).digest("hex")]);
}
await saver.end();
process.send?.({ node: process.version, read } satisfies VersionReport);
process.disconnect();
