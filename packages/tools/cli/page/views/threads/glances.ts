import { signal } from "@preact/signals";
import type { OutputOf } from "../../../src/operations/index.ts";
import { useEffect } from "preact/hooks";
import { call, returns } from "../../api/client.ts";
import type { ThreadItem } from "./useThreads.ts";

export type Glance = OutputOf<"glance">["items"][number];

/** How many threads one request asks for, how many characters their ids may have in an address, and how many answers are kept. */
const mostAtOnce = 24;
const mostCharacters = 6000;
const mostKept = 2000;

/** How long to collect rows that come into sight, so that one request asks for all of them. */
const gatherMs = 40;

/** Answers by key; undefined while the request is under way, null if there is no answer. */
const answers = signal<ReadonlyMap<string, Glance | null>>(new Map());

const wanted = new Map<string, string>();
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * The topic and the size of a thread in sight. They are requested once, and again after the thread was written to, but not for archived
 * threads. Undefined while the request is under way, null if they aren't known.
 */
export function useGlance(item: ThreadItem): Glance | null | undefined {
  const { thread, evicted } = item;
  const key = keyOf(item);
  const back = returns.value;
  useEffect(() => {
    if (evicted || (answers.value.get(key) ?? undefined) !== undefined) return undefined;
    wanted.set(key, thread);
    timer ??= setTimeout(() => void ask(), gatherMs);
    // A row that is scrolled past isn't requested.
    return () => void wanted.delete(key);
  }, [key, evicted, back]);
  return evicted ? null : answers.value.get(key);
}

function keyOf({ thread, checkpoint, writtenAt, details }: ThreadItem): string {
  return JSON.stringify([thread, checkpoint, writtenAt, details?.waits]);
}

async function ask(): Promise<void> {
  const asked: [key: string, thread: string][] = [];
  let characters = 0;
  for (const [key, thread] of wanted) {
    characters += encodeURIComponent(thread).length;
    if (asked.length === mostAtOnce || (asked.length > 0 && characters > mostCharacters)) break;
    asked.push([key, thread]);
    wanted.delete(key);
  }
  if (asked.length > 0) {
    const threads = [...new Set(asked.map(([, thread]) => thread))];
    // The list is useful without these, so the error is ignored. Other requests show it.
    const found = await call("glance", { threads }).catch(() => ({ items: [] }));
    const byThread = new Map(found.items.map((each) => [each.thread, each]));
    const known = [...answers.value, ...asked.map(([key, id]) => [key, byThread.get(id) ?? null] as const)];
    answers.value = new Map(known.slice(-mostKept));
  }
  timer = wanted.size === 0 ? undefined : setTimeout(() => void ask(), 0);
}
