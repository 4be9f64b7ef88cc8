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
  /** Canonical JSON; undefined where it was erased. */
  readonly args: string | undefined;
  readonly result: StoredResult | undefined;
  /** Number of its first entry: the order in which calls were made. */
  readonly seq: number;
  /** How long it ran, in milliseconds; undefined where that isn't known. */
  readonly ms: number | undefined;
}

/** The calls of a trail, by fingerprint, in the order in which they were made. */
export class Recording {
  readonly #calls = new Map<Digest, RecordedCall>();
  /** By which key the calls are known. */
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

  /** Whether there are entries that are signed. */
  get isSigned(): boolean {
    return this.#isSigned;
  }

  get(call: Digest): RecordedCall | undefined {
    return this.#calls.get(call);
  }

  /** The calls that code named by one name, in the order in which a run comes to them. */
  named(previous: string): readonly RecordedCall[] {
    const found = this.all().filter(({ state }) => state.named === true && state.previous === previous);
    return found.toSorted(({ state: a }, { state: b }) => a.nth - b.nth || (a.beside ?? 0) - (b.beside ?? 0));
  }

  all(): readonly RecordedCall[] {
    return [...this.#calls.values()];
  }

  /** The result of a call, revived. Undefined where it wasn't kept, or was erased. */
  async resultOf({ result }: RecordedCall): Promise<KeptResult | undefined> {
    if (result === undefined) return undefined;
    return (await this.#serde.loadsTyped(result.type, result.bytes)) as KeptResult;
  }

  /** A call whose entries were cut off: it is known that it was made, and not what came of it. */
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

  /** A call that was a repetition of another one was answered as that one was. */
  #repeated(call: RecordedCall): void {
    const first = this.#calls.get(call.state.repeats ?? "");
    if (call.state.status !== "repeats" || first === undefined) return;
    // One that threw, and whose repetition told later what had become of it, threw for whoever made it.
    const { status, result } =
      call.state.error === undefined ? first.state : ({ status: "unknown" } as const);
    this.#calls.set(call.state.call, {
      ...call,
      state: { ...call.state, status, result },
      result: result && first.result,
    });
  }
}

/** A recorded call, as people are shown it. */
export function shown({ state, args }: RecordedCall): { tool: string; args: unknown } {
  return { tool: state.tool, args: args === undefined ? undefined : (JSON.parse(args) as unknown) };
}
