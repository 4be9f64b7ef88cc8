import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { deltaChannels, readDeltaValues } from "@stratigraph/branch/internal";
import type { TierSaver } from "@stratigraph/core";
import { isLangGraphChannel } from "@stratigraph/core/internal";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { isStep, type PromptRun, type PromptCheckpoint } from "./runs.ts";

/** Tokens as models report them (`usage_metadata`). */
export interface PromptTokens {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}

export const noTokens: PromptTokens = { input: 0, output: 0, total: 0 };

export function sumOf(one: PromptTokens, other: PromptTokens): PromptTokens {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    total: one.total + other.total,
  };
}

/** A run's checkpoints with the blobs of their values, by id, and the one before it. */
export type StoredRun = ReadonlyMap<string, ListedCheckpoint>;

/** Reads a run's own checkpoints with their values. One that was removed meanwhile is missing. */
export async function readRun(
  saver: TierSaver,
  thread: readonly PromptCheckpoint[],
  run: PromptRun,
): Promise<StoredRun> {
  const first = run.own[0]!;
  const last = thread.indexOf(run.own.at(-1)!);
  const { threadId, namespace } = first.listed.record;
  const stored = new Map<string, ListedCheckpoint>();
  const wanted = new Set(run.own.map(({ id }) => id));
  if (first.parent !== undefined) wanted.add(first.parent.id);
  const from = first.parent ?? first;
  for await (const one of saver.tier.list({ threadId, namespace, before: thread[last + 1]?.id })) {
    const id = one.record.checkpointId;
    if (wanted.has(id)) stored.set(id, one);
    if (id <= from.id) break;
  }
  return stored;
}

/**
 * The tokens of the messages that each of a run's own checkpoints is the first to have. Messages that it inherited, or that stay in the
 * state, aren't counted again; those that the run itself removed are.
 */
export async function tokensOf(
  saver: TierSaver,
  run: PromptRun,
  stored: StoredRun,
): Promise<ReadonlyMap<PromptCheckpoint, PromptTokens>> {
  // How many messages of a kind were seen in one checkpoint: one by an id, several of the same content without.
  const seen = new Map<string, number>();
  const values = new Set<string>();
  const parents = new Set(run.own.map(({ parent }) => parent));
  const found = new Map<PromptCheckpoint, PromptTokens>();
  const first = run.own[0]!.parent;
  for (const checkpoint of first === undefined ? run.own : [first, ...run.own]) {
    const one = stored.get(checkpoint.id);
    if (one === undefined) continue;
    const isEnd = checkpoint === first || !parents.has(checkpoint);
    let tokens = noTokens;
    for (const [key, { count, usage }] of await messagesOf(saver, checkpoint, one, values, isEnd)) {
      const more = count - (seen.get(key) ?? 0);
      if (more <= 0) continue;
      seen.set(key, count);
      for (let nth = 0; nth < more; nth += 1) tokens = sumOf(tokens, usage);
    }
    // What was there before the run, or was put into the state by hand, isn't the run's.
    if (checkpoint !== first && isStep(checkpoint)) found.set(checkpoint, tokens);
  }
  return found;
}

type Messages = Map<string, { count: number; readonly usage: PromptTokens }>;

/**
 * The messages with usage of a checkpoint. Values whose blobs were decoded before are left out.
 * @param isEnd whether values of DeltaChannels, which have to be rebuilt, are worth it
 */
async function messagesOf(
  saver: TierSaver,
  { body, metadata, listed }: PromptCheckpoint,
  stored: ListedCheckpoint,
  values: Set<string>,
  isEnd: boolean,
): Promise<Messages> {
  const messages: Messages = new Map();
  for (const { channel, value } of body.manifest.values()) {
    // A value without a blob is too short for a message.
    if (value === undefined || !("hash" in value) || isLangGraphChannel(channel)) continue;
    const key = JSON.stringify([channel, value.hash]);
    if (values.has(key)) continue;
    values.add(key);
    addMessages(await saver.coder.value(stored.record, channel, value, stored.blobs), messages);
  }
  const deltas = isEnd ? deltaChannels(body, metadata) : [];
  if (deltas.length === 0) return messages;
  const { threadId, namespace, checkpointId } = listed.record;
  const at = { threadId, namespace, checkpointId };
  const point = { at, stored, body, metadata: metadata as never, head: undefined, revision: 0 };
  for (const value of (await readDeltaValues(saver, point, deltas)).values()) addMessages(value, messages);
  return messages;
}

function addMessages(value: unknown, into: Messages): void {
  const inner: unknown = isDeltaSnapshot(value) ? value.value : value;
  for (const item of Array.isArray(inner) ? (inner as unknown[]) : [inner]) {
    const { id, usage_metadata: usage, content } = Object(item) as Record<string, unknown>;
    if (usage === undefined || usage === null) continue;
    const tokens = {
      input: count(usage, "input_tokens"),
      output: count(usage, "output_tokens"),
      total: count(usage, "total_tokens"),
    };
    const key = typeof id === "string" ? `id:${id}` : JSON.stringify([content, tokens]);
    const known = into.get(key);
    if (known === undefined) into.set(key, { count: 1, usage: tokens });
    else if (typeof id !== "string") known.count += 1;
  }
}

/** What a model reports may be anything. */
function count(usage: unknown, field: string): number {
  const found = Number((usage as Record<string, unknown>)[field]);
  return Number.isFinite(found) && found > 0 ? found : 0;
}
