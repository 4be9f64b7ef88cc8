import { checkedCount, decodeCursor, encodeCursor } from "@stratigraph/core/internal";
import type { LoggedChange } from "@stratigraph/core/tier";
import { versionGone } from "./follow.ts";
import type { Parts } from "./parts.ts";
import type { Prefixes } from "./workspaceItems.ts";

/** How far a reader of a log came. */
interface Place {
  readonly version: number;
  /** When the newest commit had been made by then, in milliseconds since 1970: an older entry that is newer was made after a restored backup. */
  readonly atMs: number;
  /** Up to where the log had been trimmed by then. */
  readonly trimmed: number;
}

interface Page {
  readonly entries: readonly LoggedChange[];
  /** The version up to which the page reaches. */
  readonly upTo: number;
  readonly more: boolean;
  /** The end of a page that reaches up to a version. */
  until(version: number): { readonly version: number; readonly cursor: string };
}

/** Reads a page of a log from a place that its reader kept. @throws StratigraphError "VERSION_GONE"; InvalidOptionError */
export async function readChanges(
  { workspaces, name }: Parts,
  prefixes: Prefixes,
  cursor: string | undefined,
  since: number | undefined,
  limit: number,
): Promise<Page> {
  const place =
    cursor === undefined
      ? undefined
      : decodeCursor(cursor, isPlace, "Pass the cursor of the page before, unchanged.");
  const after = place?.version ?? checkedCount("since", since, 0);
  const page = await workspaces.log(name, { prefixes, after, limit });
  const { entries, more, trimmed, version, changedAtMs, afterAtMs } = page;
  const restored = after > version || afterAtMs > (place?.atMs ?? Infinity);
  // Who began with the first change that was there may go on below the end of an earlier trim, but not of a new one.
  const known = place === undefined ? since === undefined : place.trimmed === trimmed;
  if (restored || (after < trimmed && !known)) throw versionGone(name, after, trimmed, version, restored);
  return {
    entries,
    more,
    upTo: more ? (entries.at(-1)?.version ?? after) : version,
    until: (upTo) => ({
      version: upTo,
      cursor: encodeCursor({ version: upTo, atMs: changedAtMs, trimmed } satisfies Place),
    }),
  };
}

function isPlace(found: unknown): found is Place {
  const place = Object(found) as Partial<Record<keyof Place, unknown>>;
  return [place.version, place.atMs, place.trimmed].every(
    (each) => Number.isFinite(each) && Number(each) >= 0,
  );
}
