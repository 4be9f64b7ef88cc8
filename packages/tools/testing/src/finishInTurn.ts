import { setImmediate as turn } from "node:timers/promises";

/**
 * Returns a function that the nodes of a superstep await. Each passes its place in the order in which they finish. They finish one after
 * another, after all have begun. A task that has finished isn't run again, and is left out.
 *
 * Between the beginning of a superstep and its nodes, and between a node's end and LangGraph's reaction, there are only promises. Each
 * turn of Node's event loop settles all of them, however busy the machine is. Timers don't guarantee that: late ones fire together.
 */
export const finishInTurn = (): ((place: number) => Promise<void>) => {
  const waiting = new Map<number, () => void>();
  const release = async (): Promise<void> => {
    do {
      await turn();
      const first = Math.min(...waiting.keys());
      waiting.get(first)?.();
      waiting.delete(first);
    } while (waiting.size > 0);
  };
  return (place) =>
    new Promise((resolve) => {
      waiting.set(place, resolve);
      if (waiting.size === 1) void release();
    });
};
