import { setTimeout as sleep } from "node:timers/promises";
import { MemorySaver } from "@langchain/langgraph";
import type { TieredSaver } from "@stratigraph/tiered";
import { answerTurn, askTurn, historyOf, type AgentConfig } from "./agentGraph.ts";

/** A user's pause between turns, in which the other conversations and other test files run. Milliseconds. */
const betweenTurnsMs = 100;

/** What runs did while a fault happened. */
export interface Runs {
  /** Turns that ended so far. */
  readonly turns: number;
}

/**
 * Runs conversations, three at a time, until `fault` is over. No turn may fail; every call of one may be made by another of
 * the `savers` (processes); after every turn the state, and after every conversation the whole history, must be what the
 * same turns leave in LangGraph's MemorySaver.
 */
export async function runsDuring(
  savers: readonly TieredSaver[],
  fault: (runs: Runs) => Promise<void>,
): Promise<void> {
  const runs = { turns: 0 };
  const ending = new AbortController();
  let calls = 0;
  let conversations = 0;
  const open = () => savers[(calls += 1) % savers.length]!;
  const conversation = async (): Promise<void> => {
    conversations += 1;
    const config: AgentConfig = {
      configurable: { thread_id: `conversation ${conversations}` },
      durability: conversations % 3 === 0 ? "sync" : conversations % 3 === 1 ? "async" : "exit",
    };
    const reference = new MemorySaver();
    for (let n = 1; n <= 9 && (!ending.signal.aborted || n <= 2); n += 1) {
      await askTurn(open, config, n);
      const state = await answerTurn(open, config, n);
      await askTurn(() => reference, config, n);
      expect(state).toEqual(await answerTurn(() => reference, config, n));
      runs.turns += 1;
      await sleep(betweenTurnsMs);
    }
    expect(await historyOf(open(), config)).toEqual(await historyOf(reference, config));
  };
  const loop = async (): Promise<void> => {
    do await conversation();
    while (!ending.signal.aborted);
  };
  const faulty = fault(runs).finally(() => ending.abort());
  await Promise.all([faulty, ...[0, 1, 2].map(loop)]);
}
