import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** A saver whose writing can be kept waiting. */
export interface HeldWrites {
  /** Passes every call on to the saver; those that are held wait until `release`. */
  readonly saver: BaseCheckpointSaver;
  /** Resolves once a call waits. */
  readonly waiting: Promise<void>;
  release(): void;
}

/** Holds calls of one writer, so that a race goes as a test wants it: who read first, whose writes land first, who wins. */
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
