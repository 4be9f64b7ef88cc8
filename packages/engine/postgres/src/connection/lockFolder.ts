import { lockFolder as lock, type FolderLock } from "@stratigraph/core/internal";

export type { FolderLock };

/**
 * Locks the folder of an embedded database for this process: PGlite has no lock of its own.
 * @throws StratigraphError "LOCKED" naming the holder
 */
export function lockFolder(folder: string): FolderLock {
  return lock(folder, {
    again:
      "An embedded database is opened once: use the first checkpointer, its store() and its cache(), or end() it first. " +
      "Where a development server loads modules again, keep it on globalThis.",
    held: "An embedded database serves one process: stop the other one, use another folder, or connect both to a PostgreSQL server.",
    lost: "An embedded database serves one process: restart this one when the other has ended, or connect both to a PostgreSQL server.",
  });
}
