import { InvalidOptionError, type Duration } from "@stratigraph/core";
import { checkedCount, checkOptions, kindOf, waitMsOf, isLost } from "@stratigraph/core/internal";
import type { ItemAddress, LogPage } from "@stratigraph/core/tier";
import { isMade } from "./commitQueue.ts";
import { versionGone } from "./follow.ts";
import { putUnlogged, readUnlogged, stateOf, type Parts } from "./parts.ts";

/** Up to which version the log was trimmed, and when that version came to be: its entry may be gone. */
const trimmedAddress: ItemAddress = { namespace: ["", "trim"], key: "last" };

const newest = { prefixes: [[]], newestFirst: true, limit: 1 };

/**
 * The version that a workspace had at a moment.
 * @param isMark the moment is that of an entry, or 0
 * @throws StratigraphError "VERSION_GONE"; InvalidOptionError
 */
export async function versionAt(parts: Parts, moment: number | Date, isMark: boolean): Promise<number> {
  let found: number;
  let state: LogPage;
  if (moment instanceof Date) ({ found, ...state } = await until(parts, "at", moment.getTime()));
  else {
    found = checkedCount("at", moment, 0);
    state = await stateOf(parts, found);
  }
  const { version, trimmed } = state;
  const lost = isMark && isLost({ version: found }, state);
  if (found >= trimmed && found <= version && !lost) return found;
  if (moment instanceof Date) {
    const last = await readUnlogged(parts, trimmedAddress);
    if (last?.value["version"] === trimmed && moment.getTime() >= Number(last.value["atMs"])) return trimmed;
  }
  throw versionGone(parts.name, found, state);
}

/** Options of {@link Workspace.trim}. */
export interface TrimOptions {
  /**
   * How long entries stay at least: a commit whose answer was lost is sent again, and is found by its entries. With "0ms", no commit may be
   * under way. Default "5m".
   */
  readonly keep?: Duration | undefined;
}

/** Removes entries before a moment, apart from those of items as they were then. Returns how many. */
export async function trimLog(parts: Parts, before: number | Date, options: TrimOptions): Promise<number> {
  checkOptions("trim", options, { keep: true });
  const keepMs = waitMsOf("keep", options.keep ?? "5m");
  let last: number;
  let page: LogPage;
  if (before instanceof Date) {
    const { found, ...rest } = await until(parts, "before", before.getTime() - 1);
    [last, page] = [found, rest];
  } else {
    if (before === undefined)
      throw new InvalidOptionError("before", kindOf(before), "Pass a version or a Date.");
    const version = checkedCount("before", before, 0);
    page = await parts.workspaces.log(parts.name, { ...newest, before: version });
    last = Math.min(version - 1, page.version);
  }
  if (keepMs > 0 && page.version > page.trimmed) {
    const kept = await until(parts, "before", (await nowOf(parts)) - keepMs);
    if (kept.found < last) [last, page] = [kept.found, kept];
  }
  const [entry] = page.entries;
  if (entry !== undefined && last > page.trimmed) {
    const noted = await readUnlogged(parts, trimmedAddress);
    if (Number(noted?.value["version"] ?? 0) < last)
      await putUnlogged(parts, trimmedAddress, { version: last, atMs: entry.atMs }, noted?.version ?? 0);
  }
  let removed = 0;
  for (let some = -1; some !== 0; removed += some) some = await parts.workspaces.trim(parts.name, last);
  return removed;
}

/** The storage's time, in milliseconds since 1970, or that of the workspace's newest commit if that is later. */
async function nowOf({ queue }: Parts): Promise<number> {
  const result = await queue.commit({ checks: [], changes: [] });
  return isMade(result) ? result.atMs : 0;
}

/** The newest entry until a time, in milliseconds since 1970, and its version. */
async function until(
  parts: Parts,
  field: string,
  untilMs: number,
): Promise<LogPage & { readonly found: number }> {
  if (Number.isNaN(untilMs)) throw new InvalidOptionError(field, "an invalid Date", "Pass a valid Date.");
  const page = await parts.workspaces.log(parts.name, { ...newest, untilMs });
  return { ...page, found: page.entries[0]?.version ?? 0 };
}
