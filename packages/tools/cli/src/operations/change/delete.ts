import {
  InvalidOptionError,
  NotFoundError,
  type DeletedThread,
  type DeleteThreadsOptions,
  type DeletionReport,
  type Duration,
  type TierSaver,
} from "@stratigraph/core";
import { deletesUnchanged, dryRunReason, isArchivedElsewhere, messageOf } from "@stratigraph/core/internal";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { bytesText, timeText } from "../render/units.ts";
import type { Context } from "../table/context.ts";
import { duration, fields, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { pair, tagsOf } from "../table/pairs.ts";
import type { Complete } from "./complete.ts";
import { eachThread, mostListed, type Walked } from "./eachThread.ts";
import { holdingsOf, holdingsShape, totalText } from "./holdings.ts";
import { selectedThreads, wayOf, type SelectedThread } from "./selectedThreads.ts";

const item = z.object({
  thread: z.string(),
  ...holdingsShape,
  gone: z.boolean().describe("Whether every storage was asked again afterwards, and holds nothing of it."),
  reason: z.string().optional().describe("Why it isn't gone, or isn't known to be."),
});
type Item = z.infer<typeof item>;

interface Input {
  readonly thread: readonly string[];
  readonly tag: readonly string[];
  readonly olderThan?: Duration | undefined;
  readonly dryRun: boolean;
  readonly cursor?: string | undefined;
}

/** How many threads that carry tags are deleted between two looks at the signal. */
const batch = 20;

/** Deletes threads. */
export const deletes = operation({
  name: "delete",
  group: "change",
  effect: "destroy",
  summary: "Delete threads for good, from every storage, and prove that they are gone.",
  args: ["thread"],
  examples: [
    "stratigraph delete ada --dry-run",
    "stratigraph delete ada bob",
    "stratigraph delete --tag user=anna",
    "stratigraph delete --older-than 365d --dry-run",
  ],
  input: z.object({
    thread: texts("Ids of threads, taken literally."),
    tag: texts("key=value of a tag: threads that carry all of these.", pair),
    olderThan: duration(
      "Threads that weren't written to for this long, such as 365d; at least 1m.",
    ).optional(),
    dryRun: fields.dryRun,
    cursor: fields.cursor,
  }),
  output: z.object({
    dryRun: z.boolean(),
    complete: z.boolean().describe("Whether all threads were processed. If not, continue with the cursor."),
    threads: z.number().describe("How many there were."),
    failed: z.number().describe("How many of them aren't gone, or aren't known to be."),
    missing: z.number().describe("How many of the named threads are in no storage, and never were."),
    checkpoints: z.number(),
    bytes: z.number().describe("Stored bytes, in all storages together."),
    items: z.array(item).describe(`The first ${mostListed} of them.`),
    remains: z
      .array(
        z.object({ tier: z.string(), what: z.string(), forMs: z.number().optional(), removedBy: z.string() }),
      )
      .describe("What stays of a deleted thread for a while."),
    cursor: fields.cursor,
  }),
  async run(input, context) {
    const saver = await context.saver();
    const deletion = new Deletion(saver, context, input);
    const { items, complete, cursor } = await deletion.run();
    if (deletion.threads === 0 && deletion.missing > 0) {
      const names = items.map(({ thread }) => JSON.stringify(thread)).join(", ");
      throw new NotFoundError(`There is no thread ${names}, and never was. Nothing was deleted.`, {
        threads: items.map(({ thread }) => thread),
      });
    }
    const { threads, failed, missing, checkpoints, bytes, remains } = deletion;
    return {
      dryRun: input.dryRun,
      complete,
      ...{ threads, failed, missing, checkpoints, bytes },
      items: [...items],
      remains: remains.map(({ forMs, ...rest }) => ({ ...rest, ...(forMs === undefined ? {} : { forMs }) })),
      ...(cursor === undefined ? {} : { cursor }),
    };
  },
  *render({ dryRun, complete, cursor, items, remains, failed, missing, ...total }) {
    if (total.threads === 0) {
      yield "No such threads.";
      return;
    }
    const rows = items.map(({ thread, checkpoints, bytes, where, gone }) => [
      thread,
      String(checkpoints),
      bytesText(bytes),
      where.map(({ tier, role }) => `${tier} (${role})`).join(", "),
      dryRun ? "" : gone ? "deleted" : "NOT DELETED",
    ]);
    yield* columns([["THREAD", "CHECKPOINTS", "SIZE", "WHERE", ""], ...rows], [1, 2]);
    if (total.threads > items.length) yield `… and ${total.threads - items.length} more`;
    yield "";
    yield `${dryRun ? "Would delete" : "Deleted"} ${totalText(total)}.${dryRun ? " Nothing was deleted." : ""}`;
    for (const { thread, reason } of items)
      if (reason !== undefined && reason !== dryRunReason) yield `${shown(thread)}: ${shown(reason)}`;
    if (!dryRun && failed > 0) yield `${failed} of ${total.threads} not deleted.`;
    if (missing > 0) yield `${missing} named, and not there.`;
    const remaining = remains.map(
      ({ tier, what, forMs, removedBy }) =>
        `Remains in ${shown(tier)}${forMs === undefined ? "" : ` for ${timeText(forMs)}`}: ${what}. Removed by ${removedBy}.`,
    );
    if (!dryRun) yield* new Set(remaining);
    if (!complete && cursor !== undefined) yield `Interrupted. Go on with --cursor ${cursor}`;
    else if (!complete) yield "Not complete. Run the same command again to delete the rest.";
  },
  found: ({ dryRun, failed, missing, complete }) => missing > 0 || (!dryRun && (failed > 0 || !complete)),
});

/** One run of the operation, with its counts. */
class Deletion {
  readonly #saver: TierSaver;
  readonly #context: Context;
  readonly #input: Input;
  threads = 0;
  failed = 0;
  missing = 0;
  checkpoints = 0;
  bytes = 0;
  remains: DeletionReport["remains"] = [];

  constructor(saver: TierSaver, context: Context, input: Input) {
    this.#saver = saver;
    this.#context = context;
    this.#input = input;
  }

  /** @throws InvalidOptionError */
  async run(): Promise<Walked<Item>> {
    const { cursor } = this.#input;
    const way = wayOf(this.#input, "delete", ["thread", "tag", "olderThan"]);
    if (way === "tag") return await this.#byTag();
    if (way === "olderThan" && !deletesUnchanged(this.#saver.tier))
      throw new InvalidOptionError(
        "olderThan",
        this.#input.olderThan,
        `A thread that is chosen by its age may only be deleted if nobody writes to it meanwhile, and tier ${this.#saver.tier.name} can't make sure of that. Name the threads.`,
      );
    const threads = selectedThreads(this.#saver, this.#input, {
      way,
      cursor,
      skipArchived: false,
    });
    return await eachThread(this.#context, threads, cursor, (thread) =>
      way === "olderThan" ? this.#idle(thread) : this.#named(thread),
    );
  }

  /** Repeated until no thread carries the tags: threads may be tagged while it runs. */
  async #byTag(): Promise<Walked<Item>> {
    const items: Item[] = [];
    const told = new Set<string>();
    const tag = tagsOf(this.#input.tag);
    const { dryRun } = this.#input;
    const limit = dryRun ? mostListed : batch;
    for (;;) {
      const options: Complete<DeleteThreadsOptions> = { dryRun, limit };
      const report = await this.#saver.deleteThreads({ tag }, options);
      for (const thread of report.threads) {
        // Each report tells again of those that can't be deleted.
        const key = JSON.stringify([thread.threadId, thread.reason]);
        if (!thread.verified && told.has(key)) continue;
        told.add(key);
        const found = this.#count(thread, report);
        if (items.length < mostListed) items.push(found);
      }
      this.#context.progress({ done: this.threads, unit: "threads", at: report.threads.at(-1)?.threadId });
      if (dryRun) return { items, complete: report.threads.length < limit };
      if (report.complete) return { items, complete: true };
      const stuck = report.threads.length < limit || report.threads.every(({ verified }) => !verified);
      if (stuck || this.#context.signal.aborted) return { items, complete: false };
    }
  }

  async #named({ threadId }: SelectedThread): Promise<Item> {
    const { dryRun } = this.#input;
    const { revision } = await this.#saver.tier
      .peek({ threadId, namespace: "" })
      .catch(() => ({ revision: 1 }));
    const report = await this.#saver.deleteThreads({ threadIds: [threadId] }, { dryRun });
    const [thread] = report.threads;
    const holdings = holdingsOf(thread!.found);
    if (revision > 0 || holdings.where.length > 0) return this.#count(thread!, report);
    this.missing += 1;
    return { thread: threadId, ...holdings, gone: true, reason: "There is no such thread, and never was." };
  }

  /** Deletes a thread that was chosen by its age, not by name: only if nobody wrote to it since. */
  async #idle({ threadId, revision, damaged }: SelectedThread): Promise<Item | undefined> {
    if (damaged !== undefined) {
      const reason = messageOf(damaged);
      return this.#count({ threadId, found: [], verified: false, reason }, { remains: this.remains });
    }
    const look = (): Promise<DeletionReport> =>
      this.#saver.deleteThreads({ threadIds: [threadId] }, { dryRun: true });
    const before = await look();
    const [found] = before.threads;
    const { tier } = this.#saver;
    // Then the look says where the rest may be: nobody asks there.
    const isElsewhere = await isArchivedElsewhere(tier, threadId);
    if (this.#input.dryRun || !deletesUnchanged(tier)) return this.#count(found!, before);
    try {
      // The thread was written to since, so it isn't old any more.
      if (!(await tier.deleteUnchanged(threadId, revision!))) return undefined;
    } catch (error) {
      const reason = `The deletion failed: ${messageOf(error)}`;
      return this.#count({ ...found!, verified: false, reason }, before);
    }
    if (isElsewhere) return this.#count(found!, before);
    const left = holdingsOf((await look()).threads[0]!.found).where;
    const verified = left.length === 0;
    const reason = `Still something there: ${left.map(({ tier: name, error }) => `${name}${error === undefined ? "" : ` (${error})`}`).join(", ")}.`;
    const { reason: _dry, ...rest } = found!;
    return this.#count({ ...rest, verified, ...(verified ? {} : { reason }) }, before);
  }

  #count(
    { threadId, found, verified, reason }: DeletedThread,
    { remains }: Pick<DeletionReport, "remains">,
  ): Item {
    const holdings = holdingsOf(found);
    this.threads += 1;
    if (!verified) this.failed += 1;
    this.checkpoints += holdings.checkpoints;
    this.bytes += holdings.bytes;
    this.remains = remains;
    return { thread: threadId, ...holdings, gone: verified, ...(reason === undefined ? {} : { reason }) };
  }
}
