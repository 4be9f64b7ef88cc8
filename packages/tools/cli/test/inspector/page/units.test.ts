import { expect, test } from "vitest";
import { agoText, bytesText, clockText } from "../../../page/design/units.ts";

test("times are told as people say them", () => {
  const now = Date.parse("2026-11-23T12:00:00Z");
  const ago = (ms: number) => agoText(now - ms, now);
  const [second, hour, day] = [1000, 3_600_000, 86_400_000];
  expect([2, 40].map((n) => ago(n * second))).toEqual(["now", "40 s"]);
  expect([0.5, 5].map((n) => ago(n * hour))).toEqual(["30 min", "5 h"]);
  expect([3, 40, 400].map((n) => ago(n * day))).toEqual(["3 d", "14 Oct", "Oct 2025"]);
  expect(ago(-2 * hour)).toBe("in 2 h");
});

test("steps of a run are told apart by the time of day", () => {
  const now = new Date(2026, 10, 23, 12, 0, 0).getTime();
  expect(clockText(new Date(2026, 10, 23, 9, 5, 7).getTime(), now)).toEqual({ time: "09:05:07" });
  expect(clockText(new Date(2026, 10, 22, 23, 59, 59).getTime(), now)).toEqual({
    date: "22 Nov",
    time: "23:59",
  });
});

test("bytes have the unit that fits", () => {
  expect([0, 812, 1500, 12_000_000].map(bytesText)).toEqual(["0 B", "812 B", "1.5 kB", "12 MB"]);
});
