import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { KeptResult } from "../calls/results.ts";
import type { StoredResult } from "../calls/storedResults.ts";
import { fingerprintOf, type Digest } from "../identity/fingerprint.ts";
import { Calls } from "../log/calls.ts";
import type { CallState } from "../log/callState.ts";
import type { RecordedEntry } from "../trail/line.ts";

/** What a call is found by. */
type Asked = Pick<CallState, "call" | "previous">;

/** A call as it was recorded. */
export interface RecordedCall {
  readonly state: CallState;
  /** Canonical JSON; undefined where it was erased. */
  readonly args: string | undefined;
  /** Its fingerprint and its place in the chain, as whoever has no key finds them out; undefined where that was erased. */
  readonly asked: Asked | undefined;
  readonly result: StoredResult | undefined;
  /** Number of its first entry: the order in which calls were made. */
  readonly seq: number;
  /** How long it ran, in milliseconds; undefined where that isn't known. */
  readonly ms: number | undefined;
}

/** The calls of a trail, by fingerprint, in the order in which they were made. */
export class Recording {
  readonly #calls = new Map<Digest, RecordedCall>();
  /** The calls' fingerprints in the journal, by those without a key. */
  readonly #asked = new Map<Digest, Digest>();
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
      const { event } = line.entry;
      if (!("call" in event)) continue;
      const state = states.get(event.call);
      if (state === undefined) recording.#calls.delete(event.call);
      else recording.#add(state, line, typeof states.knownBy === "string");
    }
    for (const call of recording.#calls.values()) {
      recording.#repeated(call);
      if (call.asked !== undefined) recording.#asked.set(call.asked.call, call.state.call);
    }
    return recording;
  }

  /** @param asked its fingerprint without a key */
  get(asked: Digest): RecordedCall | undefined {
    return this.#calls.get(this.#asked.get(asked) ?? "");
  }

  /** The calls that code named by one name, in the order in which a run comes to them. */
  named(previous: string): readonly RecordedCall[] {
    const found = this.all().filter(
      ({ state, asked }) => state.named === true && asked?.previous === previous,
    );
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

  #add(state: CallState, line: RecordedEntry, isKeyed: boolean): void {
    const before = this.#calls.get(state.call);
    const { entry, args, result } = line;
    const { event } = entry;
    this.#calls.set(state.call, {
      state,
      args: args ?? before?.args,
      asked: before?.asked ?? (isKeyed ? askedIn(line) : state),
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

/** What the call of an entry is found by where fingerprints are keyed; undefined where that doesn't stand beside it. */
function askedIn({ entry: { event }, args, previous }: RecordedEntry): Asked | undefined {
  if (!("argsHash" in event) || args === undefined || previous === undefined) return undefined;
  const { call, tool, version = null, nth, named } = event;
  if (named === true) return { call, previous };
  return { call: fingerprintOf({ tool, version, args: JSON.parse(args), previous, nth }), previous };
}

/** A recorded call, as people are shown it. */
export function shown({ state, args }: RecordedCall): { tool: string; args: unknown } {
  return { tool: state.tool, args: args === undefined ? undefined : (JSON.parse(args) as unknown) };
}
