import {
  checkedCount,
  decodeCursor,
  encodeCursor,
  endOf,
  isLost,
  type LogPlace,
} from "@stratigraph/core/internal";
import type { LoggedChange } from "@stratigraph/core/tier";
import { versionGone } from "./follow.ts";
import type { Parts } from "./parts.ts";
import type { Prefixes } from "./workspaceItems.ts";

/** What a cursor says of how far a reader of a log came. */
interface Kept extends LogPlace {
  readonly atMs: number;
  /** Up to where the log had been trimmed by then. */
  readonly trimmed: number;
  /** Absent in cursors of older versions: there may be no entry of that version, and the newest one was made until that time. */
  readonly isEntry?: true;
}

/** The end of a page. */
interface PageEnd {
  readonly version: number;
  readonly cursor: string;
}

interface Page {
  readonly entries: readonly LoggedChange[];
  readonly more: boolean;
  readonly end: PageEnd;
  /** The end of a page that reaches up to an entry. */
  until(entry: LoggedChange): PageEnd;
}

/** Reads a page of a log from a place that its reader kept. @throws StratigraphError "VERSION_GONE"; InvalidOptionError */
export async function readChanges(
  { workspaces, name }: Parts,
  prefixes: Prefixes,
  cursor: string | undefined,
  since: number | undefined,
  limit: number,
): Promise<Page> {
  const kept =
    cursor === undefined
      ? undefined
      : decodeCursor(cursor, isKept, "Pass the cursor of the page before, unchanged.");
  const place = kept ?? { version: checkedCount("since", since, 0) };
  const after = place.version;
  const page = await workspaces.log(name, { prefixes, after, limit });
  const { entries, more, trimmed, version, afterVersion, afterAtMs } = page;
  const lost =
    kept === undefined || kept.isEntry === true
      ? isLost(place, page)
      : after > version || afterAtMs > kept.atMs || (after > trimmed && afterVersion === 0);
  // Who began with the first change that was there may go on below the end of an earlier trim, but not of a new one.
  const known = kept === undefined ? since === undefined : kept.trimmed === trimmed;
  if (lost || (after < trimmed && !known)) throw versionGone(name, after, page, lost);
  const until = (reached: LogPlace): PageEnd => ({
    version: reached.version,
    cursor: encodeCursor({
      ...{ version: reached.version, atMs: reached.atMs!, trimmed, isEntry: true },
    } satisfies Kept),
  });
  return { entries, more, end: until(endOf(page)), until };
}

function isKept(found: unknown): found is Kept {
  const kept = Object(found) as Partial<Record<keyof Kept, unknown>>;
  return [kept.version, kept.atMs, kept.trimmed].every((each) => Number.isFinite(each) && Number(each) >= 0);
}
