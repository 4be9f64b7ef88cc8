import type { CopyOptions, CopyReport } from "@stratigraph/migrate";
import { z } from "zod";
import type { Context } from "../table/context.ts";
import { columns, shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { fields, flag, texts } from "../table/fields.ts";

/** Input fields of every copy. */
export const copyInput = {
  thread: texts("Only these threads. Default: all."),
  skipVerify: flag("Don't read the copies back to compare them."),
  cursor: fields.cursor,
  dryRun: fields.dryRun,
};

/** Output of every copy. */
export const copyOutput = z.object({
  dryRun: z.boolean().describe("Nothing was copied."),
  plan: z
    .object({
      threads: z.number().describe("Threads in the source."),
      checkpoints: z.number().optional().describe("Checkpoints in the source, where they can be counted."),
      bytes: z.number().optional().describe("What the source occupies."),
    })
    .optional()
    .describe("What there is to copy. Only in a dry run."),
  complete: z.boolean().describe("Whether every thread was processed."),
  threads: z.number().describe("Threads that were processed."),
  skipped: z.number().describe("Threads that had nothing left to copy."),
  checkpoints: z
    .number()
    .describe(
      "Checkpoints that this copy stored, not counting those that another copy stored at the same time.",
    ),
  writes: z.number().describe("Pending writes that were copied, counted likewise."),
  leftOut: z.number().describe("Checkpoints of branches, which the target can't hold."),
  notHeld: z
    .array(z.object({ threadId: z.string(), what: z.string() }))
    .describe("What else of a thread the target can't hold: calls, events, tags."),
  erased: z
    .array(z.object({ threadId: z.string(), what: z.string() }))
    .describe("What was erased in the target, as the source had erased it since an earlier copy."),
  verified: z.boolean().describe("The copies were compared with the originals."),
  mixedUp: z
    .array(
      z.object({
        threadId: z.string(),
        namespace: z.string(),
        checkpointId: z.string(),
        sharesWith: z.string(),
        channels: z.array(z.string()),
      }),
    )
    .describe("Checkpoints whose values the source itself may have mixed up with another branch's."),
  diverged: z.array(z.string()).describe("Threads that were continued on both sides, and left unchanged."),
  differences: z
    .array(
      z.object({
        threadId: z.string(),
        namespace: z.string().optional(),
        checkpointId: z.string().optional(),
        what: z.string(),
      }),
    )
    .describe("What differs in the target from the source."),
  cursor: z
    .string()
    .optional()
    .describe(
      "Where to continue, if it isn't complete. Absent if an interrupted copy leaves nothing, as with a file.",
    ),
});

type CopyResult = z.input<typeof copyOutput>;

/** The output of a dry run. */
export function planned(plan: NonNullable<CopyResult["plan"]>): CopyResult {
  return {
    dryRun: true,
    plan,
    complete: false,
    ...{ threads: 0, skipped: 0, checkpoints: 0, writes: 0, leftOut: 0, verified: false },
    ...{ notHeld: [], erased: [], mixedUp: [], diverged: [], differences: [] },
  };
}

/** A report as an operation's output. */
export function copied({
  notHeld,
  erased,
  mixedUp,
  diverged,
  differences,
  ...counts
}: CopyReport): CopyResult {
  return {
    dryRun: false,
    ...counts,
    notHeld: notHeld.map(({ threadId, what }) => ({ threadId, what })),
    erased: erased.map(({ threadId, what }) => ({ threadId, what })),
    mixedUp: mixedUp.map((each) => ({ ...each, channels: [...each.channels] })),
    diverged: [...diverged],
    differences: [...differences],
  };
}

interface CopyInput {
  readonly thread: readonly string[];
  readonly skipVerify: boolean;
  readonly cursor?: string | undefined;
}

/** The options of a copy. */
export function copyOptions({ thread, skipVerify, cursor }: CopyInput, context: Context): CopyOptions {
  return {
    ...(thread.length === 0 ? {} : { threadIds: thread }),
    ...(cursor === undefined ? {} : { after: cursor }),
    verify: !skipVerify,
    signal: context.signal,
    onProgress: ({ threads, threadId, plan }) =>
      context.progress({
        done: threads,
        total: thread.length === 0 ? plan.threads : thread.length,
        unit: "threads",
        at: threadId,
      }),
  };
}

/** How many rows of each kind are shown at most. */
const mostShown = 20;

/** A copy for people. */
export function* renderCopy(done: string, output: z.output<typeof copyOutput>): Iterable<string> {
  if (output.dryRun) {
    const { threads, checkpoints, bytes } = output.plan!;
    const size = bytes === undefined ? "" : `, ${bytesText(bytes)}`;
    const steps = checkpoints === undefined ? "" : `, ${count(checkpoints, "checkpoint")}`;
    yield `There are ${count(threads, "thread")}${steps}${size}. Nothing was copied.`;
    return;
  }
  if (!output.complete && output.cursor === undefined) {
    yield "Interrupted. Nothing was written, and what was there before is unchanged. Run it again.";
    return;
  }
  const news = `${count(output.checkpoints, "checkpoint")} and ${count(output.writes, "pending write")}`;
  const there = output.skipped === 0 ? "" : `, ${output.skipped} of them there already`;
  yield `${done}: ${count(output.threads, "thread")}${there}; ${news} were copied.`;
  if (output.leftOut > 0)
    yield `${count(output.leftOut, "checkpoint")} of branches were left out, as the target can't hold them.`;
  if (output.verified && output.differences.length === 0) yield comparedText(output);
  if (!output.verified) yield "Nothing was compared.";
  yield* listed(
    "DIFFERENT FROM THE SOURCE",
    output.differences.map(({ threadId, checkpointId = "", what }) => [threadId, checkpointId, what]),
  );
  yield* listed(
    "NOT HELD BY THE TARGET",
    output.notHeld.map(({ threadId, what }) => [threadId, what]),
  );
  yield* listed(
    "ERASED IN THE TARGET, AS IN THE SOURCE",
    output.erased.map(({ threadId, what }) => [threadId, what]),
  );
  yield* listed(
    "CONTINUED ON BOTH SIDES, LEFT UNCHANGED",
    output.diverged.map((threadId) => [threadId]),
  );
  yield* listed(
    "MIXED UP BY THE SOURCE EARLIER, COPIED AS THE SOURCE READS THEM",
    output.mixedUp.map(({ threadId, checkpointId, channels }) => [
      threadId,
      checkpointId,
      channels.join(", "),
    ]),
  );
  if (output.cursor !== undefined)
    yield `Interrupted. Go on with --cursor ${shown(JSON.stringify(output.cursor))}`;
}

/** What a comparison without differences says: not more than was compared. */
function comparedText({
  complete,
  threads,
  leftOut,
  notHeld,
  diverged,
}: z.output<typeof copyOutput>): string {
  const compared = threads - diverged.length;
  if (compared === 0) return "Nothing was there to be compared.";
  const what = leftOut + notHeld.length === 0 ? "everything" : "everything that the target can hold";
  const but = diverged.length === 0 ? "" : `, of ${count(compared, "thread")}`;
  return `Read back and compared: ${complete ? "" : "so far, "}${what} is there${but}.`;
}

function* listed(title: string, rows: readonly (readonly string[])[]): Iterable<string> {
  if (rows.length === 0) return;
  yield "";
  yield title;
  yield* columns(rows.slice(0, mostShown));
  if (rows.length > mostShown) yield `… and ${rows.length - mostShown} more`;
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

/** Whether a person has to look at the result of a copy. */
export function foundInCopy(output: z.output<typeof copyOutput>): boolean {
  return output.differences.length + output.diverged.length + output.mixedUp.length > 0;
}
