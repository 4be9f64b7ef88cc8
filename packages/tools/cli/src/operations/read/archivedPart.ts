import { StratigraphError, type Tier } from "@stratigraph/core";
import { isArchivedElsewhere } from "@stratigraph/core/internal";

/** That what is shown of a thread isn't all of it, if a part is in an archive that isn't open. */
export async function partNote(tier: Tier, threadId: string): Promise<string | undefined> {
  return (await isArchivedElsewhere(tier, threadId))
    ? "A part of the thread is in its archive, which isn't open: what is there isn't shown."
    : undefined;
}

/** None of what is archived, for lists that tell otherwise that a part of the thread is. */
export function unlessEvicted(error: unknown): [] {
  if (StratigraphError.is(error, "EVICTED")) return [];
  throw error;
}

/** That archived threads were left out of a list. */
export function archivedText(threads: number): string {
  return `Archived threads that were left out, as their archive isn't open: ${threads}.`;
}
