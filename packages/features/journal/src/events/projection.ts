import type { StoredEvent } from "./eventRecords.ts";

/** Options of `events()`. */
export interface EventsOptions<S> {
  /** The state before the first event. It isn't changed. */
  readonly initial: S;
  /** After how many events the state is stored with the event, so that reading needn't begin at the first one. Default 100. */
  readonly snapshotEvery?: number | undefined;
  /** Version of the reducer: snapshots of another version aren't used. Default: none. */
  readonly reducerVersion?: string | undefined;
}

/** The outcome of an append. */
export interface AppendedEvent<S, E> extends StoredEvent<E> {
  /** The state after the event. */
  readonly state: S;
  /** An event with the same key was already there: this is that event, and nothing was appended now. */
  readonly duplicate: boolean;
}

/** A state, and the event that led to it. */
export interface Projection<S> {
  readonly state: S;
  /** Version of the last event in it; 0 if there is none. */
  readonly version: number;
  /** When that event was appended. */
  readonly at: Date | undefined;
}
