import { after } from "./after.ts";

/** How long nodes that have begun wait for the others, which may not run again because they ran before. In milliseconds. */
const patience = 1000;

/**
 * Gives a function that `size` nodes of one superstep await, each with its place: once all have begun, they go on one after
 * another. Timers alone would let a busy machine decide which of them finishes first.
 */
export const finishInTurn = (size: number, milliseconds = 2): ((place: number) => Promise<void>) => {
  let waiting = new Map<number, () => void>();
  let timer: NodeJS.Timeout | undefined;
  const release = async (): Promise<void> => {
    clearTimeout(timer);
    const all = waiting;
    waiting = new Map();
    for (let place = 0; place < size; place++) {
      all.get(place)?.();
      await after(milliseconds);
    }
  };
  return (place) =>
    new Promise((resolve) => {
      waiting.set(place, resolve);
      if (waiting.size === size) void release();
      else if (waiting.size === 1) timer = setTimeout(() => void release(), patience);
    });
};
