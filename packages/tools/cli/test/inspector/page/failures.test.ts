import { expect, test } from "vitest";
import { failuresOf } from "../../../page/views/checkpoint/failuresOf.ts";

const write = (node: string, kind: "write" | "error", value: unknown) => ({ task: node, node, kind, value });
const aborted = { name: "AbortError", message: "Aborted" };

test("tasks that had finished aren't told as stopped by the one that failed", () => {
  const { reasons, stopped } = failuresOf([
    write("campagnolo", "error", { name: "TypeError", message: "no rows" }),
    write("shimano", "write", [1]),
    write("shimano", "error", aborted),
    write("sram", "error", aborted),
  ]);
  expect(reasons.map(({ who }) => who)).toEqual(["campagnolo"]);
  expect(stopped.map(({ who }) => who)).toEqual(["sram"]);
});

test("where all were stopped, that is what is told", () => {
  const { reasons, stopped } = failuresOf([write("sram", "error", aborted)]);
  expect([reasons.length, stopped.length]).toEqual([1, 0]);
});
