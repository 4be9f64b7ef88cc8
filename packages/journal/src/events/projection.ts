import type { StoredEvent } from "./eventRecords.ts";

/** Options of `events()`. */
export interface EventsOptions<S> {
  /** The state before the first event. It isn't changed. */
  readonly initial: S;
  /** After how many events the state is stored beside the event, so that reading needn't begin at the first one. Default 100. */
  readonly snapshotEvery?: number | undefined;
  /** Version of the reducer: snapshots of another one aren't used. Default: none. */
  readonly reducerVersion?: string | undefined;
}

/** What came of an append. */
export interface AppendedEvent<S, E> extends StoredEvent<E> {
  /** The state after the event. */
  readonly state: S;
  /** An event of the same key was there already: this is what was appended then, and nothing was appended now. */
  readonly duplicate: boolean;
}

/** A state, and the event after which it is it. */
export interface Projection<S> {
  readonly state: S;
  /** Of the last event in it; 0 where there is none. */
  readonly version: number;
  /** When that event was appended. */
  readonly at: Date | undefined;
}
