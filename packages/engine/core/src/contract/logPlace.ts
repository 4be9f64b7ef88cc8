import type { LogPage } from "./workspaces.ts";

/** How far a reader of a log came: to an entry. */
export interface LogPlace {
  /** Its version; 0 before the first. */
  readonly version: number;
  /** When it was made, in milliseconds since 1970. Absent: only its version is known. */
  readonly atMs?: number | undefined;
}

/** The place of who has read a page, oldest first. */
export function endOf({ entries, more, version, changedAtMs }: LogPage): LogPlace {
  return more ? entries.at(-1)! : { version, atMs: changedAtMs };
}

/**
 * Whether the entry at a reader's place, after which a page was read, isn't there any more: the storage was set back, or the workspace is
 * another one. Versions may jump then, be given again, or neither. A trim may have removed the entry, too: then nothing newer may be there.
 */
export function isLost(
  { version: at, atMs }: LogPlace,
  { version, trimmed, afterVersion, afterAtMs }: LogPage,
): boolean {
  if (at > version) return true;
  if (at === afterVersion) return at > 0 && atMs !== undefined && atMs !== afterAtMs;
  return at > trimmed || (atMs !== undefined && afterAtMs > atMs);
}
