import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { checkOptions, inParallel, validId } from "@stratigraph/core/internal";
import type { CallSite } from "../calls/plannedCall.ts";
import { currentCall, type CurrentCall } from "../calls/currentCall.ts";
import { isParentCommand } from "../calls/outcomes.ts";
import { keptError } from "../errors.ts";
import type { Journal } from "../journal.ts";
import { siteOf } from "../langgraph/site.ts";
import { taskOf, type Task } from "../langgraph/taskConfig.ts";
import type { KnownBy } from "../log/entry.ts";
import { ownPrefix } from "../log/ownCalls.ts";
import type { CallOptions } from "../options.ts";
import { partsOf, type JournalParts } from "../parts.ts";
import { inGroups, notBegun, type Turn } from "./groups.ts";
import { plannedItems, type PlannedItem } from "./plannedItems.ts";
import { Tally, type BatchProgress, type BatchResult } from "./tally.ts";

/** Options of {@link batch}. */
export interface BatchOptions<T> extends Omit<CallOptions, "compensate"> {
  /** Names the batch in its thread: items are done once under this id. */
  readonly id: string;
  /** Names an item, by a text that is the same in every run. */
  readonly key: (item: T) => string;
  /**
   * How many items are recorded at a time, and so the most that are worked on again after a process was killed: 1 to 1,000. Default 20.
   * Items with the effects "once" are claimed one by one, so that only those that were under way are in doubt.
   */
  readonly recordEvery?: number | undefined;
  /** How many items are worked on at the same time at most: 1 to 1,000. Default 1. */
  readonly parallel?: number | undefined;
  /** The data that an item's work depends on. If it returns something else than last time, the item is done anew. Default: nothing. */
  readonly changed?: ((item: T) => unknown) | undefined;
  /** Called after each item. If it throws, the batch ends. */
  readonly onProgress?: ((progress: BatchProgress) => void) | undefined;
  /** Ends the batch after the items that are under way. */
  readonly signal?: AbortSignal | undefined;
}

/** The argument of an item's work. */
export interface BatchItemContext extends CurrentCall {
  readonly key: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Does a long job item by item, each once. After a killed process or a failed run, running the batch again continues where it stopped. The
 * order of items doesn't matter, and items may be added or left out. For a node of a graph, or plain code with a thread.
 *
 * @example
 * const report = await batch(journal, config, invoices, {
 *   id: "reminders of May", key: ({ number }) => number, changed: ({ total }) => total,
 *   effects: "idempotent", recordEvery: 50, parallel: 4,
 * }, async (invoice, { idempotencyKey }) => {
 *   await mail.send(reminderOf(invoice), { idempotencyKey });
 * });
 * if (report.failed > 0) throw new Error(`${report.failed} reminders weren't sent`);
 *
 * @param config of the node, or `{ configurable: { thread_id } }`
 * @throws InvalidOptionError, also for two items with one key, before anything runs; the signal's reason; what `onProgress` throws;
 * StratigraphError "NOT_DURABLE", and "LOCKED" if another batch of this process works on an item for too long; errors of the storage
 */
export async function batch<T>(
  journal: Journal,
  config: unknown,
  items: readonly T[],
  options: BatchOptions<T>,
  work: (item: T, context: BatchItemContext) => unknown,
): Promise<BatchResult<T>> {
  checkBatch(items, options, work);
  const parts = partsOf(journal);
  const task = taskOf(config);
  const threadId = validId("configurable.thread_id", task.journal);
  const { log, runner } = parts.of(threadId);
  const { recordEvery = 20, parallel = 1, effects = "once", signal = task.signal, onProgress } = options;
  const planned = plannedItems({ sealing: parts.sealing, task, threadId }, items, options);
  const site = await batchSite(parts, task, config, signal);
  const tally = new Tally<T>(items.length, onProgress);
  signal?.throwIfAborted();
  const before = await log.refresh();
  const knownBy = await runner.knownBy();
  const open = planned.filter(({ requestBy }) => before.get(requestBy(knownBy).call)?.status !== "succeeded");
  tally.doneBefore(planned.length - open.length);

  const make = async (one: PlannedItem<T>, turn: Turn): Promise<void> => {
    const { requestBy, argsText, item, key } = one;
    let thrown: { readonly error: unknown } | undefined;
    try {
      const call = (by: KnownBy) => ({
        request: requestBy(by),
        argsText,
        site,
        options: callOptions(options),
        needsNoResult: true,
      });
      const outcome = await runner.call(call, () =>
        turn(async () => {
          try {
            return await work(item, { ...currentCall()!, key, signal });
          } catch (error) {
            thrown = { error };
            throw error;
          }
        }),
      );
      if (outcome.kind === "denied") tally.failed(one, { name: "CallDenied", message: outcome.reason });
      else tally.done();
    } catch (error) {
      if (error === notBegun) return;
      const { call: made } = requestBy(await runner.knownBy());
      const isOpen = effects === "once" && (await log.calls()).get(made)?.status === "unknown";
      if (StratigraphError.is(error, "AMBIGUOUS_OUTCOME") || (thrown !== undefined && isOpen))
        tally.ambiguous(one, keptError(error));
      // It is recorded as done. A batch ignores Commands, as it ignores what work returns.
      else if (isParentCommand(thrown?.error)) tally.done();
      else if (thrown !== undefined) tally.failed(one, keptError(error));
      else throw error;
    }
  };
  if (effects === "once") await inParallel(open, parallel, (item) => make(item, (work) => work()), signal);
  else await inGroups(open, { size: recordEvery, parallel, signal }, make);
  signal?.throwIfAborted();
  return tally.result;
}

/** The place of a batch's calls. No person is asked: open questions are reported instead. */
async function batchSite(
  parts: JournalParts,
  task: Task,
  config: unknown,
  signal: AbortSignal | undefined,
): Promise<CallSite> {
  const {
    waitForIssuer,
    task: name,
    author,
  } = await siteOf(parts.checkpointer, task, parts.authorOf(config));
  let waiting: Promise<void> | undefined;
  const once: CallSite["waitForIssuer"] =
    waitForIssuer && ((given, ms) => (waiting ??= waitForIssuer(given, ms)));
  return { signal, author, task: name, waitForIssuer: once };
}

function callOptions<T>({ effects, version, certain, reconcile }: BatchOptions<T>): CallOptions {
  return { effects, version, certain, reconcile };
}

/** @throws InvalidOptionError */
function checkBatch<T>(items: readonly T[], options: BatchOptions<T>, work: unknown): void {
  if (!Array.isArray(items)) throw new InvalidOptionError("items", items, "Pass a list.");
  if (typeof work !== "function")
    throw new InvalidOptionError("work", work, "Pass the function that works on an item.");
  checkOptions<BatchOptions<T>>("batch", options, {
    id: true,
    key: true,
    recordEvery: true,
    parallel: true,
    changed: true,
    onProgress: true,
    signal: true,
    effects: true,
    version: true,
    certain: true,
    reconcile: true,
  });
  const { id, changed, onProgress, certain, reconcile } = Object(options) as BatchOptions<T>;
  validId("id", id);
  if (id.startsWith(ownPrefix))
    throw new InvalidOptionError("id", id, `Names that begin with ${ownPrefix} are the journal's own.`);
  for (const [name, given] of Object.entries({ changed, onProgress, certain, reconcile }))
    if (given !== undefined && typeof given !== "function")
      throw new InvalidOptionError(name, given, "Pass a function.");
  const { key, recordEvery = 20, parallel = 1, effects = "once" } = options;
  if (typeof key !== "function")
    throw new InvalidOptionError("key", key, "Pass a function that names an item: ({ id }) => id.");
  for (const [name, number] of Object.entries({ recordEvery, parallel }))
    if (!Number.isSafeInteger(number) || number < 1 || number > mostAtOnce)
      throw new InvalidOptionError(name, number, `Pass a whole number from 1 to ${mostAtOnce}.`);
  if (!["none", "idempotent", "once"].includes(effects))
    throw new InvalidOptionError("effects", effects, 'Use "none", "idempotent" or "once".');
}

/** The most items in a group, and the most at the same time. */
const mostAtOnce = 1000;
