import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import type { Tier } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { createJournal, currentCall } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";
import type { Done, Effect, Orders, Point } from "./message.ts";

// An agent that pays, in a process that kills itself at one point of the protocol. Whoever starts it again sees whether it goes on well.

const orders = JSON.parse(process.argv[2]!) as Orders;
const { url, hot } = orders;
const checkpointer = await createCheckpointer(
  hot !== undefined ? { hot, warm: url } : url.startsWith("postgres") ? { postgres: url } : { pglite: url },
);

/** What each thread's tools have done since its last claim: tells a claim from a record. */
const acted = new Map<string, number>();
let times = 0;

function reached(point: Point): void {
  if (orders.die?.at !== point) return;
  times += 1;
  if (times === orders.die.time) process.kill(process.pid, "SIGKILL");
}

/** Wraps the calls of the tier that the saver and the journal make. */
function dying(tier: Tier): void {
  const { append, appendWrites } = tier;
  tier.append = async (request) => {
    const isCall = request.heads.some(({ namespace }) => namespace === reservedNamespaces.calls);
    const step = isCall ? ((acted.get(request.threadId) ?? 0) > 0 ? "the record" : "the claim") : "put";
    reached(`before ${step}` as Point);
    const appended = await append.call(tier, request);
    reached(`after ${step}` as Point);
    return appended;
  };
  tier.appendWrites = async (request) => {
    reached("before putWrites");
    await appendWrites.call(tier, request);
    reached("after putWrites");
  };
}
dying(checkpointer.tier);

function act(name: Effect["tool"], thread: string, turn: number, nonce: string): string {
  reached("before the effect");
  const { fingerprint, idempotencyKey: key } = currentCall()!;
  const effect: Effect = { tool: name, thread, turn, nonce, fingerprint, key };
  const file = openSync(orders.effects, "a");
  writeSync(file, `${JSON.stringify(effect)}\n`);
  fsyncSync(file);
  closeSync(file);
  acted.set(thread, (acted.get(thread) ?? 0) + 1);
  reached("after the effect");
  return `${name} ${turn} ${nonce}`;
}

interface Turn {
  readonly thread: string;
  readonly turn: number;
  readonly nonce: string;
}

// JSON schema: a fifth of what a child has to load would be zod.
const schema = {
  type: "object" as const,
  properties: {
    thread: { type: "string" as const },
    turn: { type: "number" as const },
    nonce: { type: "string" as const },
  },
  required: ["thread", "turn", "nonce"],
};
const pay = tool(async ({ thread, turn, nonce }: Turn) => act("pay", thread, turn, nonce), {
  name: "pay",
  description: "pays",
  schema,
});
const charge = tool(async ({ thread, turn, nonce }: Turn) => act("charge", thread, turn, nonce), {
  name: "charge",
  description: "charges",
  schema,
});
const look = tool(async ({ turn }: Turn) => `look ${turn}`, { name: "look", description: "looks", schema });

const journal = createJournal(checkpointer);
const tools = journal.tools([pay, charge, look], {
  pay: "once",
  charge: "idempotent",
  look: "none",
});

/** A model that never says the same twice. */
function model(thread: string, turn: number): AIMessage {
  const nonce = crypto.randomUUID();
  const call = (name: string) => ({
    name,
    args: { thread, turn, nonce },
    id: crypto.randomUUID(),
    type: "tool_call" as const,
  });
  const script = [["pay"], ["look", "charge"], ["pay", "pay"], ["charge", "pay", "look"]];
  acted.delete(thread);
  const names = script[turn];
  if (names === undefined) return new AIMessage("done");
  return new AIMessage({ content: "", tool_calls: names.map(call) });
}

const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
const graph = new StateGraph(State)
  .addNode("agent", (state, config) => {
    const turn = state.messages.filter((message) => message.getType() === "ai").length;
    const message = model(String(config.configurable?.["thread_id"]), turn);
    return { messages: [message], ...journal.next(state, message) };
  })
  .addNode("tools", new ToolNode(tools))
  .addEdge(START, "agent")
  .addConditionalEdges("agent", (state) =>
    ((state.messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
  )
  .addEdge("tools", "agent")
  .compile({ checkpointer });

function happened(fingerprint: string): boolean {
  return readFileSync(orders.effects, "utf8")
    .split("\n")
    .some((line) => line !== "" && (JSON.parse(line) as Effect).fingerprint === fingerprint);
}

let answered = 0;

/** Goes on with a thread until it is done, and answers what it asks truthfully. */
async function finish(thread: string): Promise<Done["finished"][number]> {
  const config = { configurable: { thread_id: thread }, durability: orders.durability, recursionLimit: 100 };
  for (;;) {
    const { values, tasks } = await graph.getState(config);
    const begun = Object.keys(values as object).length > 0;
    // Not `next`, which leaves out tasks of a step that has yet to end.
    if (begun && tasks.length === 0) {
      const { messages } = values as typeof State.State;
      return { thread, messages: messages.map((message) => String(message.content)) };
    }
    const asked = tasks.flatMap(({ interrupts }) => interrupts);
    if (asked.length > 0) {
      const resume = Object.fromEntries(
        asked.map(({ id, value }) => {
          const { kind, call, id: question } = value as { kind: string; call: string; id: string };
          if (kind !== "ambiguous") throw new Error(`it asks about ${kind}`);
          answered += 1;
          return [
            id,
            happened(call)
              ? { id: question, happened: true, result: "by the books" }
              : { id: question, happened: false },
          ];
        }),
      );
      await graph.invoke(new Command({ resume }), config);
    } else await graph.invoke(begun ? null : { messages: [{ role: "user", content: "go" }] }, config);
  }
}

const finished = await Promise.all(orders.threads.map(finish));
await journal.end();
for (const thread of orders.threads) {
  const verified = await journal.verify(thread);
  if (!verified.ok) throw new Error(`the journal of ${thread} is broken: ${JSON.stringify(verified)}`);
}
await checkpointer.end();
process.send!({ answered, finished } satisfies Done);
process.disconnect();
