import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { describe, expect, it } from "vitest";
import {
  asks,
  payments,
  pays,
  questions,
  receipts,
  reply,
  says,
  unluckyPayer,
  type Script,
} from "./support/effects.ts";

const hello = { messages: [new HumanMessage("pay")] };
const config = { configurable: { thread_id: "ada" } };
const once: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));
const twice: Script = (turn) => (turn < 2 ? asks(pays(5)) : says("done"));

describe("a policy", () => {
  const asking = { policy: () => ({ ask: "over the limit" }) };

  it("that asks lets a call run once a person allows it, and never again without a record", async () => {
    const { graph, paid, journal } = unluckyPayer(once, 0, { ...asking, author: "desk agent" });
    const stopped = await graph.invoke(hello, config);
    expect(paid).toEqual([]);
    expect(questions(stopped)).toMatchObject([
      { value: { kind: "approval", tool: "pay", args: { amount: 5 }, reason: "over the limit" } },
    ]);
    const done = await graph.invoke(reply(stopped, { allow: true, author: "Petra" }), config);
    expect(receipts(done.messages)).toEqual(["receipt 5"]);
    expect(paid).toEqual([5]);
    const authors = new Map<string, string | undefined>();
    for await (const { event, author } of journal.trail("ada")) authors.set(event.type, author);
    expect([authors.get("approved"), authors.get("claimed")]).toEqual(["Petra", "desk agent"]);
  });

  it("that asks tells the model what a person who denies says", async () => {
    const { graph, paid, journal } = unluckyPayer(once, 0, asking);
    const stopped = await graph.invoke(hello, config);
    const denial = { allow: false, reason: "too much", author: "Petra" };
    const done = await graph.invoke(reply(stopped, denial), config);
    expect(done.messages.at(-2)).toMatchObject({ content: "Denied: too much", status: "error" });
    expect(paid).toEqual([]);
    for await (const { author } of journal.trail("ada", { types: ["denied"] })) expect(author).toBe("Petra");
  });

  it("asks for each of two calls of a message, and each gets its own answer", async () => {
    const { graph, paid } = unluckyPayer(
      (turn) => (turn === 0 ? asks(pays(5), pays(6)) : says("done")),
      0,
      asking,
    );
    let result = await graph.invoke(hello, config);
    for (let times = 0; times < 2; times += 1) {
      const { args } = questions(result)[0]!.value as { args: { amount: number } };
      result = await graph.invoke(reply(result, { allow: args.amount === 6 }), config);
    }
    expect(paid).toEqual([6]);
    expect(receipts(result.messages)).toEqual(["Denied: a person denied it", "receipt 6"]);
  });

  it("that asked isn't asked again when the allowed call's outcome is unknown; a person is, about that", async () => {
    let asked = 0;
    const { graph, paid } = unluckyPayer(twice, 1, {
      policy: () => {
        asked += 1;
        return { ask: "over the limit" };
      },
    });
    let result = await graph.invoke(hello, config);
    result = await graph.invoke(reply(result, { allow: true }), config);
    expect(questions(result)).toMatchObject([{ value: { kind: "ambiguous" } }]);
    // The answer to the first question again is none to this one.
    expect(questions(await graph.invoke(null, config))).toMatchObject([{ value: { kind: "ambiguous" } }]);
    expect(paid).toEqual([5]);
    result = await graph.invoke(reply(result, { happened: true, result: "by phone" }), config);
    expect(receipts(result.messages).at(-1)).toBe("by phone");
    // It is asked before everything that runs; what was allowed counts where it asks for the same reason.
    expect([paid, asked]).toEqual([[5], 3]);
  });

  it.each([
    ["denies", () => ({ deny: "over 500" }), "Denied: over 500"],
    ["says no", () => false, "Denied: the policy doesn't allow it"],
    ["throws", () => Promise.reject(new Error("no rules")), "Denied: the policy failed: no rules"],
    [
      "hangs",
      () => new Promise<never>(() => undefined),
      "Denied: the policy failed: it took longer than 50 ms",
    ],
    ["answers nonsense", () => 1 as never, expect.stringContaining("isn't a valid one")],
    [
      "changes the arguments",
      ({ args }: { args: unknown }) => {
        (args as { amount: number }).amount = 1;
        return true;
      },
      expect.stringContaining("Denied: the policy failed"),
    ],
  ])("that %s refuses the call before anything runs, and the chain goes on", async (_name, policy, told) => {
    const { graph, paid } = unluckyPayer(twice, 0, { policy, policyTimeout: "50ms" });
    const done = await graph.invoke(hello, config);
    expect(receipts(done.messages)).toEqual([told, told]);
    expect(paid).toEqual([]);
  });

  it("sees the arguments that run, whatever the caller changes meanwhile", async () => {
    const saver = new MemorySaver();
    const args = { amount: 5 };
    const journal = createJournal(saver, {
      policy: (planned) => {
        args.amount = 1_000_000;
        return (planned.args as { amount: number }).amount === 5;
      },
    });
    const { pay, paid } = payments();
    await journal.tools([pay], { pay: "once" })[0]!.invoke(args, config);
    expect(paid).toEqual([5]);
  });

  it("that denied is asked again when the step begins anew after a person's answer", async () => {
    let limit = 1;
    const both: Script = (turn) => (turn === 0 ? asks(pays(5), pays(6)) : says("done"));
    const { graph, paid } = unluckyPayer(both, 0, {
      policy: ({ args }) => {
        const { amount } = args as { amount: number };
        return amount === 6 ? { ask: "six?" } : amount <= limit || { deny: `over ${limit}` };
      },
    });
    const stopped = await graph.invoke(hello, config);
    expect(paid).toEqual([]);
    limit = 5;
    const done = await graph.invoke(reply(stopped, { allow: true }), config);
    expect(receipts(done.messages)).toEqual(["receipt 5", "receipt 6"]);
    expect(paid.toSorted()).toEqual([5, 6]);
  });

  it("that changed doesn't undo what is recorded", async () => {
    let allowed = true;
    const { graph, paid } = unluckyPayer(once, 0, { policy: () => allowed });
    await graph.invoke(hello, config);
    allowed = false;
    let start;
    for await (const state of graph.getStateHistory(config))
      if (state.next.includes("agent")) start = state.config;
    expect(receipts((await graph.invoke(null, start!)).messages)).toEqual(["receipt 5"]);
    expect(paid).toEqual([5]);
  });

  it("during which the run is aborted leaves nothing that ran, and no open question", async () => {
    const controller = new AbortController();
    const journal = createJournal(new MemorySaver(), {
      policy: () => {
        controller.abort();
        return true;
      },
    });
    const { pay, paid } = payments();
    const plain = { id: "charge 5", tool: "charge", args: { amount: 5 } };
    const work = () => pay.invoke({ amount: 5 });
    await expect(journal.run({ ...config, signal: controller.signal }, plain, work)).rejects.toThrow("abort");
    expect(paid).toEqual([]);
    expect(await journal.run(config, plain, work)).toBe("receipt 5");
    expect(paid).toEqual([5]);
  });
});
