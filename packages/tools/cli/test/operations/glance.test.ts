import { Command } from "@langchain/langgraph";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import type { OutputOf } from "../../src/operations/index.ts";
import { describe, expect, test } from "vitest";
import { on, failing } from "../inspector/seeds/on.ts";
import { importAgent, reviewAgent } from "../inspector/seeds/stopped.ts";
import { tripAgent } from "../inspector/seeds/trip.ts";
import { longThread, putValues } from "./support/threads.ts";
import { hostileId, ran } from "./support/ran.ts";
import { savers } from "./support/savers.ts";

const glance = async (threads: string[], saver: TierSaver, given: Parameters<typeof ran>[3] = {}) =>
  await ran<OutputOf<"glance">>("glance", { threads }, saver, given);

describe.each(savers)("on %s", (_, open) => {
  test("what threads wait for, why they failed, or what was said last", async () => {
    const { saver, close } = await open();
    try {
      const contract = { party: "Ridley", amount: 48_000, clauses: ["a penalty"] };
      await reviewAgent(saver).invoke({ contract }, on("asks"));
      await failing(importAgent(saver).invoke({}, on("fails")));
      await tripAgent(saver).invoke({ strategy: "cheapest" }, on("talks"));
      const { output, text } = await glance(["asks", "fails", "talks", "nowhere"], saver);
      expect(output.items.map(({ says }) => says)).toEqual([
        { kind: "question", by: "approve", text: "Sign the contract with Ridley over EUR 48000?" },
        {
          kind: "error",
          by: "campagnolo",
          text: "TypeError: Cannot read properties of undefined (reading 'price')",
        },
        { kind: "message", by: "ai", text: "Hostel Alfama, €38 a night" },
        undefined,
      ]);
      expect(output.items.map(({ next }) => next)).toEqual([
        ["approve"],
        expect.arrayContaining(["campagnolo"]),
        [],
        [],
      ]);
      for (const { checkpoints, bytes, complete } of output.items.slice(0, 3)) {
        expect(checkpoints).toBeGreaterThan(1);
        expect(bytes).toBeGreaterThan(100);
        expect(complete).toBe(true);
      }
      expect(output.items[3]).toMatchObject({ checkpoints: 0, error: 'There is no thread "nowhere".' });
      expect(text).toContain("approve asks: Sign the contract");
      await reviewAgent(saver).invoke(new Command({ resume: "sign" }), on("asks"));
      const answered = await glance(["asks"], saver);
      expect(answered.output.items[0]!.says).toMatchObject({ kind: "state" });
      expect(answered.output.items[0]!.says!.text).toContain('decision: "sign"');
    } finally {
      await close();
    }
  });
});

test("redacted values aren't shown, and control characters are shown as text", async () => {
  const saver = new MemorySaver();
  await putValues(saver, hostileId, { secret: "the password", plan: "line\none \u001b[31m" });
  await tripAgent(saver).invoke({ strategy: "cheapest" }, on("talks"));
  const { text } = await glance([hostileId, "talks"], saver, { redact: ["secret", "messages.*.content"] });
  expect(text).toContain("(redacted)");
  expect(text).not.toMatch(/password|Hostel/);
});

test("a long thread is counted up to a limit, and a damaged one doesn't hide the others", async () => {
  const saver = new MemorySaver();
  const ids = await longThread(saver, "long", 1010);
  await putValues(saver, "broken", { title: "x".repeat(5000) });
  await putValues(saver, "whole", { title: "short" });
  const stored = saver.tier.list({ threadId: "broken", recordsOnly: true });
  const { record } = (await stored[Symbol.asyncIterator]().next()).value!;
  const heads = [{ namespace: "", to: record.checkpointId, expected: "any" as const }];
  const body = record.body.map((byte: number) => byte ^ 255);
  await saver.tier.append({
    threadId: "broken",
    records: [{ ...record, body }],
    blobs: [],
    heads,
    onConflict: "refuse",
  });
  const { output } = await glance(["long", "broken", "whole"], saver);
  expect(output.items[0]).toMatchObject({ checkpoints: 1000, complete: false });
  expect(ids.length).toBeGreaterThan(1000);
  expect(output.items[1]!.error).toMatch(/broken/);
  expect(output.items[2]!.says).toEqual({ kind: "state", text: 'title: "short"' });
});

test("more threads than are looked at are refused", async () => {
  const threads = Array.from({ length: 51 }, (_, n) => `t${n}`);
  await expect(glance(threads, new MemorySaver())).rejects.toThrow(/50/);
});
