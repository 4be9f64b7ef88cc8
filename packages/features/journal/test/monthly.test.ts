import type { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { z } from "zod";
import { createJournal, currentCall } from "../src/index.ts";
import { asks, call, says } from "./support/effects.ts";

// A bank that charges once for an idempotency key, as Stripe does. What is counted is what it charged.

const begins = { messages: [{ role: "user", content: "pay the rent" }] };
const on = (thread_id: string) => ({ configurable: { thread_id } });

/** An agent that pays ten euros in each turn, and tries again until it has a receipt. @param cuts in which calls the line is cut, and when */
function payer(cuts: Readonly<Record<number, "before" | "after">> = {}) {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const charged: string[] = [];
  let called = 0;
  const charge = tool(
    () => {
      called += 1;
      const { idempotencyKey } = currentCall()!;
      if (cuts[called] !== "before" && !charged.includes(idempotencyKey)) charged.push(idempotencyKey);
      if (cuts[called] !== undefined)
        throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
      return `receipt ${charged.indexOf(idempotencyKey) + 1}`;
    },
    { name: "charge", description: "charges", schema: z.object({ euros: z.number() }) },
  );
  const tools = journal.tools([charge], { charge: "idempotent" });
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("agent", (state) => {
      const isPaid = String(state.messages.at(-1)!.content).startsWith("receipt");
      const message = isPaid ? says("paid") : asks(call("charge", { euros: 10 }));
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer: saver });
  return { graph, journal, charged };
}

it.each([
  ["never", {}],
  ["once, before the bank charged", { 1: "before" }],
  ["once, after the bank charged", { 1: "after" }],
  ["three times in May", { 1: "after", 2: "before", 3: "after" }],
  ["in May and in July", { 1: "after", 4: "before" }],
] as const)(
  "a line that is cut %s: four months are four charges, with a receipt each",
  async (_name, cuts) => {
    const { graph, journal, charged } = payer(cuts);
    for (let month = 1; month <= 4; month += 1) {
      const { messages } = await graph.invoke(begins, on("ada"));
      expect(messages.at(-2)!.content).toBe(`receipt ${month}`);
    }
    expect(charged).toHaveLength(4);
    for await (const { fingerprint } of journal.unresolved("ada"))
      expect(fingerprint).toBe("nothing is open");
    expect(await journal.verify("ada")).toMatchObject({ ok: true });
  },
);

it("two customers who pay the same have keys of their own, which tell nothing", async () => {
  const { graph, charged } = payer();
  for (const customer of ["ada", "bob"]) await graph.invoke(begins, on(customer));
  expect(new Set(charged).size).toBe(2);
});

it("a call that is forgotten is charged again", async () => {
  const { graph, journal, charged } = payer();
  await graph.invoke(begins, on("ada"));
  const [made] = await journal.calls("ada");
  await journal.forget(made!.fingerprint, { threadId: "ada", reason: "refunded" });
  let start;
  for await (const state of graph.getStateHistory(on("ada")))
    if (state.next.includes("agent")) start = state.config;
  await graph.invoke(null, start!);
  expect(charged).toHaveLength(2);
});
