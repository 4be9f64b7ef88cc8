import { expect, test } from "vitest";
import { failuresOf } from "../../../page/views/checkpoint/failuresOf.ts";

const write = (
  node: string,
  kind: "write" | "error",
  value: unknown,
  outcome: "done" | "failed" = "failed",
) => ({
  task: node,
  node,
  outcome,
  kind,
  value,
});
const aborted = { name: "AbortError", message: "Aborted" };

test("finished tasks aren't reported as stopped by the one that failed", () => {
  const { reasons, stopped } = failuresOf([
    write("campagnolo", "error", { name: "TypeError", message: "no rows" }),
    write("shimano", "write", [1], "done"),
    write("shimano", "error", aborted, "done"),
    write("sram", "error", aborted),
  ]);
  expect(reasons.map(({ who }) => who)).toEqual(["campagnolo"]);
  expect(stopped.map(({ who }) => who)).toEqual(["sram"]);
});

test("if all tasks were stopped, all are reported as stopped", () => {
  const { reasons, stopped } = failuresOf([write("sram", "error", aborted)]);
  expect([reasons.length, stopped.length]).toEqual([1, 0]);
});
