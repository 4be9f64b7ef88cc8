import { InvalidOptionError, type Duration, type RetentionOptions, type Tier } from "@stratigraph/core";
import { countOf, msOf, type OptionNames } from "@stratigraph/core/internal";

/** What maintenance does with a cold tier, besides retention. Without any of these options it only finishes deletions. */
export interface ArchivingOptions {
  /** Threads that weren't written to for this long move to the cold tier. Default: never. */
  readonly archiveAfter?: Duration | undefined;
  /** Archived threads that weren't archived again for this long are deleted. Default: never. */
  readonly deleteArchivedAfter?: Duration | undefined;
  /** How many threads are archived at the same time. A higher number clears a backlog sooner, and leaves less for other work. Default 1. */
  readonly parallel?: number | undefined;
}

/** The option of a stack that archiving needs. */
interface WithCold {
  readonly cold?: Tier | undefined;
}

export const archivingNames: OptionNames<ArchivingOptions> = {
  archiveAfter: true,
  deleteArchivedAfter: true,
  parallel: true,
};

/** Options with every default filled in. If one is undefined, its task isn't done. */
export interface ResolvedArchiving {
  readonly archiveAfterMs: number | undefined;
  readonly deleteArchivedAfterMs: number | undefined;
  readonly parallel: number;
}

/** @throws InvalidOptionError */
export function resolveArchiving(options: ArchivingOptions & RetentionOptions & WithCold): ResolvedArchiving {
  const { archiveAfter, deleteArchivedAfter, deleteAfter, parallel } = options;
  for (const [name, value] of Object.entries({ archiveAfter, deleteArchivedAfter, parallel })) {
    if (value !== undefined && options.cold === undefined)
      throw new InvalidOptionError(
        name,
        value,
        "It needs a cold tier to move threads to: pass cold, or leave it out. Without one, deleteAfter deletes idle threads.",
      );
  }
  checkNotUnset(options);
  const archiveAfterMs = archiveAfter === undefined ? undefined : msOf("archiveAfter", archiveAfter);
  if (deleteAfter !== undefined && archiveAfterMs !== undefined) {
    if (msOf("deleteAfter", deleteAfter) <= archiveAfterMs)
      throw new InvalidOptionError(
        "deleteAfter",
        deleteAfter,
        `Threads would be deleted before they are archived, after ${archiveAfter}. Use a longer one, or leave archiveAfter out.`,
      );
  }
  return {
    archiveAfterMs,
    deleteArchivedAfterMs:
      deleteArchivedAfter === undefined ? undefined : msOf("deleteArchivedAfter", deleteArchivedAfter),
    parallel: countOf("parallel", parallel ?? 1),
  };
}

/**
 * Refuses `cold: undefined` together with options that prune. Without a cold tier they delete checkpoints for good, so a cold tier
 * that is missing by mistake must be noticed.
 * @throws InvalidOptionError
 */
function checkNotUnset(options: RetentionOptions & WithCold): void {
  const { keepLast, trimAfter } = options;
  if (!("cold" in options) || options.cold !== undefined) return;
  if (keepLast === undefined && trimAfter === undefined) return;
  throw new InvalidOptionError(
    "cold",
    "undefined",
    "Without a cold tier keepLast and trimAfter delete checkpoints for good. Leave the name cold out to have that; if it comes " +
      "from an environment variable, that one isn't set.",
  );
}
