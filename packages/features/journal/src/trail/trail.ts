import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { plainResult, type KeptResult } from "../calls/results.ts";
import type { StoredResult } from "../calls/storedResults.ts";
import type { Calls } from "../log/calls.ts";
import type { Entry, JournalEvent } from "../log/entry.ts";
import { decodeEntry, decodePayload } from "../log/records.ts";
import { firstThere, storedHead, walk } from "./walk.ts";

/** Which entries {@link Journal.trail} returns. All conditions must hold. */
export interface TrailOptions {
  /** Only entries about calls of this tool. */
  readonly tool?: string | undefined;
  /** Only entries made at this time or later, by the clock of the process that made them. */
  readonly since?: Date | undefined;
  /** Only entries made before this time. */
  readonly until?: Date | undefined;
  /** Only entries of these types. */
  readonly types?: readonly JournalEvent["type"][] | undefined;
  /** Only entries from this number on. */
  readonly from?: number | undefined;
  /** Only entries up to this number, inclusive. */
  readonly to?: number | undefined;
  /** At most this many. */
  readonly limit?: number | undefined;
}

/** An entry of a trail. */
export type TrailEntry = Entry & {
  /** The tool, if the entry is about a call. */
  readonly tool?: string | undefined;
  /** The arguments of the call; absent if the entry has none, or they were erased. */
  readonly args?: unknown;
  /**
   * Reads the result stored with the entry: what a function returned, a Command, or the fields of a ToolMessage (`content`, `name`,
   * `status`, `artifact`). Undefined if there is none, it wasn't kept, or it was erased.
   */
  readonly result: () => Promise<unknown>;
};

/**
 * The entries of a journal, oldest first, read page by page.
 * @throws InvalidOptionError; CorruptionError if an entry can't be read
 */
export async function* trailOf(
  saver: TierSaver,
  threadId: string,
  calls: () => Promise<Calls>,
  options: TrailOptions,
): AsyncGenerator<TrailEntry> {
  const { tool, types, to, limit = Number.POSITIVE_INFINITY } = options;
  const head = (await storedHead(saver, threadId)).seq ?? 0;
  const last = Math.min(to ?? head, head);
  const start = await firstThere(saver, threadId, head);
  const tools = new Map<string, string>();
  // Only a call's first entry names its tool. That entry may precede the requested ones, or be cut off.
  const known = tool === undefined ? undefined : await calls();
  const from = tool === undefined ? Math.max(start, options.from ?? 1) : start;
  let given = 0;
  for await (const stored of walk(saver, threadId, { from, to: last })) {
    if (given >= limit) return;
    const entry = await decodeEntry(saver, stored.record);
    const { event } = entry;
    if ("tool" in event) tools.set(event.call, event.tool);
    const called = "call" in event ? (tools.get(event.call) ?? known?.get(event.call)?.tool) : undefined;
    if (tool !== undefined && called !== tool) continue;
    if (types !== undefined && !types.includes(event.type)) continue;
    if (!isInRange(entry, options)) continue;
    given += 1;
    yield await withValues(saver, entry, stored, called);
  }
}

function isInRange({ at, seq }: Entry, { from = 0, since, until }: TrailOptions): boolean {
  if (seq < from) return false;
  const ms = Date.parse(at);
  return (since === undefined || ms >= since.getTime()) && (until === undefined || ms < until.getTime());
}

async function withValues(
  saver: TierSaver,
  entry: Entry,
  stored: ListedCheckpoint,
  tool: string | undefined,
): Promise<TrailEntry> {
  const { args } = await decodePayload(saver, stored);
  const { record } = stored;
  return {
    ...entry,
    ...(tool === undefined ? {} : { tool }),
    ...(args === undefined ? {} : { args: JSON.parse(args) as unknown }),
    result: async () => {
      const { checkpoint } = await saver.tier.read(record);
      const payload = checkpoint === undefined ? undefined : await decodePayload(saver, checkpoint);
      return await shownResult(saver.serde, payload?.result as StoredResult | undefined);
    },
  };
}

/** A result in the form that people and programs see. */
export async function shownResult(
  serde: SerializerProtocol,
  stored: StoredResult | undefined,
): Promise<unknown> {
  if (stored === undefined) return undefined;
  return plainResult((await serde.loadsTyped(stored.type, stored.bytes)) as KeptResult);
}
