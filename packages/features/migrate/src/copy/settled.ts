import type { SourceThread, ThreadSource } from "../contract/source.ts";
import type { ImportedThread } from "./importThread.ts";

/** How many times a thread is read at most, if the source writes to it meanwhile. */
const mostTries = 3;

/** Imports a thread. Reads it again if the source wrote to it meanwhile, or if another import has read a later state of it. */
export async function settled(
  source: ThreadSource,
  thread: SourceThread,
  bring: (thread: SourceThread) => Promise<ImportedThread>,
): Promise<ImportedThread> {
  let done = await bring(thread);
  for (let tries = 1; tries < mostTries && (done.unsettled || (done.diverged && !done.served)); tries += 1) {
    const again = await source.thread?.(thread.threadId);
    if (again === undefined) return done;
    try {
      done = added(done, await bring(again));
    } finally {
      await again.close();
    }
  }
  return done;
}

function added(before: ImportedThread, now: ImportedThread): ImportedThread {
  return {
    ...now,
    checkpoints: before.checkpoints + now.checkpoints,
    writes: before.writes + now.writes,
    erased: before.erased + now.erased,
  };
}
