import type { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createJournal, currentCall, type ToolOptions } from "../src/index.ts";
import { asks, call, questions, receipts, reply, says } from "./support/effects.ts";

// A deployment gives a tool another name, or a version, while a call of it waits for its answer.

const input = { messages: [{ role: "user", content: "pay the invoice" }] };
const on = { configurable: { thread_id: "ada" } };

interface Bank {
  readonly saver: TierSaver;
  /** The keys of what was paid. */
  readonly paid: string[];
}

/** A deployment of an agent that pays. @param dies when its first payment ends the process */
function deployment(
  { saver, paid }: Bank,
  name: string,
  options: ToolOptions,
  dies?: "while it pays" | "before its checkpoint",
) {
  const journal = createJournal(saver);
  const pay = tool(
    () => {
      const { idempotencyKey } = currentCall()!;
      if (!paid.includes(idempotencyKey)) paid.push(idempotencyKey);
      if (dies === "while it pays") throw new Error("the line was cut");
      return `receipt ${paid.indexOf(idempotencyKey) + 1}`;
    },
    { name, description: "pays", schema: z.object({ euros: z.number() }) },
  );
  const tools = new ToolNode(journal.tools([pay], { [name]: options }));
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("agent", (state) => {
      const { content } = state.messages.at(-1)!;
      const message = String(content).startsWith("receipt") ? says("paid") : asks(call(name, { euros: 9 }));
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", async (state, config) => {
      const told = await tools.invoke(state, config);
      if (dies !== undefined) throw new Error("killed");
      return told as typeof state;
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer: saver });
  return { graph, journal };
}

const newBank = (): Bank => ({ saver: new MemorySaver(), paid: [] });

describe.each([
  ["another name", "pay_invoice", { formerly: "pay" }],
  ["one of several names", "mcp__bank__pay", { formerly: ["pay_bill", "pay"] }],
  ["a version", "pay", { formerly: "pay", version: "2" }],
] as const)("%s", (_what, name, renamed) => {
  it.each(["once", "idempotent"] as const)(
    "%s: what was paid before the checkpoint is paid once",
    async (effects) => {
      const bank = newBank();
      const before = deployment(bank, "pay", effects, "before its checkpoint");
      await expect(before.graph.invoke(input, on)).rejects.toThrow("killed");
      const { graph, journal } = deployment(bank, name, { effects, ...renamed });
      const { messages } = await graph.invoke(null, on);
      expect(receipts(messages).at(-1)).toBe("receipt 1");
      expect(bank.paid).toHaveLength(1);
      // The next invoice is another one.
      const next = await graph.invoke(input, on);
      expect(receipts(next.messages).at(-1)).toBe("receipt 2");
      expect(bank.paid).toHaveLength(2);
      expect(await journal.verify("ada")).toMatchObject({ ok: true });
    },
  );

  it("once: nobody knows whether it was paid, so a person is asked", async () => {
    const bank = newBank();
    const before = deployment(bank, "pay", "once", "while it pays");
    await expect(before.graph.invoke(input, on)).rejects.toThrow("killed");
    const { graph, journal } = deployment(bank, name, { effects: "once", ...renamed });
    const asked = await graph.invoke(null, on);
    expect(questions(asked)).toMatchObject([
      { value: { kind: "ambiguous", tool: "pay", args: { euros: 9 } } },
    ]);
    const { messages } = await graph.invoke(reply(asked, { happened: true, result: "receipt by phone" }), on);
    expect(receipts(messages).at(-1)).toBe("receipt by phone");
    expect(bank.paid).toHaveLength(1);
    for await (const { tool: open } of journal.unresolved("ada")) expect(open).toBe("nothing is open");
  });

  it("idempotent: it is repeated with its key", async () => {
    const bank = newBank();
    const before = deployment(bank, "pay", "idempotent", "while it pays");
    await expect(before.graph.invoke(input, on)).rejects.toThrow("killed");
    const { graph } = deployment(bank, name, { effects: "idempotent", ...renamed });
    expect(receipts((await graph.invoke(null, on)).messages).at(-1)).toBe("receipt 1");
    expect(bank.paid).toHaveLength(1);
  });
});

it("a tool that was removed: what became of its call stays a question, which names it", async () => {
  const bank = newBank();
  const before = deployment(bank, "pay", "once", "while it pays");
  await expect(before.graph.invoke(input, on)).rejects.toThrow("killed");
  const { journal } = deployment(bank, "look", "once");
  const open = [];
  for await (const found of journal.unresolved("ada")) open.push(found);
  expect(open).toMatchObject([{ tool: "pay", args: { euros: 9 } }]);
});

it.each(["", 7, ["pay", ""], "stratigraph:pay"])("formerly: %j is refused", (formerly) => {
  const make = () => deployment(newBank(), "pay", { effects: "once", formerly: formerly as string });
  expect(make).toThrowError(
    expect.objectContaining({
      code: "INVALID_OPTION",
      data: expect.objectContaining({ field: "tools.pay.formerly" }),
    }),
  );
});
