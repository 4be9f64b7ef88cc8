import { joined, type ChainState } from "./chain.ts";

/**
 * A channel of a StateGraph that holds the chain's state: LangGraph's `LastValue`, by structure, as this package imports none of
 * LangGraph's classes. Parallel nodes that both ask a model write two states in one step; both are kept, joined in an order that doesn't
 * depend on which came first.
 */
export class ChainChannel {
  readonly lg_is_channel = true;
  readonly lc_graph_name = "LastValue";
  /** For merges of `@stratigraph/branch`: behind one, calls are neither side's, so that equal ones are new. */
  readonly joinsSides = true;
  readonly ValueType = undefined as unknown as ChainState | undefined;
  readonly UpdateType = undefined as unknown as ChainState | undefined;
  #value: ChainState | undefined;

  constructor(value?: ChainState) {
    this.#value = value;
  }

  fromCheckpoint(checkpoint?: unknown): this {
    return new ChainChannel(checkpoint as ChainState | undefined) as this;
  }

  update(values: readonly unknown[]): boolean {
    const states = values.filter((value) => value !== undefined && value !== null) as ChainState[];
    if (states.length === 0) return false;
    this.#value = states.length === 1 ? states[0]! : joined(states);
    return true;
  }

  get(): ChainState {
    if (this.#value === undefined) throw new EmptyChannelError();
    return this.#value;
  }

  checkpoint(): ChainState {
    return this.get();
  }

  isAvailable(): boolean {
    return this.#value !== undefined;
  }

  consume(): boolean {
    return false;
  }

  finish(): boolean {
    return false;
  }

  equals(other: unknown): boolean {
    return other instanceof ChainChannel;
  }
}

/** Recognised by LangGraph by its name. */
class EmptyChannelError extends Error {
  override readonly name = "EmptyChannelError";
}
