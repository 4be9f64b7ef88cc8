import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const SHARED_MEMORY = "/dev/shm";
/** All servers and folders of a run take about a quarter of it at a time. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * The folder for servers and stores whose bytes needn't reach a disk: in memory, if the machine has such a file system with enough
 * room, so that tests don't wait for a disk that other programs keep busy; otherwise the folder of temporary files.
 */
export function fastFolder(): string {
  try {
    accessSync(SHARED_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    return bavail * bsize >= ROOM_BYTES ? SHARED_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
