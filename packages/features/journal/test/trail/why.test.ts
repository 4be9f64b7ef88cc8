import { promote, undo } from "@stratigraph/branch";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { anotherTime } from "../support/anotherTime.ts";
import { createJournal, type Question } from "../../src/index.ts";
import { agentOf, asks, payments, says } from "../support/effects.ts";
import { savers } from "../support/savers.ts";

const pays = (amount: number) => ({ name: "pay", args: { amount } });
const sign = { keys: { "2026": "a secret of the year 2026" }, activeKey: "2026" };

describe.each(savers.slice(0, 2))("an auditor's question, on %s", (_name, open) => {
  it("why: what a model had seen, with calls, results and decisions", async () => {
    const { saver, close } = await open();
    const journal = createJournal(saver, {
      sign,
      author: "ada's agent",
      policy: ({ args }) => {
        const { amount } = args as { amount: number };
        if (amount > 500) return { deny: "over 500" };
        return amount > 100 ? { ask: "over 100" } : true;
      },
    });
    const { pay } = payments();
    const script = [asks(pays(900)), asks(pays(200)), asks(pays(5)), says("All is paid.")];
    const { graph } = agentOf(journal, journal.tools([pay], { pay: "once" }), (turn) => script[turn]!, saver);
    const config = { configurable: { thread_id: "ada" } };
    const stopped = await graph.invoke({ messages: [{ role: "user", content: "pay my bills" }] }, config);
    const [{ value }] = stopped["__interrupt__" as never] as [{ value: Question }];
    const resume = { id: value.id, allow: true };
    const { messages } = await graph.invoke(new Command({ resume }), config);
    const [, first, , second, answer, third] = messages;
    const why = await journal.why("ada", { messageId: third!.id! });
    expect(why.message.id).toBe(third!.id);
    expect(why.source).toBe("loop");
    expect(why.inputs.map(({ content }) => content)).toEqual(["pay my bills"]);
    expect(why.context.map(({ id }) => id)).toEqual(messages.slice(0, 5).map(({ id }) => id));
    expect(
      why.calls.map(({ tool, args, messageId, foundBy }) => ({ tool, args, messageId, foundBy })),
    ).toEqual([
      { tool: "pay", args: { amount: 900 }, messageId: first!.id, foundBy: "id" },
      { tool: "pay", args: { amount: 200 }, messageId: second!.id, foundBy: "id" },
    ]);
    const [denied, allowed] = why.calls;
    expect(denied!.result).toContain("over 500");
    expect(denied!.decisions.map(({ event }) => event)).toMatchObject([
      { type: "denied", by: "policy", reason: "over 500" },
    ]);
    expect(denied!.decisions[0]!.author).toBe("ada's agent");
    expect(allowed!.result).toBe(answer!.content);
    expect(allowed!.decisions.map(({ event }) => event.type)).toEqual(["approved", "claimed", "succeeded"]);
    expect(why.asks).toMatchObject([{ tool: "pay", args: { amount: 5 }, foundBy: "id" }]);
    // The state that the model was given is the one of the checkpoint that is named.
    const given = await graph.getState(why.from!);
    expect((given.values as { messages: unknown[] }).messages).toHaveLength(5);
    expect(given.next).toEqual(["agent"]);
    const then = await graph.getState(why.checkpoint);
    expect((then.values as { messages: { id?: string }[] }).messages.at(-1)!.id).toBe(third!.id);
    const asked = await journal.why("ada", { messageId: messages[0]!.id! });
    expect(asked).toMatchObject({ source: "input", context: [], calls: [] });
    await expect(journal.why("ada", { messageId: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await journal.end();
    await close();
  });

  it("at: the checkpoint that was the head at a moment, and the trail's last entry", async () => {
    const { saver, close } = await open();
    const journal = createJournal(saver, { sign });
    const { pay } = payments();
    const { graph } = agentOf(
      journal,
      journal.tools([pay], { pay: "once" }),
      (turn) => (turn % 2 === 0 ? asks(pays(turn)) : says("done")),
      saver,
    );
    const config = { configurable: { thread_id: "ada" } };
    const wait = async (): Promise<Date> => {
      await anotherTime();
      const now = new Date();
      await anotherTime();
      return now;
    };
    const head = async () => (await graph.getState(config)).config.configurable!["checkpoint_id"] as string;
    const before = await wait();
    await graph.invoke({ messages: [{ role: "user", content: "one" }] }, config);
    const [one, oneHead] = [await head(), await journal.head("ada")];
    const afterOne = await wait();
    await graph.invoke({ messages: [{ role: "user", content: "two" }] }, config);
    const [two, twoHead] = [await head(), await journal.head("ada")];
    const afterTwo = await wait();
    expect(await journal.at("ada", before)).toMatchObject({ checkpoint: undefined, trail: { seq: 0 } });
    expect(await journal.at("ada", afterOne)).toMatchObject({
      checkpoint: { configurable: { checkpoint_id: one } },
      trail: oneHead,
    });
    expect(await journal.at("ada", afterTwo)).toMatchObject({
      checkpoint: { configurable: { checkpoint_id: two } },
      trail: twoHead,
    });
    // The head is moved back, and that is undone.
    await promote(saver, { threadId: "ada", checkpointId: one });
    const afterMove = await wait();
    await undo(saver, "ada");
    expect(await journal.at("ada", afterMove)).toMatchObject({ trail: twoHead });
    const now = await journal.at("ada", new Date());
    expect(now.checkpoint!.configurable.checkpoint_id).toBe(await head());
    expect(await head()).toBe(two);
    await promote(saver, { threadId: "ada", checkpointId: one });
    const moved = await journal.at("ada", new Date());
    expect(moved.checkpoint!.configurable.checkpoint_id).toBe(one);
    expect(await journal.at("ada", afterTwo)).toMatchObject({
      checkpoint: { configurable: { checkpoint_id: two } },
    });
    await journal.end();
    await close();
  });
});
