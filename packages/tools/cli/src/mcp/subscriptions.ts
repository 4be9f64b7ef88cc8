import { InvalidOptionError } from "@stratigraph/core";
import type { Watcher } from "../serving/watcher.ts";
import type { Client } from "./clients.ts";
import { isWithin } from "./scopedTier.ts";
import { parseUri, threadsUri } from "./uris.ts";

/** How many resources one subscription may watch. */
const mostWatched = 100;

/**
 * Tells a client when resources change, until the returned function is called. Each is told once at the beginning: the client may have read it
 * before it was watched. Resources that never change, and those that the client may not use, are never told.
 */
export function watch(
  watcher: Watcher,
  { threads }: Client,
  uris: readonly string[],
  updated: (uri: string) => void,
): () => void {
  const byThread = new Map<string, string[]>();
  for (const uri of new Set(uris)) {
    const named = parseUri(uri);
    if (
      named === undefined ||
      named.kind === "threads" ||
      named.kind === "checkpoint" ||
      named.kind === "channel"
    )
      continue;
    if (threads === undefined || isWithin(named.thread, threads))
      byThread.set(named.thread, [...(byThread.get(named.thread) ?? []), uri]);
  }
  let isFirst = true;
  const listener = {
    threads: [...byThread.keys()],
    revision: (thread: string): void => byThread.get(thread)?.forEach(updated),
    ...(uris.includes(threadsUri) ? { newest: (): void => updated(threadsUri) } : {}),
    // The protocol has no word for a storage that is down. What changed meanwhile is told once it is back.
    storage: (): void => {
      if (isFirst && uris.includes(threadsUri)) updated(threadsUri);
      isFirst = false;
    },
  };
  watcher.add(listener);
  return () => watcher.remove(listener);
}

/** @throws InvalidOptionError if a subscription watches too many resources */
export function checkWatched(uris: readonly string[]): void {
  if (uris.length > mostWatched)
    throw new InvalidOptionError(
      "resourceSubscriptions",
      uris.length,
      `Watch ${mostWatched} resources at most.`,
    );
}

/** The resources that a request wants to hear of; undefined if it is no subscription. */
export function wantedIn(message: unknown): readonly string[] | undefined {
  const { method, params } = Object(message) as { method?: unknown; params?: unknown };
  if (method === "resources/subscribe") {
    const { uri } = Object(params) as { uri?: unknown };
    return typeof uri === "string" ? [uri] : [];
  }
  if (method !== "subscriptions/listen") return undefined;
  const { notifications } = Object(params) as { notifications?: unknown };
  const { resourceSubscriptions } = Object(notifications) as { resourceSubscriptions?: unknown };
  return Array.isArray(resourceSubscriptions)
    ? resourceSubscriptions.filter((uri) => typeof uri === "string")
    : [];
}
