import { setMaxListeners } from "node:events";
import { StratigraphError } from "@stratigraph/core";
import { checkedCount, eitherSignal, sleep, endOf, isLost, type LogPlace } from "@stratigraph/core/internal";
import type { LoggedChange, WorkspaceState } from "@stratigraph/core/tier";
import { logPages, type Parts } from "./parts.ts";
import type { Prefixes } from "./workspaceItems.ts";

/** How many entries are read at a time. */
const page = 256;

/**
 * Pauses between two looks at a log, in milliseconds: from, to, and while the storage tells of all news; and the shortest, however many news
 * there are.
 */
const pauseMs = { first: 50, longest: 1000, told: 5000, least: 20 };

/** How long a reader waits for a storage that doesn't answer, in milliseconds. */
const patienceMs = 60_000;

/**
 * The entries of a log after a place, oldest first, and those that come. Looking is what finds them; being told of news only makes it look
 * sooner. Ends when the signal is aborted.
 * @param onReached told of a place up to which all entries were given
 * @throws StratigraphError "VERSION_GONE"; what the storage throws, once it hasn't answered for a minute
 */
export async function* follow(
  { workspaces, reads, name }: Parts,
  prefixes: Prefixes,
  since: LogPlace,
  signal: AbortSignal | undefined,
  onReached?: (place: LogPlace) => Promise<void>,
): AsyncGenerator<LoggedChange> {
  // A hundred agents that end together have one signal.
  if (signal !== undefined) setMaxListeners(0, signal);
  let place = since;
  let pause = pauseMs.first;
  let failedAt: number | undefined;
  const isEnded = (): boolean => signal?.aborted === true;
  while (!isEnded()) {
    const looked = new AbortController();
    const { signal: ends, release } = eitherSignal(looked.signal, signal);
    // Begun before the look, so that what is committed between the two isn't waited for.
    const news = workspaces.changed?.(name, ends);
    const lookedAt = performance.now();
    try {
      const found = await reads.log({ prefixes, after: place.version, limit: page });
      const { entries, more } = found;
      failedAt = undefined;
      const lost = isLost(place, found);
      if (lost || place.version < found.trimmed) throw versionGone(name, place.version, found, lost);
      for (const entry of entries) {
        yield entry;
        if (ends.aborted) return;
      }
      if (entries.length > 0) pause = pauseMs.first;
      place = endOf(found);
      if (more) continue;
      await onReached?.(place);
      const long = sleep(news?.ofAllProcesses === true ? pauseMs.told : pause, ends);
      await (news === undefined ? long : Promise.race([long, news.come]));
      const rest = lookedAt + pauseMs.least - performance.now();
      if (rest > 0) await sleep(rest, ends);
      pause = Math.min(pause * 2, pauseMs.longest);
    } catch (error) {
      if (!StratigraphError.is(error) || !error.retryable) throw error;
      failedAt ??= performance.now();
      if (performance.now() - failedAt > patienceMs) throw error;
      await sleep(pauseMs.longest, signal);
    } finally {
      looked.abort();
      release();
    }
  }
}

/**
 * The entries of a log so far, oldest first.
 * @param since only those after this version, which a reader has kept
 * @throws StratigraphError "VERSION_GONE"
 */
export async function* soFar(
  parts: Parts,
  prefixes: Prefixes,
  since: number | undefined,
): AsyncGenerator<LoggedChange> {
  let place: LogPlace = { version: checkedCount("since", since, 0) };
  for await (const found of logPages(parts, { prefixes, after: place.version, limit: page })) {
    const restored = isLost(place, found);
    if (since !== undefined && (restored || place.version < found.trimmed))
      throw versionGone(parts.name, place.version, found, restored);
    yield* found.entries;
    place = endOf(found);
  }
}

/** What follows a version can't be told any more. */
export function versionGone(
  workspace: string,
  since: number,
  { trimmed, version }: WorkspaceState,
  restored = since >= trimmed,
): StratigraphError {
  const why = !restored
    ? `its log was trimmed up to ${trimmed}`
    : since > version
      ? `its newest version is ${version}: it was deleted, or its storage was set back`
      : `it has no entry of this version, or another one: it was deleted and begun anew, or its storage was set back`;
  return new StratigraphError(
    "VERSION_GONE",
    `Workspace ${JSON.stringify(workspace)} can't tell what came after version ${since}: ${why}. Read its items as they are, and go on from ` +
      `there: watch({ since: await workspace.version() }), or subscribe(…, { from: "first" }) to what is still there.`,
    { workspace, since, trimmed, version, restored },
  );
}

/** @throws StratigraphError "VERSION_GONE" if items as they were at a version may be missing */
export function refuseTrimmed({ name }: Parts, state: WorkspaceState, since: number): void {
  if (since < state.trimmed) throw versionGone(name, since, state);
}
