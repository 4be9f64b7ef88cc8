import { DynamicStructuredTool, tool } from "@langchain/core/tools";
import { MemorySaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { z } from "zod";
import { createJournal } from "../src/index.ts";
import { agentOf, asks, call, questions, receipts, says } from "./support/effects.ts";

// Arguments that a tool's schema refuses: nothing ran, whatever the version of langchain calls that error.

const begins = { messages: [{ role: "user", content: "pay" }] };
const on = (thread_id: string) => ({ configurable: { thread_id } });

const schemas = [
  ["Zod", z.object({ amount: z.number() })],
  ["JSON", { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] }],
] as const;

it.each(schemas)(
  "a model that gives bad arguments twice isn't asked about them (schema: %s)",
  async (_name, schema) => {
    const saver = new MemorySaver();
    const journal = createJournal(saver);
    const paid: unknown[] = [];
    const pay = new DynamicStructuredTool({
      name: "pay",
      description: "pays",
      schema: schema as never,
      func: async (args: unknown) => `receipt ${paid.push(args)}`,
    });
    const { graph } = agentOf(
      journal,
      journal.tools([pay], { pay: "once" }) as never,
      (turn) =>
        [
          asks(call("pay", { amount: "ten" })),
          asks(call("pay", { amount: "ten" })),
          asks(call("pay", { amount: 10 })),
        ][turn] ?? says("done"),
      saver,
    );
    const result = await graph.invoke(begins, on("ada"));
    expect(questions(result)).toEqual([]);
    expect(receipts(result.messages).at(-1)).toBe("receipt 1");
    expect(paid).toHaveLength(1);
    for await (const { tool: open } of journal.unresolved("ada")) expect(open).toBe("nothing is open");
  },
);

it.each(schemas)("one within a tool that has acted tells nothing (schema: %s)", async (_name, schema) => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  let acted = 0;
  const inner = new DynamicStructuredTool({
    name: "inner",
    description: "d",
    schema: schema as never,
    func: async () => "",
  });
  const outer = tool(
    async (_args: { amount: number }, config) => {
      acted += 1;
      return await inner.invoke({ amount: "ten" } as never, config);
    },
    { name: "outer", description: "d", schema: z.object({ amount: z.number() }) },
  );
  const { graph } = agentOf(
    journal,
    journal.tools([outer], { outer: "once" }) as never,
    (turn) => (turn < 2 ? asks(call("outer", { amount: 10 })) : says("done")),
    saver,
  );
  expect(questions(await graph.invoke(begins, on("ada")))).toMatchObject([{ value: { kind: "ambiguous" } }]);
  expect(acted).toBe(1);
});
