import {
  InvalidOptionError,
  countOf,
  msOf,
  type Duration,
  type OptionNames,
  type RetentionOptions,
} from "@stratigraph/core";

/** What maintenance does with a cold tier, besides retention. Without any of these it only finishes deletions. */
export interface ArchivingOptions {
  /** Threads not written for this long move to the cold tier. Default: never. */
  readonly archiveAfter?: Duration | undefined;
  /** Archived threads not archived anew for this long are deleted. Default: never. */
  readonly retain?: Duration | undefined;
  /** Threads archived at the same time: more gets through a backlog sooner, and takes more from what else runs. Default 1. */
  readonly parallel?: number | undefined;
}

export const archivingNames: OptionNames<ArchivingOptions> = {
  archiveAfter: true,
  retain: true,
  parallel: true,
};

/** Options with every default filled in; absent: not done. */
export interface ResolvedArchiving {
  readonly archiveAfterMs: number | undefined;
  readonly retainMs: number | undefined;
  readonly parallel: number;
}

/** @throws InvalidOptionError */
export function resolveArchiving(
  options: ArchivingOptions & RetentionOptions,
  hasCold: boolean,
): ResolvedArchiving {
  const { archiveAfter, retain, deleteAfter, parallel } = options;
  for (const [name, value] of Object.entries({ archiveAfter, retain, parallel })) {
    if (value !== undefined && !hasCold)
      throw new InvalidOptionError(
        name,
        value,
        "It needs a cold tier to move threads to: pass cold, or leave it out. Without one, deleteAfter deletes idle threads.",
      );
  }
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
    retainMs: retain === undefined ? undefined : msOf("retain", retain),
    parallel: countOf("parallel", parallel ?? 1),
  };
}
