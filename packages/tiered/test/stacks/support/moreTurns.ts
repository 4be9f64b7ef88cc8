import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../../../test/servers/process.ts";
import type { Runs } from "./runsDuring.ts";

/** Resolves when so many more turns have ended, and nothing less than `ms` later. */
export async function moreTurns(runs: Runs, turns: number, ms = 0): Promise<void> {
  const until = runs.turns + turns;
  await sleep(ms);
  await waitUntil(`${turns} more turns`, () => runs.turns >= until, { timeoutMs: 20_000 });
}
