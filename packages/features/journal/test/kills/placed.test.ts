import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { randomBytes } from "node:crypto";
import { StratigraphError, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { inRounds } from "../../../../../test/rounds.ts";
import { createJournal, currentCall } from "../../src/index.ts";
import { Life, type Death } from "../support/mortal.ts";
import { savers } from "../support/places.ts";

// A process dies at a call of its storage, before or after it took effect, or within a payment, before or after it went out. Others go
// on, and die as well. Payments are counted here, outside. Whatever happens: each that was asked for went out once, in each turn.

/** Where a payment is when its process dies. */
interface Paying {
  readonly nth: number;
  readonly how: "before" | "after";
}

/** At what a process dies. */
interface Dies {
  readonly atCall?: Death | undefined;
  readonly atPayment?: Paying | undefined;
}

interface Storage {
  readonly tier: Tier;
  readonly options: SaverOptions;
}

const encryption = { keys: { k: randomBytes(32) }, activeKey: "k", hashKey: randomBytes(32) };

/** The bank: it knows what went out, by key, and refuses nothing. */
class Bank {
  readonly paid: { readonly what: string; readonly key: string }[] = [];

  receiptOf(key: string): string | undefined {
    const n = this.paid.findIndex((payment) => payment.key === key);
    return n < 0 ? undefined : `receipt ${n}`;
  }

  /** What went out: an idempotent payment once for each of its keys. */
  get went(): string[] {
    const keys = new Set<string>();
    const went: string[] = [];
    for (const { what, key } of this.paid) {
      if (!what.startsWith("idempotent") || !keys.has(key)) went.push(what);
      keys.add(key);
    }
    return went.toSorted();
  }
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  turn: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  rounds: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  receipts: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
});

/** A process: a graph with tools, named calls, a loop, parallel tasks, a question and a subgraph. */
function processOf({ tier, options }: Storage, bank: Bank, life: Life, atPayment: Paying | undefined) {
  const saver = new TierSaver(life.of(tier), options);
  const journal = createJournal(saver);
  let payments = 0;
  const pay = (what: string): string => {
    life.lives();
    payments += 1;
    const dies = payments === atPayment?.nth ? atPayment.how : undefined;
    if (dies === "before") life.end();
    const { idempotencyKey: key } = currentCall()!;
    bank.paid.push({ what, key });
    if (dies === "after") life.end();
    return bank.receiptOf(key)!;
  };
  const reconcile = ({ idempotencyKey }: { idempotencyKey: string }) => {
    life.lives();
    const result = bank.receiptOf(idempotencyKey);
    return result === undefined ? ({ happened: false } as const) : ({ happened: true, result } as const);
  };
  const amount = z.object({ amount: z.number(), turn: z.number() });
  const tools = journal.tools(
    [
      tool(({ turn }) => pay(`tool, turn ${turn}`), { name: "wire", description: "", schema: amount }),
      tool(({ turn }) => pay(`idempotent tool, turn ${turn}`), {
        name: "card",
        description: "",
        schema: amount,
      }),
    ],
    { wire: { effects: "once", reconcile }, card: "idempotent" },
  );
  const fee = new StateGraph(State)
    .addNode("fee", async ({ turn }, config) => ({
      receipts: [await journal.run(config, { id: "fee", reconcile }, () => pay(`fee, turn ${turn}`))],
    }))
    .addEdge(START, "fee")
    .compile();
  const graph = new StateGraph(Annotation.Root({ ...State.spec, ...journal.channel }))
    .addNode("model", (state) => {
      const { turn } = state;
      const calls = ["wire", "card"].map((name) => ({
        name,
        id: `${name} ${turn}`,
        args: { amount: 5, turn },
      }));
      const message = new AIMessage({ id: `asks ${turn}`, content: "", tool_calls: calls });
      return { messages: [message], rounds: 0, ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools, { handleToolErrors: false }))
    .addNode("loop", async ({ turn, rounds }, config) => {
      const receipts = await Promise.all(
        ["a", "b"].map((id) =>
          journal.run(config, { id, reconcile }, () => pay(`${id}, turn ${turn}, round ${rounds}`)),
        ),
      );
      return { receipts, rounds: rounds + 1 };
    })
    .addNode("left", async ({ turn }, config) => ({
      receipts: [
        await journal.run(config, { id: "beside", effects: "idempotent" }, () =>
          pay(`idempotent left, turn ${turn}`),
        ),
      ],
    }))
    .addNode("right", async ({ turn }, config) => {
      const receipt = await journal.run(config, { id: "beside", reconcile }, () =>
        pay(`right, turn ${turn}`),
      );
      interrupt("go on?");
      return { receipts: [receipt] };
    })
    .addNode("fees", fee)
    .addEdge(START, "model")
    .addEdge("model", "tools")
    .addEdge("tools", "loop")
    .addConditionalEdges("loop", ({ rounds }) => (rounds < 2 ? "loop" : ["left", "right"]) as never)
    .addEdge(["left", "right"], "fees")
    .addEdge("fees", END)
    .compile({ checkpointer: saver });
  return { graph, payments: () => payments, end: () => journal.end() };
}

const turns = 2;

function asked(): string[] {
  return Array.from({ length: turns }, (_, n) => n + 1)
    .flatMap((turn) => [
      `tool, turn ${turn}`,
      `idempotent tool, turn ${turn}`,
      ...["a", "b"].flatMap((id) => [0, 1].map((round) => `${id}, turn ${turn}, round ${round}`)),
      `idempotent left, turn ${turn}`,
      `right, turn ${turn}`,
      `fee, turn ${turn}`,
    ])
    .toSorted();
}

/**
 * Brings a thread to its end, or as far as the process lives. Whether it is done. What the dead process had under way at the storage may land
 * behind what this one read: it is refused then, and is begun again, as whoever runs it would.
 */
async function goOn(
  { graph }: ReturnType<typeof processOf>,
  thread_id: string,
  durability: "sync" | "async",
): Promise<boolean> {
  const config = { configurable: { thread_id }, durability };
  try {
    // LangGraph shows a step that ended, and whose checkpoint isn't there yet, as one behind which nothing is due.
    const { checkpoint_id: stored } = (await graph.getState(config)).config.configurable ?? {};
    if (stored !== undefined) await graph.invoke(null, config);
    for (let steps = 0; steps < 20; steps += 1) {
      const { values, next, tasks } = await graph.getState(config);
      const { turn = 0 } = values as { turn?: number };
      const isAsking = tasks.some(({ interrupts }) => interrupts.length > 0);
      if (isAsking) await graph.invoke(new Command({ resume: "yes" }), config);
      else if (next.length > 0) await graph.invoke(null, config);
      else if (turn === turns) return true;
      else await graph.invoke({ turn: turn + 1 }, config);
    }
    throw new Error("it never ends");
  } catch (error) {
    if (isKilled(error) || StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return false;
    throw error;
  }
}

function isKilled(error: unknown): boolean {
  const { cause, message = "", errors } = Object(error) as Partial<AggregateError>;
  if (message.includes("the process was killed")) return true;
  return cause === undefined ? errors?.every(isKilled) === true : isKilled(cause);
}

/** Plays a thread whose processes die one after the other. Returns how many died. */
async function play(
  storage: Storage,
  thread: string,
  durability: "sync" | "async",
  deaths: readonly Dies[],
): Promise<{ died: number; calls: number; payments: number }> {
  const bank = new Bank();
  let died = 0;
  let last = { calls: 0, payments: 0 };
  // The last ones don't die.
  for (const death of [...deaths, {}, {}, {}]) {
    const life = new Life(death.atCall);
    const one = processOf(storage, bank, life, death.atPayment);
    const isDone = await goOn(one, thread, durability);
    await one.end().catch(() => undefined);
    last = { calls: life.calls.length, payments: one.payments() };
    if (isDone) break;
    if (life.isOver) died += 1;
  }
  expect(bank.went, `${thread}, ${durability}: ${JSON.stringify(deaths)}`).toEqual(asked());
  return { died, ...last };
}

const kills = inRounds({ few: 16, all: 100, soak: 2000 });

describe.each(savers.slice(0, inRounds({ few: 1, all: savers.length })))(
  "processes that are killed at a call of their storage or a payment, on %s",
  (name, open) => {
    it.each(["sync", "async"] as const)(
      "pay once, durability %s",
      async (durability) => {
        const { saver, close } = await open();
        try {
          const storage = { tier: saver.tier, options: name === "redis>postgres" ? { encryption } : {} };
          const whole = await play(storage, "whole", durability, []);
          const times = Math.ceil((name === "memory" ? kills : kills / 5) / 2);
          let died = 0;
          for (let n = 0; died < times; n += 1) {
            const deathAt = (seed: number): Dies => {
              const how = seed % 2 === 0 ? "before" : "after";
              return seed % 5 === 0
                ? { atPayment: { nth: 1 + ((seed * 7) % whole.payments), how } }
                : { atCall: { at: 1 + ((seed * 31) % whole.calls), how } };
            };
            died += (
              await play(storage, `thread ${n}`, durability, [
                {
                  atPayment: {
                    nth: 1 + ((2 * n + 1) % whole.payments),
                    how: n % 2 === 0 ? "after" : "before",
                  },
                },
                deathAt(5 * n + 2),
                deathAt(11 * n + 5),
              ])
            ).died;
          }
          console.log(`${name}, durability ${durability}: killed ${died} times`);
        } finally {
          await close();
        }
      },
      3_600_000,
    );
  },
);
