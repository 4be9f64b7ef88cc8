import { lineage } from "@stratigraph/branch";
import { CorruptionError, type ThreadInfo, type TierSaver } from "@stratigraph/core";
import { inParallel, isArchivedElsewhere } from "@stratigraph/core/internal";
import { z } from "zod";
import type { Redaction } from "../values/redaction.ts";
import { unlessEvicted } from "./archivedPart.ts";
import { Records } from "./records.ts";
import { isRedacted } from "../values/records.ts";
import { waits, waitsAt } from "./waitsAt.ts";

/** How many threads are read at the same time. */
const together = 8;

/** How many entries of a thread's metadata are shown at most: the first short ones. */
const mostEntries = 6;
const longestText = 60;

/** Keys of metadata that LangGraph, LangChain and we write. The other keys are the application's. */
const notTheApplications =
  /^(?:source|step|parents|writes|thread_id|run_id|run_attempt|checkpoint_|langgraph_|ls_|lc_|__|merge$|edit$)/;

/** What is read from the head of a thread. */
export const threadDetails = z.object({
  step: z.number().optional(),
  source: z.string().optional().describe("input, loop, update or fork."),
  run: z.string().optional().describe("The run that wrote the head."),
  ts: z.string().optional().describe("When the head was made, ISO 8601."),
  waits,
  conflicts: z.number().describe("How many side branches it has."),
  origin: z
    .object({ thread: z.string(), checkpoint: z.string() })
    .optional()
    .describe("Where the thread was forked from another one."),
  metadata: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe(`Of the head: up to ${mostEntries} short entries that are the application's own.`),
  part: z
    .literal(true)
    .optional()
    .describe("A part of it is in an archive that isn't open: conflicts and origin may be missing."),
  damaged: z.string().optional().describe("Why it can't be read: verify tells more."),
});

type ThreadDetails = z.output<typeof threadDetails>;

/** Details from the heads of threads, keyed by thread. Leaves out archived and evicted threads, because reading would bring them back. */
export async function detailsOf(
  saver: TierSaver,
  threads: readonly ThreadInfo[],
  redaction: Redaction,
): Promise<Map<string, ThreadDetails>> {
  const found = new Map<string, ThreadDetails>();
  const here = threads.filter(({ evicted }) => !evicted);
  await inParallel(here, together, async (info) => {
    found.set(info.threadId, await detailsOfThread(saver, info, redaction));
  });
  return found;
}

async function detailsOfThread(
  saver: TierSaver,
  info: ThreadInfo,
  redaction: Redaction,
): Promise<ThreadDetails> {
  try {
    return await read(saver, info, redaction);
  } catch (error) {
    // One damaged thread mustn't keep the others from being listed.
    if (!(error instanceof CorruptionError)) throw error;
    return { conflicts: 0, metadata: {}, damaged: error.message };
  }
}

async function read(
  saver: TierSaver,
  { threadId, head }: ThreadInfo,
  redaction: Redaction,
): Promise<ThreadDetails> {
  const [opened, conflicts, [origin], isPart] = await Promise.all([
    head === undefined ? undefined : new Records(saver, { threadId, namespace: "" }).find(head),
    saver.conflicts(threadId).catch(unlessEvicted),
    lineage(saver, threadId).catch(unlessEvicted),
    isArchivedElsewhere(saver.tier, threadId),
  ]);
  const from =
    origin === undefined ? {} : { origin: { thread: origin.threadId, checkpoint: origin.checkpointId } };
  const part = isPart ? { part: true as const } : {};
  if (opened === undefined) return { conflicts: conflicts.length, metadata: {}, ...from, ...part };
  const { record, body, metadata } = opened;
  const { step, source } = metadata;
  return {
    ...part,
    conflicts: conflicts.length,
    metadata: entriesOf(metadata, redaction),
    ts: body.header.ts,
    ...from,
    ...(typeof step === "number" ? { step } : {}),
    ...(typeof source === "string" ? { source } : {}),
    ...(record.runId === undefined ? {} : { run: record.runId }),
    ...(await waitsAt(saver, opened)),
  };
}

function entriesOf(
  metadata: Readonly<Record<string, unknown>>,
  redaction: Redaction,
): ThreadDetails["metadata"] {
  const shown = redaction.apply("metadata", { ...metadata });
  if (isRedacted(shown)) return {};
  const own = Object.entries(shown as object).filter(
    (entry): entry is [string, string | number | boolean] =>
      !notTheApplications.test(entry[0]) &&
      (typeof entry[1] === "number" ||
        typeof entry[1] === "boolean" ||
        (typeof entry[1] === "string" && entry[1].length <= longestText)),
  );
  return Object.fromEntries(own.slice(0, mostEntries));
}
