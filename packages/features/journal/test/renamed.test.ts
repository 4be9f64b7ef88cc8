import { tool } from "@langchain/core/tools";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createJournal, currentCall, type ToolOptions } from "../src/index.ts";
import { agentOf, asks, call, questions, receipts, reply, says, type Script } from "./support/effects.ts";

// A deployment gives a tool another name, or a version, while a call of it waits for its answer.

const input = { messages: [{ role: "user", content: "pay the invoice" }] };
const on = { configurable: { thread_id: "ada" } };

interface Bank {
  readonly saver: TierSaver;
  /** The keys of what was paid. */
  readonly paid: string[];
  /** Whether the agent is a subgraph. */
  readonly isWithin?: boolean;
}

/** A deployment of an agent that pays. @param dies when its first payment ends the process */
function deployment(
  { saver, paid, isWithin = false }: Bank,
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
  const script: Script = (_turn, _asked, messages) =>
    String(messages.at(-1)!.content).startsWith("receipt") ? says("paid") : asks(call(name, { euros: 9 }));
  const killed = (): never => {
    throw new Error("killed");
  };
  const checkpointer = isWithin ? undefined : saver;
  const { graph: agent } = agentOf(journal, journal.tools([pay], { [name]: options }), script, checkpointer, {
    afterTools: dies === undefined ? undefined : killed,
  });
  const outer = new StateGraph(MessagesAnnotation).addNode("agent", agent).addEdge(START, "agent");
  return { graph: isWithin ? outer.compile({ checkpointer: saver }) : agent, journal };
}

const newBank = (isWithin = false): Bank => ({ saver: new MemorySaver(), paid: [], isWithin });

describe.each([
  ["another name", false, "pay_invoice", { formerly: "pay" }],
  ["one of several names", false, "mcp__bank__pay", { formerly: ["pay_bill", "pay"] }],
  ["a version", false, "pay", { formerly: "pay", version: "2" }],
  ["another name, in a subgraph", true, "pay_invoice", { formerly: "pay" }],
  ["a version, in a subgraph", true, "pay", { formerly: "pay", version: "2" }],
] as const)("%s", (_what, isWithin, name, renamed) => {
  it.each(["once", "idempotent"] as const)(
    "%s: what was paid before the checkpoint is paid once",
    async (effects) => {
      const bank = newBank(isWithin);
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
    const bank = newBank(isWithin);
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
    const bank = newBank(isWithin);
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

it("a call that an instance of the old version makes while one of the new version is about to make it isn't made twice", async () => {
  const tier = new MemoryTier();
  const door = new FaultyTier(tier);
  const paid: string[] = [];
  const payments = (saver: TierSaver, name: string, formerly?: string) => {
    const pay = tool(({ euros }: { euros: number }) => `receipt ${paid.push(`${name} ${euros}`)}`, {
      ...{ name, description: "pays", schema: z.object({ euros: z.number() }) },
    });
    const [wrapped] = createJournal(saver).tools([pay], { [name]: { effects: "once", formerly } });
    return async () => String(await wrapped!.invoke({ euros: 5 }, { configurable: { thread_id: "ada" } }));
  };
  const before = payments(new TierSaver(tier), "pay");
  const after = payments(new TierSaver(door), "charge", "pay");
  const claim = door.hold("append");
  const late = after();
  await claim.reached;
  expect(await before()).toBe("receipt 1");
  claim.release();
  expect(await late).toBe("receipt 1");
  expect(paid).toEqual(["pay 5"]);
});
