import type { TierSaver } from "@stratigraph/core";
import { endOf, isStep, outcomeOf, runsOf, threadsUsing, type Outcome } from "./runs.ts";
import { noTokens, readRun, sumOf, tokensOf, type PromptTokens } from "./runTokens.ts";

/** What became of the runs that used a version of a prompt. */
export interface PromptMetrics {
  /** A run goes from one input of a thread to the next, however often it was resumed. */
  readonly runs: number;
  /** Came to an end without an error. */
  readonly succeeded: number;
  /** Ended with an error. */
  readonly failed: number;
  /** Wait for an answer of a person. */
  readonly waiting: number;
  /** A step is due: they are under way, stopped at a breakpoint, or their process died. */
  readonly unfinished: number;
  /** The share of runs that succeeded, 0 to 1. Absent: there are none. */
  readonly success?: number | undefined;
  /** Of all runs together. */
  readonly tokens: PromptTokens;
  /** The mean score of its feedback, 0 to 1. Absent: there is none. */
  readonly satisfaction?: number | undefined;
  /** How many scores there are. */
  readonly ratings: number;
}

/** What the runs of a version came to, thread by thread. */
export async function runMetrics(
  saver: TierSaver,
  name: string,
  version: string,
): Promise<Omit<PromptMetrics, "satisfaction" | "ratings">> {
  const counts: Record<Outcome, number> = { succeeded: 0, failed: 0, waiting: 0, unfinished: 0 };
  let tokens = noTokens;
  for await (const threadId of threadsUsing(saver, name, version)) {
    const thread = await runsOf(saver, threadId);
    for (const run of new Set(thread.map((checkpoint) => checkpoint.run))) {
      const steps = run.own.filter((each) => isStep(each) && each.versions.get(name) === version);
      if (steps.length === 0) continue;
      const stored = await readRun(saver, thread, run);
      const end = endOf(run, name, version);
      const storedEnd = stored.get(end.id);
      // Pruned or deleted since it was found.
      if (storedEnd === undefined) continue;
      counts[await outcomeOf(saver, storedEnd)] += 1;
      const found = await tokensOf(saver, run, stored);
      for (const step of steps) tokens = sumOf(tokens, found.get(step) ?? noTokens);
    }
  }
  const runs = counts.succeeded + counts.failed + counts.waiting + counts.unfinished;
  return { runs, ...counts, ...(runs > 0 && { success: counts.succeeded / runs }), tokens };
}
