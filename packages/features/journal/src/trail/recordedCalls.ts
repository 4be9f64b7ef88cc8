import type { TierSaver } from "@stratigraph/core";
import type { StoredResult } from "../calls/storedResults.ts";
import type { Digest } from "../identity/fingerprint.ts";
import { Calls, type Session } from "../log/calls.ts";
import { lacksResult, type CallState } from "../log/callState.ts";
import type { Effects, Entry, KeptError, Where } from "../log/entry.ts";
import { isBookkeeping } from "../log/ownCalls.ts";
import { decodeEntry, decodePayload } from "../log/records.ts";
import { shownResult } from "./trail.ts";
import { firstThere, storedHead, walk } from "./walk.ts";

/** A call, put together from the entries of a journal. */
export interface RecordedCall {
  readonly fingerprint: Digest;
  readonly tool: string;
  readonly effects: Effects;
  readonly where: Where;
  /**
   * "claimed": it was begun, and no outcome is recorded. "suspended": it waits for an answer, or was allowed and not begun yet. "repeats":
   * it counts as a repetition of {@link repeats}. "denied", "succeeded" and "failed" are outcomes; "unknown" means that the outcome isn't
   * known.
   */
  readonly status: CallState["status"];
  /**
   * Whether its outcome can't be known. Undefined if that can't be determined, because it isn't known whether the process that began it is
   * alive.
   */
  readonly unresolved: boolean | undefined;
  readonly repeats: Digest | undefined;
  readonly idempotencyKey: string;
  /** How often it was begun. */
  readonly attempts: number;
  /** How often a recorded result was given instead of running it. The last times may be missing. */
  readonly returned: number;
  /** How long the run of the tool that produced the outcome took, in milliseconds. */
  readonly ms: number | undefined;
  readonly error: KeptError | undefined;
  /**
   * Why the result of a call that happened isn't kept, if the call recorded it, or the result was asked for. Then its status is "unknown" until
   * somebody gives the result.
   */
  readonly notKept: string | undefined;
  /** The entries about it, oldest first: none if they were cut off. */
  readonly entries: readonly Entry[];
  /** Reads the arguments. Undefined if they were erased or cut off. */
  readonly args: () => Promise<unknown>;
  /** Reads its result, as `result` of {@link TrailEntry}. */
  readonly result: () => Promise<unknown>;
}

/** Finds out whether the outcome of a call can't be known. */
export type IsUnresolved = (state: CallState, session: Session | undefined) => Promise<boolean | undefined>;

/**
 * The calls of a thread's tools, in the order in which they were first made. The hashes of the entries aren't verified, so no key is
 * needed; `verify` shows whether they can be trusted.
 * @throws CorruptionError if an entry can't be read
 */
export async function recordedCalls(
  saver: TierSaver,
  threadId: string,
  isUnresolved: IsUnresolved,
): Promise<RecordedCall[]> {
  const to = (await storedHead(saver, threadId)).seq ?? 0;
  const from = await firstThere(saver, threadId, to);
  const calls = new Calls();
  const about = new Map<Digest, Entry[]>();
  const records = new Map<number, Parameters<typeof decodePayload>[1]["record"]>();
  for await (const { record } of walk(saver, threadId, { from, to, recordsOnly: true })) {
    const entry = await decodeEntry(saver, record);
    const { event, seq } = entry;
    records.set(seq, record);
    if ("call" in event) {
      const known = about.get(event.call);
      if (known === undefined) about.set(event.call, [entry]);
      else known.push(entry);
    }
    const beside = event.type === "cut" ? (await payloadOf(saver, record))?.calls : undefined;
    calls.fold(entry, record.checkpointId, beside as CallState[] | undefined);
  }
  const payloadAt = async (seq: number | undefined) => {
    const record = seq === undefined ? undefined : records.get(seq);
    return record === undefined ? undefined : await payloadOf(saver, record);
  };
  const found: RecordedCall[] = [];
  for (const state of calls.all()) {
    if (isBookkeeping(state.tool)) continue;
    const entries = about.get(state.call) ?? [];
    const session = state.claim === undefined ? undefined : calls.session(state.claim.session);
    found.push({
      ...told(state, entries),
      unresolved: await isUnresolved(state, session),
      args: async () => {
        const first = entries.find(({ event }) => "argsHash" in event);
        const text = (await payloadAt(first?.seq))?.args;
        return text === undefined ? undefined : (JSON.parse(text) as unknown);
      },
      result: async () => {
        const stored = (await payloadAt(state.result?.seq))?.result;
        return await shownResult(saver.serde, stored as StoredResult | undefined);
      },
    });
  }
  return found;
}

function told(state: CallState, entries: readonly Entry[]) {
  const { call, tool, effects, where, status, repeats, key = call, attempts, error, result } = state;
  const events = entries.map(({ event }) => event);
  const ended = events.findLast((event) => event.type === "succeeded" || event.type === "read");
  return {
    fingerprint: call,
    tool,
    effects,
    where,
    status,
    repeats,
    idempotencyKey: key,
    attempts,
    returned: events.filter(({ type }) => type === "returned").length,
    ms: ended !== undefined && "ms" in ended ? ended.ms : undefined,
    error: status === "succeeded" ? undefined : error,
    notKept: lacksResult(state) ? error?.message : result?.notKept,
    entries,
  };
}

async function payloadOf(saver: TierSaver, record: Parameters<typeof decodePayload>[1]["record"]) {
  const { checkpoint } = await saver.tier.read(record);
  return checkpoint === undefined ? undefined : await decodePayload(saver, checkpoint);
}
