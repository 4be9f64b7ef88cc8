import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import type { ThreadTag, Tier } from "../contract/tier.ts";

/** The storage of a saver, which threads are brought into. */
export interface ReadThroughStorage {
  readonly tier: Tier;
  readonly coder: CheckpointCoder;
  /** The tags that metadata names, as the storage keeps them: those that its option names, and `also`. */
  tagsIn(metadata: Readonly<Record<string, unknown>>, also: readonly string[]): Promise<ThreadTag[]>;
}

/** Brings threads from elsewhere when they are first asked for; see {@link TierSaver.readThrough}. */
export interface ReadThrough {
  /** Where the threads come from, in messages and reports. */
  readonly source: string;
  /**
   * Called when a thread without a head is read.
   * @param isUse it isn't read, its journal or its events are used, which may be at each call: whether it is elsewhere needn't be looked at
   * each time
   * @returns whether the thread is there now; false if there is none, or it was deleted here
   */
  bring(storage: ReadThroughStorage, threadId: string, isUse: boolean): Promise<boolean>;
  /** Called whenever a thread is read. Must not throw. */
  met(threadId: string): void;
  /** Called once, when the saver ends. */
  close(): Promise<void>;
}
