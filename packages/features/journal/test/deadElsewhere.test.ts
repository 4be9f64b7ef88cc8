import { HumanMessage, ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createJournal, currentCall } from "../src/index.ts";
import { agentOf, asks, call, questions, says, type Script } from "./support/effects.ts";
import { deafToDeaths, Life } from "./support/mortal.ts";

// A process died while it paid. Another one is asked for the same payment, by a message that isn't the same: it hasn't looked yet whether
// the first one lives.

let hear: () => void;
beforeAll(() => {
  hear = deafToDeaths();
});
afterAll(() => hear());

const config = { configurable: { thread_id: "ada" }, durability: "sync" as const };

/** A process with an agent that pays five euros until it has a receipt. */
function process(
  tier: MemoryTier,
  effects: "once" | "idempotent",
  paid: string[],
  dies = false,
  name = "pay",
) {
  const life = new Life();
  const saver = new TierSaver(life.of(tier));
  const journal = createJournal(saver);
  const pay = tool(
    () => {
      life.lives();
      paid.push(currentCall()!.idempotencyKey);
      if (dies) life.end();
      return Promise.resolve(`receipt ${new Set(paid).size}`);
    },
    { name, description: "pays", schema: z.object({ amount: z.number() }) },
  );
  const tools = journal.tools([pay], {
    [name]: { effects, ...(name === "pay" ? {} : { formerly: "pay" }) },
  });
  const script: Script = (_turn, _asked, messages) => {
    const last = messages.at(-1)!;
    const isPaid = last.getType() === "tool" && String(last.content).startsWith("receipt");
    return isPaid ? says("done") : asks(call(name, { amount: 5 }));
  };
  const { graph } = agentOf(journal, tools, script, saver);
  return { graph, journal };
}

type Process = ReturnType<typeof process>;

const ways: Readonly<Record<string, { name?: string; goOn: (one: Process) => Promise<unknown> }>> = {
  "by a new message": {
    goOn: ({ graph }) => graph.invoke({ messages: [new HumanMessage("pay, please")] }, config),
  },
  "by the tool's new name": {
    name: "pay_bank",
    goOn: ({ graph }) => graph.invoke(null, config),
  },
  "after the call was answered by hand": {
    goOn: async ({ graph }) => {
      const { messages } = (await graph.getState(config)).values as { messages: BaseMessage[] };
      const id = (messages.at(-1) as AIMessage).tool_calls![0]!.id!;
      const skipped = new ToolMessage({ content: "skipped", tool_call_id: id });
      await graph.updateState(config, { messages: [skipped] }, "tools");
      return await graph.invoke(null, config);
    },
  },
};

describe.each(Object.entries(ways))(
  "a payment whose process died, asked for again %s",
  (_way, { name, goOn }) => {
    it("(once) isn't made a second time: a person is asked", async () => {
      const [tier, paid] = [new MemoryTier(), [] as string[]];
      const input = { messages: [new HumanMessage("pay")] };
      await expect(process(tier, "once", paid, true).graph.invoke(input, config)).rejects.toThrow();
      const state = await goOn(process(tier, "once", paid, false, name));
      expect(paid).toHaveLength(1);
      expect(questions(state).map(({ value }) => value.kind)).toEqual(["ambiguous"]);
    });

    it("(idempotent) is repeated with its own key first", async () => {
      const [tier, paid] = [new MemoryTier(), [] as string[]];
      const input = { messages: [new HumanMessage("pay")] };
      await expect(process(tier, "idempotent", paid, true).graph.invoke(input, config)).rejects.toThrow();
      const { journal, graph } = process(tier, "idempotent", paid, false, name);
      expect(questions(await goOn({ journal, graph }))).toEqual([]);
      expect(paid[1]).toBe(paid[0]);
      for await (const open of journal.unresolved("ada")) expect.unreachable(open.tool);
    });
  },
);
