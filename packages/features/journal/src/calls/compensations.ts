import type { Digest } from "../identity/fingerprint.ts";
import type { CallOptions } from "../options.ts";

type Compensate = NonNullable<CallOptions["compensate"]>;

/** How many calls have their own functions at most; the oldest calls fall back to their tool's function. */
const mostCalls = 10_000;

/** The functions that undo calls. */
export class Compensations {
  readonly #ofTools = new Map<string, Compensate>();
  readonly #ofCalls = new Map<string, Compensate>();

  /** Sets the function that undoes calls of a tool, including those of earlier processes. */
  setOfTool(tool: string, compensate: Compensate): void {
    this.#ofTools.set(tool, compensate);
  }

  /** Sets the function that undoes one call. It takes precedence over the tool's function, and may know that call only. */
  setOfCall(threadId: string, call: Digest, compensate: Compensate): void {
    const key = keyOf(threadId, call);
    this.#ofCalls.delete(key);
    this.#ofCalls.set(key, compensate);
    if (this.#ofCalls.size > mostCalls) this.#ofCalls.delete(this.#ofCalls.keys().next().value!);
  }

  /** The function that undoes a call; undefined if none is known. */
  of(threadId: string, call: Digest, tool: string): Compensate | undefined {
    return this.#ofCalls.get(keyOf(threadId, call)) ?? this.#ofTools.get(tool);
  }
}

/** Identifies a call among those of all threads, which may have the same fingerprints. */
function keyOf(threadId: string, call: Digest): string {
  return `${call} ${threadId}`;
}
