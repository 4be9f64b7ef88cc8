import { expect, test } from "vitest";
import { CallGate } from "../../src/contract/callGate.ts";

test("closing waits for calls under way, but not for ever, and may be repeated", async () => {
  const gate = new CallGate("memory");
  const leave = gate.enter();
  await gate.close(5);
  expect(gate.underWay).toBe(1);
  const closed = gate.close(60_000);
  leave();
  await closed;
  expect(() => gate.enter()).toThrow(expect.objectContaining({ code: "CLOSED" }));
});
