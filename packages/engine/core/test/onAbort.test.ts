import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { onAbort } from "../src/saver/onAbort.ts";

test("who waits no more isn't called when the signal is aborted, and one listener serves all who do", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: string[] = [];
  const wait = (who: string): (() => void) => onAbort(signal, () => called.push(who));
  const ends = ["first", "second", "third"].map(wait);
  ends[1]!();
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  controller.abort();
  expect(called).toEqual(["first", "third"]);
});
