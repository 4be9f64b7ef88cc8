import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { request, returns, storageError } from "./client.ts";
import { EventParser } from "./sse.ts";

type Listener = () => void;

/** The listeners for changes: of a thread under its id, of the list of threads under `undefined`. */
const listeners = new Map<string | undefined, Set<Listener>>();

/** The waits before a stream that ended is opened again. The last one is used from then on. */
const waitsMs = [500, 1000, 2000, 5000, 15_000];

let stream: AbortController | undefined;
let opening: ReturnType<typeof setTimeout> | undefined;

/** Calls a function whenever the thread changes, or, if `thread` is undefined, whenever the list of threads changes. */
export function useChanges(thread: string | undefined, listener: Listener): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => watch(thread, () => latest.current()), [thread]);
}

function watch(thread: string | undefined, listener: Listener): () => void {
  const known = listeners.get(thread);
  const own = known ?? new Set();
  own.add(listener);
  if (known === undefined) {
    listeners.set(thread, own);
    reopen(20);
  }
  return () => {
    own.delete(listener);
    if (own.size > 0 || listeners.get(thread) !== own) return;
    listeners.delete(thread);
    if (thread !== undefined) revisions.delete(thread);
    reopen(20);
  };
}

/** Several views come and go at once. The stream is opened only once for all of them. */
function reopen(afterMs: number, attempt = 0): void {
  clearTimeout(opening);
  opening = setTimeout(() => void open(attempt), afterMs);
}

async function open(attempt: number): Promise<void> {
  stream?.abort();
  stream = undefined;
  // A browser opens at most six connections to a server, so a tab in the background closes its stream.
  if (listeners.size === 0 || document.hidden) return;
  const own = new AbortController();
  stream = own;
  const watched = [...listeners.keys()].filter((thread) => thread !== undefined);
  const query = new URLSearchParams(watched.map((thread) => ["thread", thread]));
  let received = false;
  try {
    const response = await request(`/api/_events?${query.toString()}`, { signal: own.signal });
    const parser = new EventParser();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      received = true;
      for (const { event, data } of parser.push(value)) tell(event, data);
    }
  } catch {
    // A stream that broke is opened again. The changes that it missed are loaded when the connection is back.
  }
  if (own.signal.aborted || stream !== own) return;
  const next = received ? 0 : attempt;
  reopen(waitsMs[Math.min(next, waitsMs.length - 1)]!, next + 1);
}

/** The last known revision of each thread. A new stream sends it first, so that a change between two streams isn't missed. */
const revisions = new Map<string, string>();

function tell(event: string, data: string): void {
  if (event === "threads") each(undefined);
  if (event === "storage") tellStorage(JSON.parse(data) as StorageEvent);
  if (event !== "revision") return;
  const { thread, revision } = JSON.parse(data) as { thread: string; revision: string };
  const before = revisions.get(thread);
  revisions.set(thread, revision);
  if (before !== undefined && before !== revision) each(thread);
}

interface StorageEvent {
  readonly up: boolean;
  readonly error?: { readonly message: string };
}

function tellStorage({ up, error }: StorageEvent): void {
  const wasDown = storageError.value !== undefined;
  storageError.value = up ? undefined : (error?.message ?? "The storage doesn't answer.");
  if (up && wasDown) returns.value += 1;
}

function each(thread: string | undefined): void {
  for (const listener of listeners.get(thread) ?? []) listener();
}

/** Opens the stream again, which reports the threads that changed in between. The list of threads is always reloaded. */
function catchUp(): void {
  reopen(0);
  each(undefined);
}

if (typeof document !== "undefined") {
  document.addEventListener("visibilitychange", () => (document.hidden ? reopen(0) : catchUp()));
  let seen = 0;
  effect(() => {
    if (returns.value === seen) return;
    seen = returns.value;
    catchUp();
  });
}
