import type { Digest } from "../identity/fingerprint.ts";
import type { CallOptions } from "../options.ts";

type Compensate = NonNullable<CallOptions["compensate"]>;

/** How many calls have functions of their own at most; those that were made longest ago are undone by their tool's. */
const mostCalls = 10_000;

/** What undoes calls. */
export class Compensations {
  readonly #ofTools = new Map<string, Compensate>();
  readonly #ofCalls = new Map<string, Compensate>();

  /** Undoes calls of a tool, those of earlier processes included. */
  setOfTool(tool: string, compensate: Compensate): void {
    this.#ofTools.set(tool, compensate);
  }

  /** Undoes one call, whatever its tool's other calls are undone by: it may know that call only. */
  setOfCall(threadId: string, call: Digest, compensate: Compensate): void {
    const key = keyOf(threadId, call);
    this.#ofCalls.delete(key);
    this.#ofCalls.set(key, compensate);
    if (this.#ofCalls.size > mostCalls) this.#ofCalls.delete(this.#ofCalls.keys().next().value!);
  }

  /** What undoes a call; undefined where nothing is known to. */
  of(threadId: string, call: Digest, tool: string): Compensate | undefined {
    return this.#ofCalls.get(keyOf(threadId, call)) ?? this.#ofTools.get(tool);
  }
}

/** Names a call among those of all threads, which may have the same fingerprints. */
function keyOf(threadId: string, call: Digest): string {
  return `${call} ${threadId}`;
}
