import { after, joined, type ChainState } from "./chain.ts";

/** By which LangGraph recognises a `ReducedValue`. */
const reducedValue: unique symbol = Symbol.for("langgraph.state.reduced_value");

/**
 * A channel of a StateGraph that holds the chain's state: LangGraph's `LastValue`, by structure, as this package imports none of
 * LangGraph's classes. Parallel nodes that both ask a model write two states in one step; both are kept, joined in an order that doesn't
 * depend on which came first. `StateSchema` makes a channel of its own of it, which keeps both as well: it is a `ReducedValue`, by structure.
 */
export class ChainChannel {
  readonly lg_is_channel = true;
  readonly lc_graph_name = "LastValue";
  /** For merges of `@stratigraph/branch`: behind one, calls are neither side's, so that equal ones are new. */
  readonly joinsSides = true;
  readonly ValueType = undefined as unknown as ChainState | undefined;
  readonly UpdateType = undefined as unknown as ChainState | undefined;
  readonly "~standard" = standardSchema;
  readonly [reducedValue] = true;
  readonly valueSchema: this = this;
  readonly inputSchema: this = this;
  readonly reducer: typeof after = after;
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

/** What a Standard Schema says of itself (https://standardschema.dev). */
const standardSchema: {
  readonly version: 1;
  readonly vendor: string;
  readonly validate: (
    value: unknown,
  ) =>
    | { readonly value: ChainState; readonly issues?: undefined }
    | { readonly issues: readonly { readonly message: string }[] };
  readonly jsonSchema: {
    readonly input: () => Record<string, unknown>;
    readonly output: () => Record<string, unknown>;
  };
} = {
  version: 1,
  vendor: "stratigraph",
  // A schema that takes undefined has a default.
  validate: (value) =>
    value === undefined
      ? { issues: [{ message: "It is what journal.next() returns." }] }
      : { value: value as ChainState },
  jsonSchema: { input: () => ({}), output: () => ({}) },
};

/** Recognised by LangGraph by its name. */
class EmptyChannelError extends Error {
  override readonly name = "EmptyChannelError";
}
