import { TierSaver, MemoryTier } from "@stratigraph/core";
import type { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createJournal } from "../src/index.ts";
import { agentOf, asks, payments, pays, reply, says } from "./support/effects.ts";

describe("a call of a tool", () => {
  it("happens once, also where its step is repeated from an earlier checkpoint", async () => {
    const saver = new TierSaver(new MemoryTier());
    const journal = createJournal(saver);
    const { pay, paid } = payments();
    const { graph } = agentOf(
      journal,
      journal.tools([pay], { pay: "once" }),
      (turn) => (turn === 0 ? asks(pays(5)) : says("done")),
      saver,
    );
    const config = { configurable: { thread_id: "ada" } };
    const first = await graph.invoke({ messages: [{ role: "user", content: "pay 5" }] }, config);
    expect(paid).toEqual([5]);
    const history = [];
    for await (const state of graph.getStateHistory(config)) history.push(state);
    const beforeTools = history.find(({ next }) => next.includes("tools"))!;
    const again = await graph.invoke(null, beforeTools.config);
    expect(paid).toEqual([5]);
    const beforeModel = history.find(({ next }) => next.includes("agent"))!;
    const asked = await graph.invoke(null, beforeModel.config);
    expect(paid).toEqual([5]);
    for (const { messages } of [first, again, asked]) {
      const [, ai, answer] = messages;
      const [call] = (ai as AIMessage).tool_calls!;
      expect(answer).toMatchObject({ content: "receipt 5", tool_call_id: call!.id });
    }
  });

  it("is asked about where its outcome is unknown, and not repeated", async () => {
    const saver = new TierSaver(new MemoryTier());
    const journal = createJournal(saver);
    const { pay, paid } = payments(() => {
      throw new Error("the line was cut");
    });
    const { graph } = agentOf(
      journal,
      journal.tools([pay], { pay: "once" }),
      (turn) => (turn < 2 ? asks(pays(5)) : says("done")),
      saver,
    );
    const config = { configurable: { thread_id: "ada" } };
    const stopped = await graph.invoke({ messages: [{ role: "user", content: "pay 5" }] }, config);
    expect(paid).toEqual([5]);
    expect(stopped["__interrupt__" as never]).toMatchObject([
      { value: { kind: "ambiguous", tool: "pay", args: { amount: 5 } } },
    ]);
    const done = await graph.invoke(reply(stopped, { happened: true, result: "receipt by phone" }), config);
    expect(paid).toEqual([5]);
    expect(done.messages.at(-1)!.content).toBe("done");
  });
});
