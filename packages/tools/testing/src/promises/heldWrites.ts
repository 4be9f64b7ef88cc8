import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** A saver whose writes can be delayed. */
export interface HeldWrites {
  /** Passes every call on to the saver. Calls of the held methods wait until `release` is called. */
  readonly saver: BaseCheckpointSaver;
  /** Resolves when a call waits. */
  readonly waiting: Promise<void>;
  release(): void;
}

/** Delays the writes of one writer, so that a test determines the order of reads and writes in a race, and the winner. */
export const heldWrites = (
  saver: BaseCheckpointSaver,
  methods: readonly ("put" | "putWrites")[],
): HeldWrites => {
  let release = (): void => {};
  let arrive = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const waiting = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const held = new Proxy(saver, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (!methods.includes(key as "put")) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        arrive();
        await released;
        return (await value.apply(target, args)) as unknown;
      };
    },
  });
  return { saver: held, waiting, release: () => release() };
};
