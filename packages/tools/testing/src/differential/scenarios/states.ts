import { Annotation, DeltaChannel } from "@langchain/langgraph";

const log = () => Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });

/** A list that grows, and a text that the last writer sets. */
export const State = Annotation.Root({ log: log(), last: Annotation<string> });

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

/** A DeltaChannel of texts beside an ordinary number. */
export const deltaState = (snapshotFrequency = 1000) =>
  Annotation.Root({
    list: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency }),
    turns: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  });

/** Names of nodes in an order that is neither alphabetical nor the reverse of that. */
export const names = (count: number): string[] =>
  ["echo", "bravo", "foxtrot", "alpha", "delta", "charlie"].slice(0, count);
