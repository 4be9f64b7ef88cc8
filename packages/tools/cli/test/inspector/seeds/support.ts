import { type AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import type { TierSaver } from "@stratigraph/core";
import { createJournal, type Journal } from "@stratigraph/journal";
import { z } from "zod";
import { failing, on, says, takes } from "./on.ts";

const ORDERS: Readonly<Record<string, object>> = {
  "4711": {
    order: "4711",
    status: "delivered",
    placed: "2026-11-02",
    items: [
      { sku: "LGT-200", name: "Front light Lumen 200", count: 1, price: 49.9, currency: "EUR" },
      { sku: "BLT-010", name: "Bolt set M5", count: 2, price: 4.5, currency: "EUR" },
    ],
    address: { city: "Gent", country: "BE" },
  },
  "4712": {
    order: "4712",
    status: "lost in transit",
    placed: "2026-11-09",
    items: [{ sku: "PMP-003", name: "Track pump", count: 1, price: 69, currency: "EUR" }],
    address: { city: "Porto", country: "PT" },
  },
};

/** The tools of a shop's support. Refunds of order 4712 end in a timeout, after which nobody knows whether the bank paid. */
function toolsOf(journal: Journal) {
  const order = z.object({ order: z.string() });
  const lookUp = tool(({ order: id }) => JSON.stringify(ORDERS[id] ?? { error: "no such order" }), {
    name: "look_up_order",
    description: "Looks up an order",
    schema: order,
  });
  const refund = tool(
    ({ order: id, amount }) => {
      if (id === "4712") throw new Error("read ETIMEDOUT: the bank didn't answer within 10 s");
      return `Refunded EUR ${amount.toFixed(2)} for order ${id}, receipt R-${id}-1`;
    },
    {
      name: "refund",
      description: "Pays money back",
      schema: order.extend({ amount: z.number(), reason: z.string() }),
    },
  );
  const mail = tool(({ to, subject }) => `Queued "${subject}" to ${to}`, {
    name: "send_mail",
    description: "Sends a mail",
    schema: z.object({ to: z.string(), subject: z.string(), text: z.string() }),
  });
  return journal.tools([lookUp, refund, mail], {
    look_up_order: "none",
    refund: "once",
    send_mail: "idempotent",
  });
}

interface Turn {
  readonly says?: string;
  readonly calls?: readonly { readonly name: string; readonly args: Record<string, unknown> }[];
}

/** What the agent answers: one list for each order, one entry for each of its turns. */
const SCRIPT: Readonly<Record<string, readonly Turn[]>> = {
  "4711": [
    { says: "Let me look at your order.", calls: [{ name: "look_up_order", args: { order: "4711" } }] },
    {
      says: "The light is covered by the guarantee. I refund it now and send you the receipt.",
      calls: [
        { name: "refund", args: { order: "4711", amount: 49.9, reason: "defective front light" } },
        {
          name: "send_mail",
          args: {
            to: "anna@example.org",
            subject: "Your refund for order 4711",
            text: "Dear Anna,\n\nEUR 49.90 are on their way to you.\n\nVelo & Co.",
          },
        },
      ],
    },
    {
      says: "Done. I refunded **EUR 49.90** to your card; it takes two to three days:\n\n- order 4711, front light Lumen 200\n- receipt `R-4711-1`, sent to anna@example.org\n\nIs there anything else?",
    },
    { says: "You are welcome. Have a safe ride!" },
  ],
  "4712": [
    { says: "", calls: [{ name: "look_up_order", args: { order: "4712" } }] },
    {
      says: "The parcel service lost it. You get your money back.",
      calls: [{ name: "refund", args: { order: "4712", amount: 69, reason: "lost in transit" } }],
    },
    { says: "I refunded EUR 69.00." },
  ],
};

/** An agent of a shop's support, whose calls run once. It has a script in place of a model. */
export function supportAgent(checkpointer: TierSaver, journal: Journal = createJournal(checkpointer)) {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    ...journal.channel,
    order: Annotation<string>(),
    customer: Annotation<{ name: string; email: string; tier: string; since: string }>(),
    sentiment: Annotation<number>(),
  });
  return new StateGraph(State)
    .addNode("agent", async (state) => {
      await takes(5);
      const turn = state.messages.filter((message: BaseMessage) => message.getType() === "ai").length;
      const { says: text = "", calls = [] } = SCRIPT[state.order]?.[turn] ?? {
        says: "I have nothing to add.",
      };
      const input = 310 + turn * 145;
      const output = 24 + text.length / 4;
      const message = says({
        content: text,
        tool_calls: calls.map((call, n) => ({
          ...call,
          id: `call_${state.order}_${turn}${n}`,
          type: "tool_call" as const,
        })),
        usage_metadata: {
          input_tokens: input,
          output_tokens: Math.round(output),
          total_tokens: input + Math.round(output),
        },
        response_metadata: { model: "scripted-1", finish_reason: calls.length > 0 ? "tool_calls" : "stop" },
      });
      return {
        messages: [message],
        sentiment: [-0.6, -0.2, 0.5, 0.9][turn] ?? 0,
        ...journal.next(state, message),
      };
    })
    .addNode("tools", new ToolNode(toolsOf(journal) as never, { handleToolErrors: false }))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer });
}

const SYSTEM = new SystemMessage({
  id: "system",
  content:
    "You are the support agent of Velo & Co., a shop for bicycle parts. Be short and friendly. Look up an order before you speak about it. Never refund more than was paid.",
});

/** A refund that went well, and one of which nobody knows whether it happened: the agent asks a person. */
export async function seedSupport(saver: TierSaver): Promise<void> {
  const journal = createJournal(saver);
  const agent = supportAgent(saver, journal);
  const anna = on("support/4711", "anna");
  const customer = { name: "Anna Peeters", email: "anna@example.org", tier: "gold", since: "2021-03-14" };
  const said = (id: string, content: string) => new HumanMessage({ id, content });
  await agent.invoke(
    {
      messages: [
        SYSTEM,
        said("anna-1", "Hi, the front light of order 4711 went dark after a week. Can I get my money back?"),
      ],
      order: "4711",
      customer,
    },
    anna,
  );
  await agent.invoke({ messages: [said("anna-2", "No, that was quick. Thanks!")] }, anna);
  const bruno = on("support/4712", "bruno");
  const other = { name: "Bruno Alves", email: "bruno@example.org", tier: "standard", since: "2026-01-30" };
  const lost = [SYSTEM, said("bruno-1", "My pump (order 4712) never arrived.")];
  await failing(agent.invoke({ messages: lost, order: "4712", customer: other }, bruno));
  // The agent is started again, and doesn't pay a second time: it asks.
  await agent.invoke(null, bruno);
  await journal.end();
}
