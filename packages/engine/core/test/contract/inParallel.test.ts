import { expect, test } from "vitest";
import { inParallel } from "../../src/contract/inParallel.ts";

/** Work whose items end when they are told to. */
function held() {
  const begun: number[] = [];
  const ends = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  const work = (item: number) =>
    new Promise<void>((resolve, reject) => {
      begun.push(item);
      ends.set(item, { resolve, reject });
    });
  return { begun, work, end: (item: number) => ends.get(item)!, turn: () => new Promise(setImmediate) };
}

test("so many items are worked on at a time, in their order, and all of them", async () => {
  const { begun, work, end, turn } = held();
  const all = inParallel([1, 2, 3], 2, work);
  await turn();
  expect(begun).toEqual([1, 2]);
  end(2).resolve();
  await turn();
  expect(begun).toEqual([1, 2, 3]);
  end(1).resolve();
  end(3).resolve();
  await all;
});

test("behind a failure none is begun, and the first error is thrown once those under way have ended", async () => {
  const { begun, work, end, turn } = held();
  let error: unknown;
  const all = inParallel([1, 2, 3], 2, work).catch((thrown: unknown) => (error = thrown));
  await turn();
  end(1).reject(new Error("first"));
  await turn();
  expect([begun, error]).toEqual([[1, 2], undefined]);
  end(2).reject(new Error("second"));
  await all;
  expect(begun).toEqual([1, 2]);
  expect(error).toEqual(new Error("first"));
});

test("once its signal is aborted none is begun", async () => {
  const { begun, work, end, turn } = held();
  const aborting = new AbortController();
  const all = inParallel([1, 2, 3], 1, work, aborting.signal);
  await turn();
  aborting.abort();
  end(1).resolve();
  await all;
  expect(begun).toEqual([1]);
});
