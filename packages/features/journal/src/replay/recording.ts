import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { KeptResult } from "../calls/results.ts";
import type { StoredResult } from "../calls/storedResults.ts";
import type { Digest } from "../identity/fingerprint.ts";
import { Calls } from "../log/calls.ts";
import type { CallState } from "../log/callState.ts";
import type { KnownBy } from "../log/entry.ts";
import type { RecordedEntry } from "../trail/line.ts";

/** A call as it was recorded. */
export interface RecordedCall {
  readonly state: CallState;
  /** Canonical JSON; undefined if it was erased. */
  readonly args: string | undefined;
  readonly result: StoredResult | undefined;
  /** Number of its first entry: the order in which calls were made. */
  readonly seq: number;
  /** How long it ran, in milliseconds; undefined if that isn't known. */
  readonly ms: number | undefined;
}

/** The calls of a trail, by fingerprint, in the order in which they were made. */
export class Recording {
  readonly #calls = new Map<Digest, RecordedCall>();
  /** The key with which the fingerprints are hashed. */
  #knownBy: KnownBy = null;
  #isSigned = false;
  readonly #serde: SerializerProtocol;

  private constructor(serde: SerializerProtocol) {
    this.#serde = serde;
  }

  static async read(
    trail: AsyncIterable<RecordedEntry> | Iterable<RecordedEntry>,
    serde: SerializerProtocol,
  ): Promise<Recording> {
    const recording = new Recording(serde);
    const states = new Calls();
    for await (const line of trail) {
      states.fold(line.entry, "", line.calls);
      for (const state of line.calls ?? []) recording.#cutOff(state, line.entry.seq);
      const { event } = line.entry;
      if (!("call" in event)) continue;
      const state = states.get(event.call);
      if (state === undefined) recording.#calls.delete(event.call);
      else recording.#add(state, line);
    }
    recording.#knownBy = states.knownBy ?? null;
    recording.#isSigned = states.isSigned;
    for (const call of recording.#calls.values()) recording.#repeated(call);
    return recording;
  }

  get knownBy(): KnownBy {
    return this.#knownBy;
  }

  /** Whether there are signed entries. */
  get isSigned(): boolean {
    return this.#isSigned;
  }

  get(call: Digest): RecordedCall | undefined {
    return this.#calls.get(call);
  }

  /** The calls that code named by one name, in the order in which a run makes them. */
  named(previous: string): readonly RecordedCall[] {
    const found = this.all().filter(({ state }) => state.named === true && state.previous === previous);
    return found.toSorted(({ state: a }, { state: b }) => a.nth - b.nth || (a.beside ?? 0) - (b.beside ?? 0));
  }

  all(): readonly RecordedCall[] {
    return [...this.#calls.values()];
  }

  /** The result of a call, revived. Undefined if it wasn't kept, or was erased. */
  async resultOf({ result }: RecordedCall): Promise<KeptResult | undefined> {
    if (result === undefined) return undefined;
    return (await this.#serde.loadsTyped(result.type, result.bytes)) as KeptResult;
  }

  /** A call whose entries were cut off: it is known that it was made, but its result isn't. */
  #cutOff(state: CallState, seq: number): void {
    if (this.#calls.has(state.call)) return;
    this.#calls.set(state.call, { state, args: undefined, result: undefined, seq, ms: undefined });
  }

  #add(state: CallState, { entry, args, result }: RecordedEntry): void {
    const before = this.#calls.get(state.call);
    const { event } = entry;
    this.#calls.set(state.call, {
      state,
      args: args ?? before?.args,
      result: state.result?.seq === entry.seq ? result : before?.result,
      seq: before?.seq ?? entry.seq,
      ms: "ms" in event ? event.ms : before?.ms,
    });
  }

  /** A call that repeated another one got that one's answer. */
  #repeated(call: RecordedCall): void {
    const first = this.#calls.get(call.state.repeats ?? "");
    if (call.state.status !== "repeats" || first === undefined) return;
    // If a call threw, and its repetition later showed its outcome, it still threw for its caller.
    const { status, result } =
      call.state.error === undefined ? first.state : ({ status: "unknown" } as const);
    this.#calls.set(call.state.call, {
      ...call,
      state: { ...call.state, status, result },
      result: result && first.result,
    });
  }
}

/** A recorded call in the form that people see. */
export function shown({ state, args }: RecordedCall): { tool: string; args: unknown } {
  return { tool: state.tool, args: args === undefined ? undefined : (JSON.parse(args) as unknown) };
}
