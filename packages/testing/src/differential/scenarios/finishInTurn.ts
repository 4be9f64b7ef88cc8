import { loopTurns } from "./loopTurns.ts";

/** How long nodes wait for the others, in milliseconds. The others may not come: a task that has finished isn't run again. */
const patience = 1000;

/**
 * Returns a function that `size` nodes of one superstep await, each with its place in the order. When all have begun, they continue one
 * after another in that order, each when what follows from the one before is done.
 */
export const finishInTurn = (size: number): ((place: number) => Promise<void>) => {
  let waiting = new Map<number, () => void>();
  let timer: NodeJS.Timeout | undefined;
  const release = async (): Promise<void> => {
    clearTimeout(timer);
    const all = waiting;
    waiting = new Map();
    for (let place = 0; place < size; place++) {
      all.get(place)?.();
      await loopTurns(10);
    }
  };
  return (place) =>
    new Promise((resolve) => {
      waiting.set(place, resolve);
      if (waiting.size === size) void release();
      else if (waiting.size === 1) timer = setTimeout(() => void release(), patience);
    });
};
