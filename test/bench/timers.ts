import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** Durations in milliseconds of every call so far. */
export interface CallTimes {
  put: number[];
  putWrites: number[];
  getTuple: number[];
}

/** Measures `saver`'s calls from now on, until they settle. */
export function timeCalls(saver: BaseCheckpointSaver): CallTimes {
  const times: CallTimes = { put: [], putWrites: [], getTuple: [] };
  const timed =
    <Args extends unknown[], Result>(into: number[], call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const start = performance.now();
      try {
        return await call(...args);
      } finally {
        into.push(performance.now() - start);
      }
    };
  saver.put = timed(times.put, saver.put.bind(saver));
  saver.putWrites = timed(times.putWrites, saver.putWrites.bind(saver));
  saver.getTuple = timed(times.getTuple, saver.getTuple.bind(saver));
  return times;
}
