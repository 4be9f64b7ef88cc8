import { waitUntil } from "../../../../../../test/servers/process.ts";
import type { Runs } from "./runsDuring.ts";

/** Resolves when so many more turns have ended. */
export async function moreTurns(runs: Runs, turns: number): Promise<void> {
  const until = runs.turns + turns;
  await waitUntil(`${turns} more turns`, () => runs.turns >= until, { timeoutMs: 120_000 });
}
