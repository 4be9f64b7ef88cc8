import { messageOf } from "@stratigraph/core/internal";
import type { MovedThread } from "@stratigraph/core/tier";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { fields } from "../table/fields.ts";
import { mostListed } from "./eachThread.ts";
import { counted, totalText } from "./holdings.ts";
import { isOutage } from "./isOutage.ts";

const item = z.object({
  thread: z.string(),
  done: z.boolean().describe("Whether it was moved."),
  checkpoints: z.number(),
  bytes: z.number(),
  note: z.string().optional().describe("Why it wasn't moved, if that is no failure."),
  error: z.string().optional().describe("Why moving it failed."),
});
type Item = z.infer<typeof item>;

/** Threads that were moved between the owner and the archive, as output. */
export const movedOutput = z.object({
  dryRun: z.boolean(),
  complete: z.boolean().describe("Whether all threads were processed. If not, continue with the cursor."),
  threads: z.number().describe("How many were moved, or would be."),
  checkpoints: z.number(),
  bytes: z.number().describe("Stored bytes."),
  failed: z.number(),
  items: z.array(item).describe(`The first ${mostListed}.`),
  cursor: fields.cursor,
});

/** Moves threads, and counts them. */
export class MovedThreads {
  readonly total = { threads: 0, checkpoints: 0, bytes: 0, failed: 0 };

  /** Moves a thread. A failure that concerns only this thread is part of the result. @throws StratigraphError on outages */
  async move(
    thread: string,
    work: () => Promise<{ readonly moved?: MovedThread; readonly note?: string }>,
  ): Promise<Item> {
    try {
      const { moved, note } = await work();
      const { done = false, checkpoints = 0, bytes = 0 } = moved ?? {};
      if (note !== undefined) return { thread, done: false, checkpoints: 0, bytes: 0, note };
      this.total.threads += 1;
      this.total.checkpoints += checkpoints;
      this.total.bytes += bytes;
      return { thread, done, checkpoints, bytes };
    } catch (error) {
      if (isOutage(error)) throw error;
      this.total.failed += 1;
      const why = messageOf(error);
      return { thread, done: false, checkpoints: 0, bytes: 0, error: why };
    }
  }
}

/** Moved threads for people. @param did "Archived", for example */
export function* renderMoved(
  { items, complete, cursor, failed, dryRun, ...total }: z.output<typeof movedOutput>,
  did: string,
): Iterable<string> {
  const rows = items.map(({ thread, checkpoints, bytes, note, error }) => [
    thread,
    String(checkpoints),
    bytesText(bytes),
    error === undefined ? (note ?? "") : `FAILED: ${error}`,
  ]);
  if (rows.length > 0) yield* columns([["THREAD", "CHECKPOINTS", "SIZE", ""], ...rows], [1, 2]);
  yield `${did} ${totalText(total)}.${dryRun ? " Nothing was moved." : ""}`;
  if (failed > 0) yield `${counted(failed, "thread")} failed.`;
  if (!complete && cursor !== undefined) yield `Interrupted. Go on with --cursor ${shown(cursor)}`;
}
