import { resolve } from "node:path";
import type { OpenedPgLite } from "./openedPgLite.ts";

/** A database that several savers of this process use. */
interface Shared {
  readonly opening: Promise<OpenedPgLite>;
  users: number;
  /** Closes the database, whoever uses it: the process ends. */
  end(): Promise<void>;
}

/**
 * Where a process keeps them, if it wants folders to be shared: `stratigraph dev` does, whose graphs may open the folder that the server has
 * open, by a copy of this package of their own. Elsewhere a folder that is open is refused, as it is to other processes.
 */
const key = Symbol.for("stratigraph.sharedFolders");

/** Opens a folder, or returns the database that this process has opened there, if folders are shared. The last user closes it. */
export async function openShared(folder: string, open: () => Promise<OpenedPgLite>): Promise<OpenedPgLite> {
  const folders = (globalThis as { [key]?: Map<string, Shared> })[key];
  if (folders === undefined) return await open();
  const path = resolve(folder);
  const shared = folders.get(path) ?? sharedBy(open());
  folders.set(path, shared);
  shared.users += 1;
  const leave = (): boolean => {
    shared.users -= 1;
    return shared.users === 0 && folders.delete(path);
  };
  let opened: OpenedPgLite;
  try {
    opened = await shared.opening;
  } catch (error) {
    leave();
    throw error;
  }
  const { database, release } = opened;
  let isLast = false;
  const close = async (): Promise<void> => {
    isLast = leave();
    if (isLast) await database.close();
  };
  return {
    database: { query: database.query.bind(database), exec: database.exec.bind(database), close },
    release: () => {
      if (isLast) release();
    },
  };
}

function sharedBy(opening: Promise<OpenedPgLite>): Shared {
  const end = async (): Promise<void> => {
    const opened = await opening.catch(() => undefined);
    await opened?.database.close();
    opened?.release();
  };
  return { opening, users: 0, end };
}
