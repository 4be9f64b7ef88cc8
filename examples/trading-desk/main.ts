/**
 * An agent trades for a desk that is audited. A policy lets small orders pass, asks a person about larger ones, and refuses what isn't on the
 * list. Later an auditor asks about one order: why was it placed? The journal shows what the model had seen, who allowed it, and proves that
 * nobody changed the record since.
 */
import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  END,
  isInterrupted,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createJournal, type ApprovalQuestion, type Policy } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";
import { z } from "zod";

const folder = mkdtempSync(join(tmpdir(), "trading-desk-"));
const placed: string[] = [];

const price = tool(({ symbol }) => ({ ACME: "40.10", GLOBEX: "12.75" })[symbol] ?? "unknown", {
  name: "price",
  description: "The last price of a share, in EUR",
  schema: z.object({ symbol: z.string() }),
});
const order = tool(
  ({ symbol, shares }) => {
    placed.push(`${shares} ${symbol}`);
    return `order ${placed.length}: ${shares} ${symbol}`;
  },
  { name: "order", description: "Buys shares", schema: z.object({ symbol: z.string(), shares: z.number() }) },
);

// #region policy
const policy: Policy = ({ tool: name, args }) => {
  if (name !== "order") return true;
  const { symbol, shares } = args as { symbol: string; shares: number };
  if (!["ACME", "GLOBEX"].includes(symbol)) return { deny: `${symbol} isn't on the list` };
  return shares <= 100 || { ask: `${shares} shares are more than 100` };
};
// #endregion

/** What the model asks for, message by message. */
const script = [
  [{ name: "price", args: { symbol: "ACME" } }],
  [{ name: "order", args: { symbol: "INITECH", shares: 10 } }],
  [{ name: "order", args: { symbol: "ACME", shares: 500 } }],
];

try {
  await using checkpointer = await createCheckpointer({ pglite: join(folder, "db") });
  const sign = { keys: { "2026": randomBytes(32) }, activeKey: "2026" };
  await using journal = createJournal(checkpointer, { policy, sign, author: "desk agent" });
  const tools = journal.tools([price, order], { price: "none", order: "once" });
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("model", (state) => {
      const calls = script[state.messages.filter((message) => message.getType() === "ai").length] ?? [];
      const message = new AIMessage({
        id: crypto.randomUUID(),
        content: calls.length > 0 ? "" : "500 ACME were bought.",
        tool_calls: calls.map((call) => ({ ...call, id: crypto.randomUUID(), type: "tool_call" as const })),
      });
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "model")
    .compile({ checkpointer });
  const config = { configurable: { thread_id: "desk 7" } };

  const stopped = await graph.invoke({ messages: [{ role: "user", content: "Get us into ACME." }] }, config);
  assert(isInterrupted(stopped));
  const [question] = stopped.__interrupt__;
  const { id, reason } = question!.value as ApprovalQuestion;
  console.log("The agent stops and asks:", reason);
  assert.deepEqual(placed, []);
  const { messages } = await graph.invoke(
    new Command({ resume: { id, allow: true, reason: "Within the limit of desk 7.", author: "Petra" } }),
    config,
  );
  assert.deepEqual(placed, ["500 ACME"]);
  console.log("Petra allows it:", messages.at(-2)?.content);

  console.log('\nA month later, the auditor: "Why was the order for 500 ACME placed?"');
  // #region why
  const asking = messages.findLast((message) => ((message as AIMessage).tool_calls?.length ?? 0) > 0)!;
  const { inputs, calls, asks } = await journal.why("desk 7", { messageId: asking.id! });
  // #endregion
  for (const input of inputs) console.log(`  It was told:  ${String(input.content)}`);
  for (const call of calls)
    console.log(`  It had seen:  ${call.tool}(${JSON.stringify(call.args)}) → ${String(call.result)}`);
  for (const { tool: name, args, decisions } of asks) {
    console.log(`  It asked for: ${name}(${JSON.stringify(args)})`);
    for (const { at, author, event } of decisions) {
      const reason = event.type === "approved" ? `: ${event.reason}. "${event.said}"` : "";
      console.log(`    ${at.toISOString()}  ${event.type}${reason}  (${author})`);
    }
  }
  const [asked] = asks;
  assert.deepEqual(
    asked?.decisions.map(({ event }) => event.type),
    ["approved", "claimed", "succeeded"],
  );
  assert.equal(calls.length, 2);
  assert.match(String(calls[1]?.result), /INITECH isn't on the list/);

  // #region verify
  const head = await journal.head("desk 7");
  const verified = await journal.verify("desk 7", { head });
  // #endregion
  assert(verified.ok);
  console.log(
    `\nThe record is whole: ${head.seq} entries, signed. Its head, to be kept elsewhere: ${head.hash.slice(0, 16)}…`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
