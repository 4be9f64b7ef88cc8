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

test("a signal that is aborted behind the answer changes nothing, and isn't listened to any more", async () => {
  const aborting = new AbortController();
  let listeners = 0;
  const { signal } = aborting;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...all: Parameters<typeof add>) => ((listeners += 1), add(...all));
  signal.removeEventListener = (...all: Parameters<typeof remove>) => ((listeners -= 1), remove(...all));
  expect(await answerWithin(60_000, () => Promise.resolve("answer"), late, signal)).toBe("answer");
  aborting.abort();
  expect(listeners).toBe(0);
});
