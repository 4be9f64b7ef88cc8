import type { CopyOptions, CopyReport, Plan } from "@stratigraph/migrate";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import type { Complete } from "../change/complete.ts";
import { counted } from "../change/holdings.ts";
import type { Context } from "../table/context.ts";
import { fields, flag, texts } from "../table/fields.ts";

/** Input fields of everything that copies threads. */
export const copyFields = {
  thread: texts("Only these threads. Default: all."),
  unverified: flag("Don't read everything back to compare it with the source."),
  dryRun: fields.dryRun,
  cursor: fields.cursor,
};

/** What the input says about how to copy. */
interface CopyInput {
  readonly thread: readonly string[];
  readonly unverified: boolean;
  readonly cursor?: string | undefined;
}

/** The options of a copy, as its input says. */
export function copyOptions(input: CopyInput, { signal, progress }: Context): Complete<CopyOptions> {
  return {
    threadIds: input.thread.length === 0 ? undefined : input.thread,
    after: input.cursor,
    verify: !input.unverified,
    signal,
    onProgress: ({ threads, threadId, plan }) => {
      progress({ done: threads, total: plan.threads, unit: "threads", at: threadId });
    },
  };
}

/** What a copy did, or in a dry run would go through. */
export const copyOutput = z.object({
  dryRun: z.boolean(),
  from: z.string().describe("Where the threads came from, without secrets."),
  to: z.string().describe("Where they went."),
  complete: z.boolean().describe("Whether all were gone through; if not, go on with the cursor."),
  threads: z.number(),
  skipped: z.number().describe("Threads of which nothing had to be copied any more."),
  checkpoints: z
    .number()
    .optional()
    .describe("How many were copied. In a dry run: how many there are, where it can be told."),
  writes: z.number().describe("Pending writes that were copied."),
  bytes: z.number().optional().describe("In a dry run: what the source occupies, where it can be told."),
  leftOut: z
    .number()
    .describe("Checkpoints that the target can't hold: side branches, for a saver that has none."),
  verified: z.boolean().describe("Whether the copies were compared with the originals, as decoded values."),
  mixedUp: z
    .array(
      z.object({
        thread: z.string(),
        namespace: z.string(),
        checkpoint: z.string(),
        sharesWith: z.string(),
        channels: z.array(z.string()),
      }),
    )
    .describe("Checkpoints whose values the source itself may have mixed up with those of another branch."),
  diverged: z
    .array(z.string())
    .describe("Threads that went on in both places since an earlier copy. They were left alone."),
  differences: z
    .array(
      z.object({
        thread: z.string(),
        namespace: z.string().optional(),
        checkpoint: z.string().optional(),
        what: z.string(),
      }),
    )
    .describe("What isn't in the target as it is in the source."),
  cursor: z.string().optional().describe("Where to go on."),
});
type Output = z.infer<typeof copyOutput>;

/** Where a copy comes from and goes to, for people. */
interface Places {
  readonly from: string;
  readonly to: string;
}

/** A report as output. */
export function copied(places: Places, report: CopyReport): Output {
  const { mixedUp, differences, diverged, cursor, ...counts } = report;
  return {
    dryRun: false,
    ...places,
    ...counts,
    mixedUp: mixedUp.map(({ threadId, checkpointId, channels, ...rest }) => ({
      ...rest,
      thread: threadId,
      checkpoint: checkpointId,
      channels: [...channels],
    })),
    diverged: [...diverged],
    differences: differences.map(({ threadId, checkpointId, namespace, what }) => ({
      thread: threadId,
      ...(namespace === undefined ? {} : { namespace }),
      ...(checkpointId === undefined ? {} : { checkpoint: checkpointId }),
      what,
    })),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

/** A plan as output: nothing was copied. */
export function planned(places: Places, { threads, checkpoints, bytes }: Plan): Output {
  return {
    dryRun: true,
    ...places,
    complete: true,
    threads,
    skipped: 0,
    ...(checkpoints === undefined ? {} : { checkpoints }),
    writes: 0,
    ...(bytes === undefined ? {} : { bytes }),
    leftOut: 0,
    verified: false,
    mixedUp: [],
    diverged: [],
    differences: [],
  };
}

/** Whether somebody has to look at what a copy found. */
export function copyFound({ mixedUp, diverged, differences }: Output): boolean {
  return mixedUp.length + diverged.length + differences.length > 0;
}

/** What a copy did, for people. */
export function* renderCopy(output: Output): Iterable<string> {
  const { dryRun, from, to, threads, skipped, checkpoints, writes, bytes, leftOut, verified } = output;
  const size = bytes === undefined ? "" : `, ${bytesText(bytes)}`;
  if (dryRun) {
    const many = checkpoints === undefined ? "" : ` with ${counted(checkpoints, "checkpoint")}`;
    yield `Would copy ${counted(threads, "thread")}${many}${size} from ${shown(from)} to ${shown(to)}. Nothing was copied.`;
    return;
  }
  yield `From ${shown(from)} to ${shown(to)}: ${counted(threads, "thread")}, ${skipped} of them there already.`;
  yield `Copied ${counted(checkpoints ?? 0, "checkpoint")} and ${counted(writes, "pending write")}.`;
  if (leftOut > 0) yield `${counted(leftOut, "checkpoint")} of side branches left out: the target has none.`;
  for (const { thread, checkpoint, sharesWith, channels } of output.mixedUp)
    yield `MIXED UP in the source: ${shown(thread)} at ${checkpoint} may have values of ${sharesWith} in ${channels.map(shown).join(", ")}`;
  for (const thread of output.diverged)
    yield `WENT ON IN BOTH PLACES: ${shown(thread)}. The target's was left as it is.`;
  for (const { thread, checkpoint, what } of output.differences)
    yield `DIFFERENT: ${shown(thread)}${checkpoint === undefined ? "" : ` at ${checkpoint}`}: ${shown(what)}`;
  if (!output.complete) yield `Interrupted. Go on with --cursor ${shown(output.cursor ?? "")}`;
  else if (!verified) yield "The copies weren't compared with the originals.";
  else if (output.differences.length === 0) yield "Everything was read back and is the same.";
}
