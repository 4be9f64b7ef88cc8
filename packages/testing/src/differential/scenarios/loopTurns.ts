/**
 * Resolves after so many turns of the event loop. Turns keep their order where timers, on a busy machine, are late and fire together:
 * whoever waits for fewer of them goes on first, with all that follows from it at once.
 */
export const loopTurns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
};
