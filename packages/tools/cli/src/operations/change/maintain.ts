import { setTimeout as sleep } from "node:timers/promises";
import {
  InvalidOptionError,
  type Duration,
  type MaintainOptions,
  type MaintenanceReport,
  type MaintenanceStep,
  type StartMaintenanceOptions,
  type TierSaver,
} from "@stratigraph/core";
import { msOf, messageOf } from "@stratigraph/core/internal";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import type { Context } from "../table/context.ts";
import { duration, fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import type { Complete } from "./complete.ts";
import { mostListed } from "./eachThread.ts";
import { counted, holdingsOf } from "./holdings.ts";

const item = z.object({
  what: z.enum(["delete", "prune", "archive", "trim", "finish-deletion", "evict", "sweep"]),
  thread: z.string().optional().describe("Absent for a sweep."),
  tier: z.string().optional().describe("The storage that was swept."),
  checkpoints: z.number().optional().describe("How many were pruned or archived, or would be."),
  bytes: z.number().optional().describe("Stored bytes that were copied to the archive, or would be."),
  freed: z
    .number()
    .optional()
    .describe("Stored bytes that a prune freed, or would; in a dry run also what a deletion would free."),
  swept: z.number().optional().describe("How many things a sweep removed."),
  done: z
    .boolean()
    .describe("False in a dry run, after an error, and where the thread was written to meanwhile."),
  error: z.string().optional(),
});
type Item = z.infer<typeof item>;

/** The longest wait of a timer. Milliseconds. */
const longestMs = 2 ** 31 - 1;

/** Runs maintenance, as the storage's options say. */
export const maintain = operation({
  name: "maintain",
  group: "storage",
  effect: "destroy",
  summary: "Do what the config says about old threads: delete, prune, archive; and sweep up after crashes.",
  examples: ["stratigraph maintain --dry-run", "stratigraph maintain", "stratigraph maintain --every 10m"],
  input: z.object({
    every: duration(
      "Run as a worker: again and again, with pauses of this length, such as 10m. Default: run once.",
    ).optional(),
    dryRun: fields.dryRun,
  }),
  output: z.object({
    dryRun: z.boolean(),
    runs: z.number().describe("How often it ran here."),
    skipped: z.number().describe("How often it didn't run, because another process was doing maintenance."),
    steps: z.number().describe("How many threads and storages it worked on."),
    failed: z.number().describe("How many of them failed; the next run tries them again."),
    bytes: z.number().describe("Sum of the bytes copied to the archive."),
    freed: z.number().describe("Sum of the bytes freed."),
    items: z.array(item).describe(`The first ${mostListed} steps.`),
    errors: z.array(z.string()).describe("Why runs of a worker failed as a whole: the last ten."),
  }),
  async run({ every, dryRun }, context) {
    const saver = await context.saver();
    const { signal } = context;
    const options: Complete<MaintainOptions> = { dryRun, signal };
    const account = new Account();
    // A dry run of a worker is one of its runs.
    if (every === undefined || dryRun) account.add(await due(saver, await saver.maintain(options), dryRun));
    else {
      const worker: Complete<StartMaintenanceOptions> = { every };
      await repeatedly(saver, context, worker.every, account);
    }
    const { runs, skipped, steps, failed, bytes, freed, items, errors } = account;
    return { dryRun, runs, skipped, steps, failed, bytes, freed, items, errors };
  },
  *render({ dryRun, runs, skipped, steps, failed, bytes, freed, items, errors }) {
    if (items.length > 0) {
      const rows = items.map(
        ({ what, thread, tier, checkpoints, bytes: moved, freed: gone, swept, done, error }) => [
          what,
          thread ?? tier ?? "",
          swept === undefined
            ? checkpoints === undefined
              ? ""
              : counted(checkpoints, "checkpoint")
            : `${swept} removed`,
          moved === undefined ? "" : bytesText(moved),
          gone === undefined ? "" : bytesText(gone),
          error === undefined ? (done || dryRun ? "" : "not yet: it is in use") : `FAILED: ${error}`,
        ],
      );
      yield* columns([["WHAT", "THREAD OR STORAGE", "", "ARCHIVED", "FREED", ""], ...rows], [3, 4]);
      if (steps > items.length) yield `… and ${steps - items.length} more`;
      yield "";
    }
    for (const error of errors) yield `A run failed: ${shown(error)}`;
    if (runs === 0 && skipped > 0) yield "Another process is running maintenance. Nothing was done here.";
    else if (steps === 0) yield `Nothing ${dryRun ? "is" : "was"} due.`;
    else
      yield `${dryRun ? "Due" : "Done"}: ${counted(steps, "step")}, ${bytesText(bytes)} to the archive, ${bytesText(freed)} freed.${failed > 0 ? ` ${failed} failed.` : ""}`;
    if (dryRun && steps > 0) yield "Nothing was changed.";
  },
  found: ({ failed, errors }) => failed + errors.length > 0,
  isIdle: ({ steps, errors }, { every }) => every === undefined && steps + errors.length === 0,
});

/** How many errors of runs are kept at most. */
const keptErrors = 10;

/** Sums up what happened so far. Its size is bounded, however long a worker runs. */
class Account {
  readonly items: Item[] = [];
  readonly errors: string[] = [];
  runs = 0;
  skipped = 0;
  steps = 0;
  failed = 0;
  bytes = 0;
  freed = 0;

  add({ ran, steps }: MaintenanceReport): void {
    if (ran) this.runs += 1;
    else this.skipped += 1;
    for (const step of steps) {
      this.steps += 1;
      if (step.error !== undefined) this.failed += 1;
      this.bytes += step.bytes ?? 0;
      this.freed += step.freed ?? 0;
      if (this.items.length < mostListed) this.items.push(itemOf(step));
    }
  }

  fail(error: unknown): void {
    this.errors.push(messageOf(error));
    if (this.errors.length > keptErrors) this.errors.shift();
  }
}

function itemOf({
  what,
  threadId,
  tier,
  checkpoints,
  bytes,
  freed,
  swept,
  done,
  error,
}: MaintenanceStep): Item {
  return {
    what,
    done,
    ...(threadId === undefined ? {} : { thread: threadId }),
    ...(tier === undefined ? {} : { tier }),
    ...(checkpoints === undefined ? {} : { checkpoints }),
    ...(bytes === undefined ? {} : { bytes }),
    ...(freed === undefined ? {} : { freed }),
    ...(swept === undefined ? {} : { swept }),
    ...(error === undefined ? {} : { error: messageOf(error) }),
  };
}

/** Runs until the context's signal is aborted. An outage doesn't end it: the next run tries again. */
async function repeatedly(
  saver: TierSaver,
  context: Context,
  every: Duration,
  account: Account,
): Promise<void> {
  const everyMs = msOf("every", every);
  if (everyMs < 1 || everyMs > longestMs)
    throw new InvalidOptionError("every", every, "Use a duration of at least 1ms, and at most 24d.");
  const { signal } = context;
  while (!signal.aborted) {
    try {
      account.add(await saver.maintain({ signal }));
    } catch (error) {
      account.fail(error);
    }
    context.progress({ done: account.steps, unit: "steps", at: `run ${account.runs}` });
    // Rejects when the signal is aborted, which ends the loop.
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * A report as it is shown. A dry run lists a thread that would be deleted also as due for pruning, and without its size: both are
 * corrected.
 */
async function due(saver: TierSaver, report: MaintenanceReport, dryRun: boolean): Promise<MaintenanceReport> {
  if (!dryRun) return report;
  const deleted = new Set(
    report.steps.flatMap(({ what, threadId }) => (what === "delete" ? [threadId] : [])),
  );
  const steps: MaintenanceStep[] = [];
  for (const step of report.steps) {
    const { what, threadId } = step;
    if (threadId === undefined || !deleted.has(threadId)) steps.push(step);
    if (what !== "delete" || threadId === undefined) continue;
    const { threads } = await saver.deleteThreads({ threadIds: [threadId] }, { dryRun });
    const { checkpoints, bytes } = holdingsOf(threads[0]!.found);
    steps.push({ ...step, checkpoints, freed: bytes });
  }
  return { ...report, steps };
}
