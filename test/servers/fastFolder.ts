import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const SHARED_MEMORY = "/dev/shm";
/** The servers and folders of a run take about a quarter of this at a time. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * The folder for data of servers and stores that needn't reach a disk: a file system in memory, if the machine has one with enough
 * room, so that tests don't wait for a busy disk. Otherwise the folder for temporary files.
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
