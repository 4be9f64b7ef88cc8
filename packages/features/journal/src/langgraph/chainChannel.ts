import { after, joined, type ChainState } from "./chain.ts";

/** The symbol by which LangGraph recognises a `ReducedValue`. */
const reducedValue: unique symbol = Symbol.for("langgraph.state.reduced_value");

/**
 * A channel of a StateGraph that holds the chain's state. It has the structure of LangGraph's `LastValue`, as this package imports none of
 * LangGraph's classes. Parallel nodes that both ask a model write two states in one step; both are kept, joined in an order that doesn't
 * depend on which came first. `StateSchema` makes its own channel of it, which keeps both as well, because this has the structure of a
 * `ReducedValue`.
 */
export class ChainChannel {
  readonly lg_is_channel = true;
  readonly lc_graph_name = "LastValue";
  /** For merges of `@stratigraph/branch`: after a merge, calls belong to neither side, so that equal ones are new. */
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

/** The properties by which a Standard Schema describes itself (https://standardschema.dev). */
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
  // A schema that accepts undefined has a default.
  validate: (value) =>
    value === undefined
      ? { issues: [{ message: "It is what journal.next() returns." }] }
      : { value: value as ChainState },
  jsonSchema: { input: () => ({}), output: () => ({}) },
};

/** LangGraph recognises it by its name. */
class EmptyChannelError extends Error {
  override readonly name = "EmptyChannelError";
}
