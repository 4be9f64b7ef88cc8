import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, type BaseStore } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import type { World } from "./world.ts";

/** A graph that runs, without the many parameters of its type. */
export interface Agent {
  invoke(input: unknown, config: object): Promise<unknown>;
  getState(config: object): Promise<{
    values: Record<string, unknown>;
    next: readonly string[];
    tasks: readonly { interrupts: readonly { id?: string; value?: unknown }[] }[];
  }>;
}

/** What one process has. */
export interface Place {
  readonly saver: TierSaver;
  readonly store: BaseStore;
  readonly world: World;
}

/** A kind of agent of LangGraph's family. */
export interface Kind {
  open(place: Place): Agent;
  /** What it is told, one after another, each when the one before is done. */
  readonly inputs: readonly string[];
  /** How many of its agents run at the same time. Default 1. */
  readonly atOnce?: number;
  /** A person's answers to the calls that it asks about. Default: all are approved. */
  decide?(action: { readonly name: string; readonly args: { readonly what: string } }): object;
}

/** Brings a thread of a kind to its end, and answers what it asks. Each call of the graph is a turn of somebody who may be another process. */
export async function finish(kind: Kind, agent: Agent, thread: string): Promise<Record<string, unknown>> {
  const config = { configurable: { thread_id: thread }, durability: "sync", recursionLimit: 100 };
  for (let steps = 0; steps < 50; steps += 1) {
    const { values, tasks } = await agent.getState(config);
    const told = ((values["messages"] ?? []) as BaseMessage[]).filter(({ id }) => id?.startsWith("told-"));
    const isDone = tasks.length === 0;
    const waiting = tasks.flatMap(({ interrupts }) => interrupts);
    if (waiting.length > 0) {
      const resume = Object.fromEntries(waiting.map(({ id, value }) => [id!, answerOf(kind, value)]));
      await agent.invoke(new Command({ resume }), config);
    } else if (!isDone) await agent.invoke(null, config);
    else {
      const n = Number(told.at(-1)?.id?.slice("told-".length) ?? -1) + 1;
      if (n === kind.inputs.length) return values;
      const input = new HumanMessage({ id: `told-${n}`, content: kind.inputs[n]! });
      await agent.invoke({ messages: [input] }, config);
    }
  }
  throw new Error("it never ends");
}

function answerOf({ decide = () => ({ type: "approve" }) }: Kind, value: unknown): object {
  const { actionRequests } = value as { actionRequests: { name: string; args: { what: string } }[] };
  return { decisions: actionRequests.map(decide) };
}
