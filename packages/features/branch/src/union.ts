/** The three values of a channel, or of a part of it, that a merge works on. `undefined` means that there is no value. */
export interface ThreeWay {
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/** Decides whose additions come first if both sides added something at the same place. */
export interface UnionOrder {
  /** A sort key for each side: the side that began its work first has the lower one. */
  readonly ours: string;
  readonly theirs: string;
  /** Sort keys by item id, for items that came from the sources merged before this one. */
  readonly taken: Map<string, string>;
}

/** The merged value, or why the two sides can't be merged. */
export type Union = { readonly value: unknown } | { readonly unsettled: string };
