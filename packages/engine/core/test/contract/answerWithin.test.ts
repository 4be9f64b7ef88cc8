import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { answerWithin } from "../../src/contract/answerWithin.ts";

const late = () => new Error("late");

test("a wait ends when its signal is aborted, with the signal's reason", async () => {
  const aborting = new AbortController();
  const wait = answerWithin(60_000, () => new Promise(() => {}), late, aborting.signal);
  aborting.abort(new Error("nobody waits any more"));
  await expect(wait).rejects.toThrow("nobody waits any more");
});

test("where the signal is aborted already, the call isn't made", async () => {
  let made = 0;
  const signal = AbortSignal.abort(new Error("nobody waits any more"));
  const call = () => Promise.resolve((made += 1));
  await expect(answerWithin(60_000, call, late, signal)).rejects.toThrow("nobody waits any more");
  expect(made).toBe(0);
});

test("however many wait by one signal, it has one listener, and none once they have their answers", async () => {
  const aborting = new AbortController();
  const { signal } = aborting;
  let answer = (): void => undefined;
  const call = () => new Promise<void>((resolve) => (answer = resolve));
  const first = answerWithin(60_000, call, late, signal);
  const others = [1, 2].map(() => answerWithin(60_000, () => new Promise(() => {}), late, signal));
  const listeners = () => getEventListeners(signal, "abort").length;
  answer();
  await first;
  expect(listeners()).toBe(1);
  aborting.abort(new Error("nobody waits any more"));
  for (const other of others) await expect(other).rejects.toThrow("nobody waits any more");
  expect(listeners()).toBe(0);
});
