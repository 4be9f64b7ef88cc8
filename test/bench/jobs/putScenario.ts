import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointTuple,
  emptyCheckpoint,
  MemorySaver,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { openSaver, type Place } from "../savers.ts";
import { SCENARIOS, type ScenarioName, type ScenarioSize } from "../scenarios.ts";
import { median } from "../stats.ts";
import { storedBytes } from "../storedBytes.ts";
import type { SaverId } from "../types.ts";

/** Input of the job. */
export interface ScenarioInput extends Place, ScenarioSize {
  saver: SaverId;
  scenario: ScenarioName;
  /** getTuple calls for each median. */
  gets: number;
}

/** Times in milliseconds, sizes in bytes. */
export interface ScenarioResult {
  /** The last state as the official serializer writes it, and that text's SHA-256. */
  stateBytes: number;
  stateDigest: string;
  firstPut: number;
  putP50: number;
  getWarm: number;
  /** By a saver instance that has just been opened. */
  getCold: number;
  /** Blobs alone, whole ones and patches, of every put; undefined where there is no table of blobs. */
  blobs: number | undefined;
  /** Contents of bytea columns of the first put, and of the others on average. */
  payloadOfFirst: number;
  payloadPerPut: number;
  /** The same with all overhead of tables and indexes. */
  totalPerPut: number;
}

/** Puts the states of a scenario one after another, each on its parent, and reads the last one. */
export async function job(input: ScenarioInput): Promise<ScenarioResult> {
  const opened = await openSaver(input.saver, input);
  const empty = await storedBytes(input.url, input.schema);
  let first = empty;
  const puts: number[] = [];
  let parent: string | undefined;
  let values: Record<string, unknown> = {};
  for (values of SCENARIOS[input.scenario](input)) {
    const start = performance.now();
    parent = await put(opened.saver, parent, values, puts.length);
    puts.push(performance.now() - start);
    if (puts.length === 1) first = await storedBytes(input.url, input.schema);
  }
  const end = await storedBytes(input.url, input.schema);
  const getWarm: number[] = [];
  for (let get = 0; get < input.gets; get++) getWarm.push((await timedGet(opened.saver)).took);
  await opened.close();
  const getCold: number[] = [];
  const serde = new MemorySaver().serde;
  const [, state] = await serde.dumpsTyped(values);
  for (let get = 0; get < Math.min(3, input.gets); get++) {
    const cold = await openSaver(input.saver, input);
    // Connecting isn't part of what is measured.
    await cold.saver.getTuple({ configurable: { thread_id: "another" } });
    const { took, tuple } = await timedGet(cold.saver);
    getCold.push(took);
    await cold.close();
    await compare(values, tuple);
  }
  return {
    stateBytes: state.length,
    stateDigest: createHash("sha256").update(state).digest("hex"),
    firstPut: puts[0] ?? Number.NaN,
    putP50: median(puts.slice(1)),
    getWarm: median(getWarm),
    getCold: median(getCold),
    blobs: end.columns["blobs.bytes"],
    payloadOfFirst: first.payload - empty.payload,
    payloadPerPut: (end.payload - first.payload) / input.puts,
    totalPerPut: (end.total - first.total) / input.puts,
  };

  async function compare(given: Record<string, unknown>, got: CheckpointTuple | undefined): Promise<void> {
    const read = got?.checkpoint.channel_values ?? {};
    const [, bytes] = await serde.dumpsTyped(read);
    const same = "vectors" in given ? isDeepStrictEqual(read, given) : Buffer.compare(bytes, state) === 0;
    if (!same) throw new Error(`${input.scenario}: what was read is not what was put`);
  }
}

async function put(
  saver: BaseCheckpointSaver,
  parent: string | undefined,
  channel_values: Record<string, unknown>,
  step: number,
): Promise<string> {
  const versions = Object.fromEntries(Object.keys(channel_values).map((channel) => [channel, step + 1]));
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values,
    channel_versions: versions,
  };
  const at = { thread_id: "scale", checkpoint_ns: "", ...(parent && { checkpoint_id: parent }) };
  const metadata = { source: "loop" as const, step, parents: {} };
  await saver.put({ configurable: at }, checkpoint, metadata, versions);
  return checkpoint.id;
}

async function timedGet(
  saver: BaseCheckpointSaver,
): Promise<{ took: number; tuple: CheckpointTuple | undefined }> {
  const start = performance.now();
  const tuple = await saver.getTuple({ configurable: { thread_id: "scale" } });
  return { took: performance.now() - start, tuple };
}
