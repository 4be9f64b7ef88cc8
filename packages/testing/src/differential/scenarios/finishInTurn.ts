import { after } from "./after.ts";

/**
 * Gives a function that `size` nodes of one superstep await, each with its place: once all have begun, they go on one after
 * another. Timers alone would let a busy machine decide which of them finishes first.
 */
export const finishInTurn = (size: number, milliseconds = 2): ((place: number) => Promise<void>) => {
  let waiting = new Map<number, () => void>();
  const release = async (all: ReadonlyMap<number, () => void>): Promise<void> => {
    for (let place = 0; place < size; place++) {
      all.get(place)?.();
      await after(milliseconds);
    }
  };
  return (place) =>
    new Promise((resolve) => {
      waiting.set(place, resolve);
      if (waiting.size < size) return;
      const all = waiting;
      waiting = new Map();
      void release(all);
    });
};
